"""What several tables call the same thing: nodes side by side, a path with its links, a margin."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from kvcalc import amounts, units
from kvcalc.answers.margin_result import Margin, PathAnswer
from kvcalc.tables.page import Cell

T = TypeVar("T")


def on(result: Margin, results: Sequence[Margin]) -> str:
    """The end of a title that tells nodes apart, where there are several."""
    return f", {result.hardware}" if len(results) > 1 else ""


def apart(results: Sequence[Margin], said: Mapping[T, list[str]]) -> Iterator[tuple[T, str]]:
    """Things said of some nodes, each with the words that name those nodes; nothing where it is said of all."""
    for thing, nodes in said.items():
        yield thing, "" if len(nodes) == len(results) else f"{', '.join(nodes)}: "


def links(path: PathAnswer) -> str:
    """How many links may be used, and how many are where that is fewer."""
    count = f"{path.links} link{'s' if path.links > 1 else ''}"
    return count if path.busy_links == path.links else f"{count}, {path.busy_links} busy"


def name(path: PathAnswer) -> str:
    """A path's tier and links."""
    return f"{path.tier}, {links(path)}"


def path(tier: str, links: int) -> str:
    """The same where only the links that may be used are known."""
    return f"{tier}, {units.counted(links, 'link')}"


def seconds(value: float | None, without: str = "") -> Cell:
    """A time, or what to say where there is none."""
    return Cell(without if value is None else units.short(value, "s"), value)


def span(value: float | None, without: str = "") -> Cell:
    """A time of any length, or what to say where there is none."""
    return Cell(without if value is None else amounts.span(value), value)


def money(value: float | None, currency: str | None) -> Cell:
    """An amount, where it is known."""
    return Cell("" if value is None else amounts.priced(value, currency or ""), value)


def tokens_per_s(value: float) -> str:
    """A rate of tokens."""
    return f"{units.count(value)} tok/s" if value >= 1000 else units.short(value, "tok/s")


def times(margin: float, result: Margin) -> str:
    """A margin that no rounding puts on the other side of its verdict's bounds."""
    return units.times(margin, (1.0, result.min_margin))
