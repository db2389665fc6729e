"""The answer to `margin` as tables: here its numbers get their units."""

from collections.abc import Iterator, Sequence

from kvcalc import units
from kvcalc.answers.margin_result import Margin, PathAnswer, best
from kvcalc.physics.crossover import BEST_FIRST
from kvcalc.tables import changes, explain, flat, sources, words
from kvcalc.tables.page import Cell, Column, Lines, Page, Table


def page(results: Sequence[Margin], steps: bool = False) -> Page:
    """One answer, or several nodes side by side; with `steps` also the arithmetic, line by line."""
    first = results[0]
    blocks = [
        _restored(results),
        *_recompute(results),
        _paths(results),
        *_lines("Warnings", [line for result in results for line in result.warnings]),
        changes.table(results),
        *(Lines(f"Arithmetic{_on(result, results)}", explain.lines(result)) for result in results if steps),
        *sources.blocks([each for result in results for each in result.assumptions]),
    ]
    title = f"{first.model_title}, {units.count(first.tokens)} tokens: fetch or recompute?"
    return Page(title, _summary(results), tuple(blocks), lambda: flat.table(results))


def _summary(results: Sequence[Margin]) -> str:
    """Which tiers win, each by its best path."""
    said = []
    for result in results:
        words = [
            f"{verdict} {'instead of' if verdict == 'recompute' else 'from'} {_named(tiers, result)}"
            for verdict in BEST_FIRST
            if (tiers := [path for path in best(result.paths) if path.verdict == verdict])
        ]
        said.append((f"{result.hardware}: " if len(results) > 1 else "") + "; ".join(words))
    text = ". ".join(said) + "."
    return text[0].upper() + text[1:] if len(results) == 1 else text


def _named(paths: list[PathAnswer], result: Margin) -> str:
    return ", ".join(f"{path.tier} ({words.times(path.margin, result)})" for path in paths)


def _on(result: Margin, results: Sequence[Margin]) -> str:
    return f" on {result.hardware}" if len(results) > 1 else ""


def _restored(results: Sequence[Margin]) -> Table:
    least = units.times(results[0].min_margin)
    columns = (
        Column("Node", "hardware"),
        Column("TP", "tp", number=True),
        Column("KV of the prefix", "kv_bytes", number=True),
        Column("Per token", "kv_bytes_per_token", number=True),
        Column("Per rank", "kv_bytes_per_rank", number=True),
        Column("Break-even", "break_even_bytes_per_s", number=True),
        Column(f"For {least}", "break_even_min_margin_bytes_per_s", number=True),
    )
    rows = tuple(
        (
            Cell(result.hardware),
            Cell(str(result.tp), result.tp),
            Cell(units.both(result.kv_bytes), result.kv_bytes),
            Cell(f"{units.count(result.kv_bytes_per_token)} B", result.kv_bytes_per_token),
            Cell(units.short(result.kv_bytes_per_rank, "B"), result.kv_bytes_per_rank),
            Cell(units.short(result.break_even_bytes_per_s, "B/s"), result.break_even_bytes_per_s),
            Cell(
                units.short(result.break_even_min_margin_bytes_per_s, "B/s"), result.break_even_min_margin_bytes_per_s
            ),
        )
        for result in results
    )
    return Table(f"Restored, {_format(results[0])}", columns, rows)


def _format(result: Margin) -> str:
    stored = "" if result.kv_stored == result.kv_dtype else f" (stored as {result.kv_stored})"
    return f"{result.kv_dtype} KV{stored}, engine {result.engine}"


def _recompute(results: Sequence[Margin]) -> Iterator[Table | Lines]:
    columns = (
        *words.node_columns(results),
        Column("Recompute time by", "way"),
        Column("Basis", "basis"),
        Column("Time", "seconds", number=True),
        Column("Rate", "tokens_per_s", number=True),
    )
    rows = []
    for result in results:
        used = result.recompute
        others = [] if len(results) > 1 else used.alternatives
        mark = "" if len(results) > 1 else " (used)"
        rows.append(
            (*words.node_cells(result, results), *_way(used.way + mark, used.basis, used.seconds, used.tokens_per_s))
        )
        rows += [_way(other.way, other.basis, other.seconds, other.tokens_per_s) for other in others]
    yield Table("Recompute", columns, tuple(map(tuple, rows)))
    if len(results) == 1:
        yield from _lines("Recompute time could not be found another way", list(results[0].recompute.unavailable))


def _way(name: str, basis: str, seconds: float, rate: float) -> tuple[Cell, ...]:
    return Cell(name), Cell(basis), Cell(units.short(seconds, "s"), seconds), Cell(f"{units.count(rate)} tok/s", rate)


def _paths(results: Sequence[Margin]) -> Table:
    columns = (
        *words.node_columns(results),
        Column("Tier", "tier"),
        Column("Path", "path"),
        Column("Bandwidth", "bandwidth_bytes_per_s", number=True),
        Column("Fetch", "fetch_s", number=True),
        Column("Margin", "margin", number=True),
        Column("Verdict", "verdict"),
        Column("Fetch wins", "crossovers"),
        Column("Split", "split_s", number=True),
    )
    rows = tuple(
        (*words.node_cells(result, results), *_row(path, result)) for result in results for path in result.paths
    )
    return Table("Verdicts", columns, rows)


def _row(path: PathAnswer, result: Margin) -> tuple[Cell, ...]:
    return (
        Cell(path.tier),
        Cell(f"{path.path}, {words.links(path)}"),
        Cell(units.short(path.bandwidth_bytes_per_s, "B/s"), path.bandwidth_bytes_per_s),
        Cell(units.short(path.fetch_s, "s"), path.fetch_s),
        Cell(_margin(path, result), path.margin),
        Cell(_verdict(path), path.verdict),
        Cell(_wins(path)),
        Cell(units.short(path.split_s, "s"), path.split_s),
    )


def _margin(path: PathAnswer, result: Margin) -> str:
    low, usual, high = (words.times(each, result) for each in (path.margin_low, path.margin, path.margin_high))
    return usual if low == high else f"{usual} ({low} to {high})"


def _verdict(path: PathAnswer) -> str:
    other = []
    if path.verdict_low != path.verdict:
        other.append(f"{path.verdict_low} at the low end")
    if path.verdict_high != path.verdict:
        other.append(f"{path.verdict_high} at the high end")
    return path.verdict + (f", but {' and '.join(other)}" if other else "")


def _wins(path: PathAnswer) -> str:
    """At which prompt lengths fetching wins: "always", "never", "from 225", "below 225, from 187,000"."""
    if not path.crossovers:
        return "always" if path.fetch_wins_short else "never"
    words, wins = [], path.fetch_wins_short
    for tokens in path.crossovers:
        words.append(f"{'below' if wins else 'from'} {units.count(tokens)}")
        wins = not wins
    return ", ".join(words)


def _lines(title: str, lines: list[str]) -> Iterator[Lines]:
    if lines:
        yield Lines(title, tuple(dict.fromkeys(lines)))
