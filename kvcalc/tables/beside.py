"""Two answers to `crossover` side by side."""

from collections.abc import Iterator, Sequence

from kvcalc import units
from kvcalc.answers.crossover_result import Crossover, PathTurns
from kvcalc.tables.page import Cell, Column, Table
from kvcalc.tables.turns import words


def tables(results: Sequence[Crossover], names: list[str]) -> Iterator[Table]:
    """Each under its name: paths over the same medium in one row, then recompute and break-even by length."""
    keyed = [_by_medium(result) for result in results]
    columns = [Column("Medium", "medium"), Column("Links", "links")]
    for name in names:
        columns += [Column(f"{name}: tier", "tier"), Column("Fetch wins", "wins"), Column("Minimum margin", "restores")]
    rows = []
    for key in dict.fromkeys(each for found in keyed for each in found):
        cells = [Cell(key[0]), Cell(key[1])]
        for found in keyed:
            path = found.get(key)
            cells += [Cell(path.tier), Cell(words(path.wins)), Cell(words(path.restores))] if path else [Cell("")] * 3
        rows.append(tuple(cells))
    yield Table("Side by side", tuple(columns), tuple(rows), _bases(results, names), repeated=2)
    yield _lengths_beside(results, names)


def _bases(results: Sequence[Crossover], names: list[str]) -> str:
    """A word where the recompute times rest on different bases."""
    if len({result.recompute_basis for result in results}) == 1:
        return ""
    said = ", ".join(f"{result.recompute_basis} on {name}" for result, name in zip(results, names, strict=True))
    return f"Recompute times rest on different bases ({said}), so they are not alike; --prefill model puts both on one."


def _by_medium(result: Crossover) -> dict[tuple[str, str], PathTurns]:
    """The first path of a medium over one link and over all."""
    found: dict[tuple[str, str], PathTurns] = {}
    for path in result.paths:
        several = [other.links for other in result.paths if other.tier == path.tier]
        if path.links == min(several):
            found.setdefault((path.medium, "one" if path.links == 1 else str(path.links)), path)
        if path.links == max(several):
            found.setdefault((path.medium, "all"), path)
    return found


def _lengths_beside(results: Sequence[Crossover], names: list[str]) -> Table:
    columns = [Column("Tokens", "tokens", number=True)]
    for name in names:
        columns += [
            Column(f"{name}: KV", "kv_bytes", number=True),
            Column("Recompute", "recompute_s", number=True),
            Column("Break-even", "break_even_bytes_per_s", number=True),
        ]
    rows = []
    for needs in zip(*(result.paths[0].by_length for result in results), strict=True):
        cells = [Cell(units.count(needs[0].tokens))]
        for need in needs:
            cells += [
                Cell(units.short(need.kv_bytes, "B")),
                Cell(units.short(need.recompute_s, "s")),
                Cell(units.short(need.kv_bytes / need.recompute_s, "B/s")),
            ]
        rows.append(tuple(cells))
    note = "Break-even: KV / recompute time, over all links together, latency and copies apart."
    return Table("By length, side by side", tuple(columns), tuple(rows), note, repeated=1)
