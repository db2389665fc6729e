"""What several tables call the same thing: nodes side by side, a path with its links, a margin."""

from collections.abc import Sequence

from kvcalc import units
from kvcalc.answers.margin_result import Margin, PathAnswer
from kvcalc.tables.page import Cell, Column


def node_columns(results: Sequence[Margin]) -> tuple[Column, ...]:
    """The column that tells nodes apart, where there are several."""
    return (Column("Node", "hardware"),) if len(results) > 1 else ()


def node_cells(result: Margin, results: Sequence[Margin]) -> tuple[Cell, ...]:
    """The cell under it."""
    return (Cell(result.hardware),) if len(results) > 1 else ()


def links(path: PathAnswer) -> str:
    """How many links may be used, and how many are where that is fewer."""
    count = f"{path.links} link{'s' if path.links > 1 else ''}"
    return count if path.busy_links == path.links else f"{count}, {path.busy_links} busy"


def name(path: PathAnswer) -> str:
    """A path's tier and links."""
    return f"{path.tier}, {links(path)}"


def times(margin: float, result: Margin) -> str:
    """A margin that no rounding puts on the other side of its verdict's bounds."""
    return units.times(margin, (1.0, result.min_margin))
