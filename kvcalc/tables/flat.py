"""The answer to `margin` for spreadsheets and scripts: one row a path, every number in SI units, unit in the key."""

from collections.abc import Sequence

from kvcalc.answers.margin_result import Margin, PathAnswer
from kvcalc.tables.page import Cell, Column, Table

ASKED = ("model", "hardware", "tp", "tokens", "new_tokens", "engine", "kv_dtype", "weights", "kv_bytes", "fits")
RECOMPUTE = ("seconds", "basis", "way")
PATH = (
    "tier",
    "path",
    "links",
    "busy_links",
    "bandwidth_bytes_per_s",
    "fetch_s",
    "fetch_low_s",
    "fetch_high_s",
    "margin",
    "margin_low",
    "margin_high",
    "verdict",
    "verdict_low",
    "verdict_high",
    "sure",
    "moved_bytes",
    "fetch_wins_short",
    "crossovers",
    "split_s",
)


def table(results: Sequence[Margin]) -> Table:
    """The columns are keys of the JSON; those of its `recompute` begin with that word."""
    columns = tuple(Column(key, key) for key in (*ASKED, "recompute_s", "recompute_basis", "recompute_way", *PATH))
    return Table("Paths", columns, tuple(_row(result, path) for result in results for path in result.paths))


def _row(result: Margin, path: PathAnswer) -> tuple[Cell, ...]:
    asked = [getattr(result, key) for key in ASKED]
    recompute = [getattr(result.recompute, key) for key in RECOMPUTE]
    return tuple(map(_cell, (*asked, *recompute, *(getattr(path, key) for key in PATH))))


def _cell(value: object) -> Cell:
    return Cell(" ".join(map(str, value)) if isinstance(value, tuple) else str(value))
