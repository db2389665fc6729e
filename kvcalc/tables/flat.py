"""The answer to `margin` for spreadsheets and scripts: one row a path, every number in SI units, unit in the key."""

from collections.abc import Sequence

from kvcalc.answers.margin_result import Margin, PathAnswer
from kvcalc.tables.page import Cell, Column, Table

ASKED = ("model", "hardware", "tp", "tokens", "new_tokens", "engine", "kv_dtype", "kv_bytes")
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
    "sure",
    "moved_bytes",
    "fetch_wins_short",
    "crossovers",
    "split_s",
)


def table(results: Sequence[Margin]) -> Table:
    """The columns are keys of the JSON; `recompute_s` is its `recompute.seconds`."""
    columns = tuple(Column(key, key) for key in (*ASKED, "recompute_s", *PATH))
    return Table("Paths", columns, tuple(_row(result, path) for result in results for path in result.paths))


def _row(result: Margin, path: PathAnswer) -> tuple[Cell, ...]:
    asked = [getattr(result, key) for key in ASKED]
    return tuple(map(_cell, (*asked, result.recompute.seconds, *(getattr(path, key) for key in PATH))))


def _cell(value: object) -> Cell:
    return Cell(" ".join(map(str, value)) if isinstance(value, tuple) else str(value))
