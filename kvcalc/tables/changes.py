"""What would change each verdict: the nearest turn of every knob."""

from kvcalc import units
from kvcalc.answers.flips import Flip
from kvcalc.answers.margin_result import Margin, PathAnswer
from kvcalc.tables import words
from kvcalc.tables.page import Cell, Column, Table

FAR = 2.0  # decades; a flip that is further away changes nothing in practice


def table(result: Margin, on: str) -> Table:
    """One row a path; `on` ends the title."""
    columns = (
        Column("Path", "path"),
        Column("Now", "verdict"),
        Column("Becomes, the nearest change first", "flips"),
    )
    rows = tuple(
        (
            Cell(words.name(path)),
            Cell(path.verdict),
            Cell(_turns(path, result)),
        )
        for path in result.paths
    )
    return Table(f"What would change the verdict{on}", columns, rows)


def _turns(path: PathAnswer, result: Margin) -> str:
    """The verdicts that are near, each with what leads to it."""
    near: dict[str, list[str]] = {}
    for flip in path.flips:
        if flip.distance <= FAR:
            near.setdefault(flip.verdict, []).append(_condition(flip, path, result))
    return "; ".join(f"{verdict} if {' or '.join(found)}" for verdict, found in near.items()) or "nothing near"


def _condition(flip: Flip, path: PathAnswer, result: Margin) -> str:
    side = "above" if flip.value > flip.now else "below"
    if flip.knob == "links":
        return f"{flip.value:.0f} links are used" if flip.value > 1 else "1 link is used"
    if flip.knob == "tokens":
        moves = "grows" if flip.value > flip.now else "shrinks"
        return f"the prefix {moves} to {units.count(flip.value)} tokens"
    if flip.knob == "prefill_tokens_per_s":
        return f"prefill is {side} {units.count(flip.value)} tok/s{_so_by(flip, result)}"
    together = f" over {path.busy_links} links together" if path.busy_links > 1 else ""
    return f"bandwidth is {side} {units.short(flip.value, 'B/s')}{together}"


def _so_by(flip: Flip, result: Margin) -> str:
    """Another way to find the recompute time by which the verdict has turned already."""
    for other in result.recompute.alternatives:
        beyond = other.tokens_per_s > flip.value if flip.value > flip.now else other.tokens_per_s < flip.value
        if beyond and other.basis != "textbook":
            return f" ({other.way}: {units.count(other.tokens_per_s)})"
    return ""
