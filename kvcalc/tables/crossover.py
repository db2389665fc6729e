"""The answer to `crossover` as tables: lengths and bandwidths at which the verdict turns."""

from collections.abc import Iterator, Sequence

from kvcalc import units
from kvcalc.answers.crossover_result import Crossover, Need, PathTurns, Variant
from kvcalc.answers.margin_result import Assumption
from kvcalc.tables import beside, cited
from kvcalc.tables.page import Cell, Column, Page, Rows, Table
from kvcalc.tables.turns import words
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
        *(
            beside.tables(results, [_on(each, results).removeprefix(", ") for each in results])
            if len(results) > 1
            else ()
        ),
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


def _summary(result: Crossover, on: str) -> str:
    """When fetching wins, tier by tier, each over all its links."""
    best = {path.tier: path for path in result.paths}
    said: dict[str, list[str]] = {}
    for tier, path in best.items():
        said.setdefault(words(path.wins), []).append(tier)
    verdicts = "; ".join(f"{', '.join(tiers)} {when}" for when, tiers in said.items())
    where = on.removeprefix(", ") or f"{result.hardware}, TP {result.tp}, {result.kv_dtype} KV"
    return f"Fetching wins on {where}: {verdicts}."


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
            *(Cell(words(turns)) for turns in (path.wins, path.wins_low, path.wins_high, path.restores)),
        )
        for path in result.paths
    )
    return Table(f"Crossovers{on}", columns, rows, READING, repeated=2)


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
        yield Table(title, columns, rows, repeated=1)


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
            yield Table(f"By {name}, all links{on}", columns, rows, _basis_note(variants, note), repeated=1)


def _basis_note(variants: list[Variant], note: str) -> str:
    """With a word where rows rest on different bases, unless they are there to be compared."""
    bases = dict.fromkeys(each.recompute_basis for each in variants)
    if len(bases) == 1 or variants[0].axis == "prefill":
        return note
    return f"{note} Rows differ in basis ({', '.join(bases)}), so they are not alike; --prefill model puts all on one."


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
    won, reached = words(path.wins), words(path.restores)
    return won if won == reached else f"{won}; {units.times(least)} {reached}"


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
