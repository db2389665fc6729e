"""The answer to `cost` as tables: here its numbers get their units."""

from collections.abc import Iterator

from kvcalc import amounts, units
from kvcalc.answers.cost_result import Cost, TierCost, Work
from kvcalc.tables import cited, cost_hour, room, words
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

ASKED = (
    "model",
    "hardware",
    "tp",
    "tokens",
    "new_tokens",
    "rate_per_s",
    "hit_rate",
    "currency",
    "gpu_hour",
    "kv_bytes",
)
TIER = ("tier", "links", "fetch_s", "latency_margin", "verdict", "fetch_gpu_s", "gpu_margin", "saved_gpu_s")
HOLDING = ("saved_per_hit", "gb_month", "hold_per_hour", "hits_per_write", "wear_s", "break_even_s")
HOURLY = (
    "served_per_s",
    "saturation_per_s",
    "saved_gpu_s",
    "saved",
    "tier",
    "net",
    "written_bytes_per_s",
    "turnover_s",
)
DRIVE = ("writes_per_day", "rated_s", "sustained_bytes_per_s", "sustained_tokens_per_s", "life_s")


def page(result: Cost, steps: bool = False) -> Page:
    """The margins, what holding costs, one hour, the drives; with `steps` also the arithmetic."""
    blocks = [
        _work(result),
        _margins(result),
        *_holding(result),
        *cost_hour.blocks(result),
        *([Lines("Warnings", result.warnings)] if result.warnings else []),
        *([Lines("Arithmetic", tuple(_arithmetic(result)))] if steps else []),
        room.block(result.room, result.tokens, result.kv_stored),
        *cited.blocks((each, "") for each in result.assumptions),
    ]
    title = (
        f"{result.model_title}, {units.count(result.tokens)} tokens on {result.hardware}: what a tier costs and saves"
    )
    return Page(title, _summary(result), tuple(blocks), lambda: _flat(result))


def _summary(result: Cost) -> str:
    gpu = units.counted(result.tp, "GPU")
    saved = f"A hit saves {amounts.span(result.recompute_gpu_s)} of GPU time ({gpu})"
    held = [
        f"{amounts.span(tier.holding.break_even_s)} in {tier.tier}{_unworn(tier)}"
        for tier in result.tiers
        if tier.holding.break_even_s is not None and tier.holding.break_even_s > 0
    ]
    paid = f", which pays for holding the prefix {', '.join(held)}" if held else ""
    return f"{saved}{paid}.{_switch(result)}"


def _unworn(tier: TierCost) -> str:
    return " (wear not known)" if tier.medium == "nvme" and tier.holding.wear_s is None else ""


def _switch(result: Cost) -> str:
    """Why `margin` gives other verdicts, and how to have the same ones."""
    one, node = result.latency, result.throughput
    if one == node:
        return ""
    return (
        f" Verdicts are of one request, {units.short(one.seconds, 's')} by the {one.way}; margin takes the "
        f"{units.short(node.seconds, 's')} of the {node.way}: with --prefill {round(node.tokens_per_s)} so does cost."
    )


def _work(result: Cost) -> Table:
    columns = (
        Column("Recomputing", "what"),
        Column("By", "way"),
        Column("Basis", "basis"),
        Column("Time", "seconds", number=True),
        Column("Rate", "tokens_per_s", number=True),
    )
    rows = (_way("one request, its latency", result.latency), _way("GPU time of the node", result.throughput))
    return Table("The two times of recomputing", columns, rows)


def _way(name: str, work: Work) -> tuple[Cell, ...]:
    rate = Cell(words.tokens_per_s(work.tokens_per_s), work.tokens_per_s)
    return Cell(name), Cell(work.way), Cell(work.basis), words.seconds(work.seconds), rate


def _margins(result: Cost) -> Table:
    columns = (
        Column("Path", "path"),
        Column("Fetch", "fetch_s", number=True),
        Column("Latency margin", "latency_margin", number=True),
        Column("Verdict", "verdict"),
        Column("GPU time of a fetch", "fetch_gpu_s", number=True),
        Column("GPU-time margin", "gpu_margin", number=True),
        Column("GPU time saved", "saved_gpu_s", number=True),
    )
    bounds = (1.0, result.min_margin)
    rows = tuple(
        (
            _name(tier),
            words.seconds(tier.fetch_s),
            Cell(units.times(tier.latency_margin, bounds), tier.latency_margin),
            Cell(tier.verdict, tier.verdict),
            words.seconds(tier.fetch_gpu_s),
            Cell(units.times(tier.gpu_margin), tier.gpu_margin),
            words.seconds(tier.saved_gpu_s),
        )
        for tier in result.tiers
    )
    note = "Latency: one request, recompute / fetch. GPU time: what is lost to other requests meanwhile, on all GPUs."
    return Table("The two margins", columns, rows, note)


def _holding(result: Cost) -> Iterator[Table]:
    """Where a price is known."""
    tiers = [tier for tier in result.tiers if tier.holding.gb_month is not None]
    if not tiers:
        return
    columns = (
        Column("Tier", "tier"),
        Column("Price a GB and month", "gb_month", number=True),
        Column("Holding the prefix an hour", "hold_per_hour", number=True),
        Column("A hit saves", "saved_per_hit", number=True),
        Column("A write wears as", "wear_s", number=True),
        Column(f"Break-even residence{_hits(tiers[0])}", "break_even_s", number=True),
    )
    rows = tuple(
        (
            Cell(tier.tier),
            words.money(tier.holding.gb_month, result.currency),
            words.money(tier.holding.hold_per_hour, result.currency),
            words.money(tier.holding.saved_per_hit, result.currency),
            words.span(tier.holding.wear_s, "not known" if tier.medium == "nvme" else ""),
            Cell(_break_even(tier), tier.holding.break_even_s),
        )
        for tier in tiers
    )
    note = (
        "Hold a prefix that comes again sooner than this. Writing it once wears a drive as much as so much holding; "
        "its price is charged once, by its life or by its writes."
    )
    yield Table("Holding: the five-minute rule", columns, rows, note)


def _hits(tier: TierCost) -> str:
    hits = tier.holding.hits_per_write
    return "" if hits is None else f", at {units.ratio(hits)} {'hit' if hits == 1 else 'hits'} a write"


def _break_even(tier: TierCost) -> str:
    found = tier.holding.break_even_s
    if found is None:
        return "give --gpu-hour"
    return amounts.span(found) if found > 0 else "never: wear costs more"


def _arithmetic(result: Cost) -> Iterator[str]:
    work = units.short(result.throughput.seconds, "s")
    yield f"recomputing = {result.tp} GPUs x {work} = {amounts.span(result.recompute_gpu_s)} of GPU time"
    for tier in result.tiers:
        fetch, saved = units.short(tier.fetch_gpu_s, "s"), amounts.span(tier.saved_gpu_s)
        yield f"{tier.tier}: saved a hit = {amounts.span(result.recompute_gpu_s)} - {fetch} = {saved} of GPU time"
        held = tier.holding
        if held.break_even_s is not None:
            wear = f", against {amounts.span(held.wear_s)} of wear{_hits(tier)}" if held.wear_s else ""
            saved, hold = (words.money(each, result.currency).text for each in (held.saved_per_hit, held.hold_per_hour))
            rate = f"{saved} / {hold} an hour"
            yield f"{tier.tier}: break-even residence = {rate}{wear} = {_break_even(tier)}"
        if tier.drive and tier.drive.sustained_bytes_per_s and tier.capacity_bytes:
            size = f"{units.short(tier.capacity_bytes, 'B')} x {units.ratio(tier.drive.writes_per_day)} / day"
            yield f"{tier.tier}: bears {size} = {units.short(tier.drive.sustained_bytes_per_s, 'B/s')}"


def _name(tier: TierCost) -> Cell:
    return Cell(words.path(tier.tier, tier.links))


def _flat(result: Cost) -> Table:
    """One row a tier; the keys of a part begin with its name."""
    parts = {"holding": HOLDING, "hourly": HOURLY, "drive": DRIVE}
    keys = [*ASKED, *TIER, *(f"{part}_{key}" for part, names in parts.items() for key in names)]
    rows = tuple(
        tuple(
            Cell("" if value is None else str(value))
            for value in (
                *(getattr(result, key) for key in ASKED),
                *(getattr(tier, key) for key in TIER),
                *(getattr(getattr(tier, part), key, None) for part, names in parts.items() for key in names),
            )
        )
        for tier in result.tiers
    )
    return Table("Tiers", tuple(Column(key, key) for key in keys), rows)
