"""Where a number comes from, and numbers that carry it.

A figure is text with a unit and the key of its source: `55 GB/s [nvbandwidth]`. A profile lists its sources under
`sources:`; a key that is not listed and a source that is not used are both refused.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Annotated, Literal

from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.profiles.markers import But, Day, Text, part

Basis = Literal["datasheet", "config", "measured", "paper", "textbook", "fit", "estimate", "given"]
# config: what a model or a machine is configured with; given: an option, never in a file
Corner = Literal["fast", "typical", "slow"]


@part
class Source:
    """A named place where a number was read, or the method that gave it."""

    title: Annotated[str, Text()]
    address: Annotated[str, Text()]  # a URL, repository@commit:path, or the method of a measurement
    basis: Annotated[Basis, But("given")]
    checked: Annotated[date | None, Day()]  # a file says when; None: given as an option
    note: str | None = None  # conditions, doubts, what else was seen


def given(option: str) -> Source:
    """The source of a number that was given as an option."""
    return Source(title="as an option", address=option, basis="given", checked=None)


@frozen
class Figure:
    """A number in SI units and its source."""

    value: float
    source: Source


@frozen
class Range:
    """The least, the usual and the greatest value seen; equal where only one figure is known."""

    low: Figure
    typical: Figure
    high: Figure

    def at(self, corner: Corner) -> float:
        """The value that makes a fast, a typical or a slow path, where more is faster."""
        return {"fast": self.high, "typical": self.typical, "slow": self.low}[corner].value

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Each figure once, the usual first."""
        return tuple(dict.fromkeys((self.typical, self.low, self.high)))


def exactly(only: Figure) -> Range:
    """A range of one figure."""
    return Range(only, only, only)


class Context:
    """The sources of the profile being read, and which of them its figures have used so far."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self.sources = sources
        self.used: set[str] = set()

    def cite(self, key: object) -> Source:
        """The source that a key names."""
        if not isinstance(key, str) or key not in self.sources:
            known = ", ".join(sorted(self.sources)) or "none"
            raise UserError(f"source {shown(key)} is not listed under 'sources'; listed: {known}")
        self.used.add(key)
        return self.sources[key]

    @property
    def unused(self) -> list[str]:
        """The keys of sources that no figure has used."""
        return sorted(set(self.sources) - self.used)


_FIGURE = re.compile(r"(?P<text>[^\[\]]*\S)\s*\[(?P<source>[\w.+-]+)\]")


def figure(raw: object, context: Context, read: Callable[[str], float]) -> Figure:
    """The figure in a text like "55 GB/s [nvbandwidth]"."""
    found = _FIGURE.fullmatch(raw.strip()) if isinstance(raw, str) else None
    if found is None:
        raise UserError(
            f"{shown(raw)} does not name its source; write one like '55 GB/s [key]', the key from 'sources'"
        )
    source = context.cite(found["source"])
    return Figure(read(found["text"]), source)
