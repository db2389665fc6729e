"""The answer to `margin` as tables: here its numbers get their units."""

from collections.abc import Iterator, Sequence

from kvcalc import units
from kvcalc.answers.margin_result import Alternative, Assumption, Margin, PathAnswer, RecomputeTime, best
from kvcalc.physics.crossover import BEST_FIRST
from kvcalc.tables import changes, cited, explain, flat, parts, room, words
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

READING = (
    "Margin: recompute time / fetch time, and its range. Fetch wins: at which prefix lengths, in tokens. "
    "Split: the time when the head is computed while the tail loads."
)


def page(results: Sequence[Margin], steps: bool = False) -> Page:
    """One answer, or several nodes side by side; with `steps` also the arithmetic, line by line."""
    first = results[0]
    several, prefix = len(results) > 1, first.use == "prefix"
    blocks = [
        *([_best(results)] if several and prefix else []),
        *(block for result in results for block in parts.use(result, words.on(result, results))),
        _restored(results),
        *_recompute(results),
        *(
            _paths(result, words.on(result, results), READING if result is first else "")
            for result in results
            if prefix
        ),
        *(block for result in results for block in parts.blocks(result, words.on(result, results))),
        *_warnings(results),
        *(changes.table(result, words.on(result, results)) for result in results if prefix),
        *(
            Lines(f"Arithmetic{words.on(result, results)}", (*explain.lines(result), *parts.arithmetic(result)))
            for result in results
            if steps
        ),
        *([] if several else [room.block(first.room, first.tokens, first.kv_stored)]),
        *_assumptions(results),
    ]
    title = f"{first.model_title}, {units.count(first.tokens)} tokens: {parts.ASKED[first.use]}"
    return Page(title, "" if several else _summary(first), tuple(blocks), lambda: flat.table(results))


def _summary(result: Margin) -> str:
    """Which tiers win, each by its best path, and whether that is sure."""
    if result.uses:
        return parts.summary(result) + parts.over(result)
    said = [
        f"{verdict} {'instead of' if verdict == 'recompute' else 'from'} {_named(tiers, result)}"
        for verdict in BEST_FIRST
        if (tiers := [path for path in best(result.paths) if path.verdict == verdict])
    ]
    text = "; ".join(said) + "."
    return (
        ("" if result.fits is not False else "Does not fit in memory. ")
        + text[0].upper()
        + text[1:]
        + parts.over(result)
    )


def _named(paths: list[PathAnswer], result: Margin) -> str:
    return ", ".join(f"{path.tier} ({_margins(path, result)})" for path in paths)


def _margins(path: PathAnswer, result: Margin) -> str:
    """The best path's margin, with that of one link where more are used."""
    single = next((other for other in result.paths if other.tier == path.tier and other.links == 1), path)
    text = words.times(path.margin, result)
    if single is not path:
        text = f"{words.times(single.margin, result)} on 1 link, {text} on {path.links}"
    return text if path.sure else f"{text}, not sure"


def _best(results: Sequence[Margin]) -> Table:
    """The tier of each node with the largest margin."""
    columns = (
        Column("Node", "hardware"),
        Column("Fits", "fits"),
        Column("Recompute", "recompute_s", number=True),
        Column("Basis", "recompute_basis"),
        Column("Best path", "path"),
        Column("Margin", "margin", number=True),
        Column("Verdict", "verdict"),
    )
    rows = []
    for result in results:
        path = max(result.paths, key=lambda each: each.margin)
        rows.append(
            (
                Cell(result.hardware),
                Cell({True: "yes", False: "no", None: "not known"}[result.fits]),
                Cell(units.short(result.recompute.seconds, "s"), result.recompute.seconds),
                Cell(result.recompute.basis),
                Cell(words.name(path)),
                Cell(_margin(path, result), path.margin),
                Cell(path.verdict, path.verdict),
            )
        )
    return Table("The best path of each node", columns, tuple(rows), _bases(results))


def _bases(results: Sequence[Margin]) -> str:
    """Nodes whose recompute times were found in different ways are not compared by their margins."""
    if len({result.recompute.basis for result in results}) == 1:
        return ""
    return "Recompute times of different bases stand side by side here; to compare nodes, add --prefill model."


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
    several = len(results) > 1
    columns = (
        *([Column("Node", "hardware")] if several else []),
        Column("Recompute time by", "way"),
        Column("Basis", "basis"),
        Column("Time", "seconds", number=True),
        Column("Rate", "tokens_per_s", number=True),
    )
    rows = []
    for result in results:
        used = result.recompute
        if several:
            rows.append((Cell(result.hardware), *_way(used.way, used)))
        else:
            rows += [_way(f"{used.way} (used)", used), *(_way(other.way, other) for other in used.alternatives)]
    yield Table("Recompute", columns, tuple(rows))
    if not several:
        yield from _lines("Recompute time could not be found another way", list(results[0].recompute.unavailable))


def _way(name: str, found: RecomputeTime | Alternative) -> tuple[Cell, ...]:
    rate = f"{units.count(found.tokens_per_s)} tok/s"
    return (
        Cell(name),
        Cell(found.basis),
        Cell(units.short(found.seconds, "s"), found.seconds),
        Cell(rate, found.tokens_per_s),
    )


def _paths(result: Margin, on: str, reading: str) -> Table:
    columns = (
        Column("Tier", "tier"),
        Column("Path", "path"),
        Column("Bandwidth", "bandwidth_bytes_per_s", number=True),
        Column("Fetch", "fetch_s", number=True),
        Column("Margin", "margin", number=True),
        Column("Verdict", "verdict"),
        Column("Fetch wins", "crossovers"),
        Column("Split", "split_s", number=True),
    )
    rows = tuple(_row(path, result) for path in result.paths)
    return Table(f"Verdicts{on}", columns, rows, reading)


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
        yield Lines(title, tuple(lines))


def _warnings(results: Sequence[Margin]) -> Iterator[Lines]:
    said: dict[str, list[str]] = {}
    for result in results:
        for line in dict.fromkeys(result.warnings):
            said.setdefault(line, []).append(result.hardware)
    yield from _lines("Warnings", [f"{nodes}{line}" for line, nodes in words.apart(results, said)])


def _assumptions(results: Sequence[Margin]) -> Iterator[Lines]:
    said: dict[Assumption, list[str]] = {}
    for result in results:
        for each in dict.fromkeys(result.assumptions):
            said.setdefault(each, []).append(result.hardware)
    yield from cited.blocks(words.apart(results, said))
