"""The answer to `crossover` as tables: lengths and bandwidths at which the verdict turns."""

from collections.abc import Iterator, Sequence

from kvcalc import units
from kvcalc.answers.crossover_result import Crossover, Need, PathTurns, Turns, Variant
from kvcalc.answers.margin_result import Assumption
from kvcalc.tables import cited
from kvcalc.tables.page import Cell, Column, Page, Rows, Table
from kvcalc.units import counted

READING = (
    "Prefix lengths in tokens, from 1 to 10,000,000. At worst: the shortest recompute time and the slowest fetch of "
    "the ranges; at best: the reverse."
)
NONE = "none is enough"
AXES = {"tp": "TP degree", "kv_dtype": "KV format", "prefill": "prefill"}


def page(results: Sequence[Crossover]) -> Page:
    """One answer, or two nodes or formats side by side."""
    first = results[0]
    blocks = [
        *(_beside(results) if len(results) > 1 else ()),
        *(_turns(result, _on(result, results)) for result in results),
        *(table for result in results for table in _needs(result, _on(result, results))),
        *(table for result in results for table in _variants(result, _on(result, results))),
        *cited.blocks(_assumptions(results)),
    ]
    title = f"{first.model_title}: where fetching meets recomputing"
    return Page(
        title,
        " ".join(_summary(result, _on(result, results)) for result in results),
        tuple(blocks),
        lambda: _flat(results),
    )


def _on(result: Crossover, results: Sequence[Crossover]) -> str:
    """What tells an answer from the other."""
    if len(results) == 1:
        return ""
    nodes = {each.hardware for each in results}
    return f", {result.hardware if len(nodes) > 1 else f'{result.kv_dtype} KV'}"


def wins(turns: Turns) -> str:
    """At which lengths something holds: "always", "never", "from 225", "below 225, from 187,000"."""
    if not turns.tokens:
        return "always" if turns.holds_short else "never"
    words, holds = [], turns.holds_short
    for tokens in turns.tokens:
        words.append(f"{'below' if holds else 'from'} {units.count(-(-tokens // 1))}")
        holds = not holds
    return ", ".join(words)


def _summary(result: Crossover, on: str) -> str:
    """When fetching wins, tier by tier, each over all its links."""
    best = {path.tier: path for path in result.paths}
    said: dict[str, list[str]] = {}
    for tier, path in best.items():
        said.setdefault(wins(path.wins), []).append(tier)
    words = "; ".join(f"{', '.join(tiers)} {when}" for when, tiers in said.items())
    where = on.removeprefix(", ") or f"{result.hardware}, TP {result.tp}, {result.kv_dtype} KV"
    return f"Fetching wins on {where}: {words}."


def _name(path: PathTurns) -> str:
    return f"{path.tier}, {counted(path.links, 'link')}"


def _turns(result: Crossover, on: str) -> Table:
    columns = (
        Column("Tier", "tier"),
        Column("Path", "path"),
        Column("Bandwidth of a link", "link_bytes_per_s", number=True),
        Column("Fetch wins", "wins"),
        Column("At worst", "wins_low"),
        Column("At best", "wins_high"),
        Column(f"Reaches {units.times(result.min_margin)}", "restores"),
    )
    rows = tuple(
        (
            Cell(path.tier),
            Cell(f"{path.path}, {counted(path.links, 'link')}"),
            Cell(units.short(path.link_bytes_per_s, "B/s")),
            *(Cell(wins(turns)) for turns in (path.wins, path.wins_low, path.wins_high, path.restores)),
        )
        for path in result.paths
    )
    return Table(f"Crossovers{on}", columns, rows, READING)


def _needs(result: Crossover, on: str) -> Iterator[Table]:
    """The bandwidth that one link of each path needs, by length."""
    least = units.times(result.min_margin)
    for title, key in (
        (f"Break-even bandwidth of one link, by length{on}", "break_even_link_bytes_per_s"),
        (f"Bandwidth of one link for {least}, by length{on}", "min_margin_link_bytes_per_s"),
    ):
        columns = (
            Column("Tokens", "tokens", number=True),
            Column("KV", "kv_bytes", number=True),
            Column("Recompute", "recompute_s", number=True),
            *(Column(_name(path), f"path_{number}", number=True) for number, path in enumerate(result.paths)),
        )
        rows = tuple(
            (
                Cell(units.count(needs[0].tokens)),
                Cell(units.short(needs[0].kv_bytes, "B")),
                Cell(_range(needs[0])),
                *(Cell(_rate(getattr(need, key))) for need in needs),
            )
            for needs in zip(*(path.by_length for path in result.paths), strict=True)
        )
        yield Table(title, columns, rows)


def _range(need: Need) -> str:
    low, usual, high = (
        units.short(each, "s") for each in (need.recompute_low_s, need.recompute_s, need.recompute_high_s)
    )
    return usual if low == high else f"{usual} ({low} to {high})"


def _rate(value: float | None) -> str:
    return NONE if value is None else units.short(value, "B/s")


def _variants(result: Crossover, on: str) -> Iterator[Table]:
    tokens = units.count(result.reference_tokens)
    for axis, name in AXES.items():
        variants = [each for each in result.variants if each.axis == axis]
        tiers = list(dict.fromkeys(path.tier for each in variants for path in each.paths))
        columns = (
            Column(name[0].upper() + name[1:], axis),
            Column("KV", "kv_bytes", number=True),
            Column("Recompute", "recompute_s", number=True),
            Column("Basis", "recompute_basis"),
            Column("Break-even", "break_even_bytes_per_s", number=True),
            *(Column(tier, f"tier_{number}") for number, tier in enumerate(tiers)),
        )
        rows = tuple(_variant(each, tiers, result.min_margin) for each in variants)
        note = f"KV, recompute and break-even bandwidth at {tokens} tokens; then from which length on fetching wins."
        if rows:
            yield Table(f"By {name}, all links{on}", columns, rows, note)


def _variant(variant: Variant, tiers: list[str], least: float) -> tuple[Cell, ...]:
    by_tier = {path.tier: path for path in variant.paths}
    return (
        Cell(f"{variant.value} (asked)" if variant.used else variant.value),
        Cell(units.short(variant.kv_bytes, "B")),
        Cell(units.short(variant.recompute_s, "s")),
        Cell(variant.recompute_basis),
        Cell(units.short(variant.break_even_bytes_per_s, "B/s")),
        *(Cell(_both(by_tier[tier], least)) for tier in tiers),
    )


def _both(path: PathTurns, least: float) -> str:
    """When fetching wins, and when it reaches the minimum margin, unless that is the same."""
    won, reached = wins(path.wins), wins(path.restores)
    return won if won == reached else f"{won}; {units.times(least)} {reached}"


def _beside(results: Sequence[Crossover]) -> Iterator[Table]:
    """Paths over the same medium in one row, then recompute and break-even by length."""
    names = [_on(result, results).removeprefix(", ") for result in results]
    keyed = [_by_medium(result) for result in results]
    columns = [Column("Medium", "medium"), Column("Links", "links")]
    for name in names:
        columns += [Column(f"{name}: tier", "tier"), Column("Fetch wins", "wins"), Column("Minimum margin", "restores")]
    rows = []
    for key in dict.fromkeys(each for found in keyed for each in found):
        cells = [Cell(key[0]), Cell(key[1])]
        for found in keyed:
            path = found.get(key)
            cells += [Cell(path.tier), Cell(wins(path.wins)), Cell(wins(path.restores))] if path else [Cell("")] * 3
        rows.append(tuple(cells))
    yield Table("Side by side", tuple(columns), tuple(rows))
    yield _lengths_beside(results, names)


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
    return Table("By length, side by side", tuple(columns), tuple(rows), note)


def _assumptions(results: Sequence[Crossover]) -> Iterator[tuple[Assumption, str]]:
    said: dict[Assumption, list[str]] = {}
    for result in results:
        for each in dict.fromkeys(result.assumptions):
            said.setdefault(each, []).append(_on(result, results).removeprefix(", "))
    for each, whose in said.items():
        yield each, "" if len(whose) == len(results) else f"{', '.join(whose)}: "


ASKED = ("model", "hardware", "tp", "engine", "kv_dtype", "weights", "new_tokens", "recompute_way")
PATH = ("tier", "path", "links", "link_bytes_per_s")


def _flat(results: Sequence[Crossover]) -> Rows:
    """One row for each path and length."""
    needs = tuple(Need.__dataclass_fields__)
    rows = (
        (
            *(getattr(result, key) for key in ASKED),
            *(getattr(path, key) for key in PATH),
            path.wins.holds_short,
            " ".join(map(str, path.wins.tokens)),
            " ".join(map(str, path.restores.tokens)),
            *(getattr(need, key) for key in needs),
        )
        for result in results
        for path in result.paths
        for need in path.by_length
    )
    return Rows((*ASKED, *PATH, "fetch_wins_short", "crossovers", "restores", *needs), rows)
