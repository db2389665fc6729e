"""What several tables call the same thing: nodes side by side, a path with its links, a margin."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from kvcalc import units
from kvcalc.answers.margin_result import Assumption, Margin, PathAnswer
from kvcalc.tables.page import Cell

T = TypeVar("T")


class Answer(Protocol):
    """Whatever is answered for a node."""

    @property
    def hardware(self) -> str:
        """The node's name."""

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the answer rests on."""


def on(result: Answer, results: Sequence[Answer]) -> str:
    """The end of a title that tells nodes apart, where there are several."""
    return f", {result.hardware}" if len(results) > 1 else ""


def apart(results: Sequence[Answer], said: Mapping[T, list[str]]) -> Iterator[tuple[T, str]]:
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
    return f"{tier}, {several(links, 'link')}"


def several(count: int, thing: str) -> str:
    """So many of a thing."""
    return f"{units.count(count)} {thing}{'' if count == 1 else 's'}"


def seconds(value: float | None, without: str = "") -> Cell:
    """A time, or what to say where there is none."""
    return Cell(without if value is None else units.short(value, "s"), value)


def tokens_per_s(value: float) -> str:
    """A rate of tokens."""
    return f"{units.count(value)} tok/s" if value >= 1000 else units.short(value, "tok/s")


def times(margin: float, result: Margin) -> str:
    """A margin that no rounding puts on the other side of its verdict's bounds."""
    return units.times(margin, (1.0, result.min_margin))
