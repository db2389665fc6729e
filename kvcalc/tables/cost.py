"""The answer to `cost` as tables: here its numbers get their units."""

from collections.abc import Iterator

from kvcalc import amounts, units
from kvcalc.answers.cost_result import Cost, TierCost, Work
from kvcalc.tables import cited, room, words
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
HOLDING = ("saved_per_hit", "gb_month", "hold_per_hour", "wear_s", "break_even_s")
HOURLY = ("saved_gpu_s", "saved", "tier", "net", "written_bytes_per_s", "turnover_s")
DRIVE = ("writes_per_day", "rated_s", "sustained_bytes_per_s", "sustained_tokens_per_s", "life_s")
HOUR = (
    "Tier costs: all its capacity, more where writes use a drive up before its rated life ends. "
    "A prefix can stay until the writes have replaced everything."
)


def page(result: Cost, steps: bool = False) -> Page:
    """The margins, what holding costs, one hour, the drives; with `steps` also the arithmetic."""
    blocks = [
        _work(result),
        _margins(result),
        *_holding(result),
        *_hourly(result),
        *_drives(result),
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
        f"{amounts.span(tier.holding.break_even_s)} in {tier.tier}"
        for tier in result.tiers
        if tier.holding.break_even_s is not None and tier.holding.break_even_s > 0
    ]
    return f"{saved}, which pays for holding the prefix {', '.join(held)}." if held else f"{saved}."


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
        Column("Break-even residence", "break_even_s", number=True),
    )
    rows = tuple(
        (
            Cell(tier.tier),
            _money(tier.holding.gb_month, result),
            _money(tier.holding.hold_per_hour, result),
            _money(tier.holding.saved_per_hit, result),
            _span(tier.holding.wear_s, "not known" if tier.medium == "nvme" else ""),
            Cell(_break_even(tier), tier.holding.break_even_s),
        )
        for tier in tiers
    )
    note = "Hold a prefix that comes again sooner than this. Writing it once wears a drive as much as so much holding."
    yield Table("Holding: the five-minute rule", columns, rows, note)


def _break_even(tier: TierCost) -> str:
    found = tier.holding.break_even_s
    if found is None:
        return "give --gpu-hour"
    return amounts.span(found) if found > 0 else "never: wear costs more"


def _hourly(result: Cost) -> Iterator[Table]:
    if result.rate_per_s is None or result.hit_rate is None:
        return
    columns = (
        Column("Tier", "tier"),
        Column("GPU time saved", "saved_gpu_s", number=True),
        Column("Money saved", "saved", number=True),
        Column("Tier costs", "tier_money", number=True),
        Column("Net", "net", number=True),
        Column("Written", "written_bytes_per_s", number=True),
        Column("A prefix can stay", "turnover_s", number=True),
    )
    rows = tuple(
        (
            Cell(tier.tier),
            _span(hour.saved_gpu_s),
            _money(hour.saved, result),
            _money(hour.tier, result),
            _money(hour.net, result),
            Cell(units.short(hour.written_bytes_per_s, "B/s"), hour.written_bytes_per_s),
            _span(hour.turnover_s, "capacity not known"),
        )
        for tier in result.tiers
        if (hour := tier.hourly)
    )
    asked = f"{units.ratio(result.rate_per_s)} req/s, hit rate {units.ratio(100 * result.hit_rate)} %"
    yield Table(f"One hour at {asked}", columns, rows, HOUR)


def _drives(result: Cost) -> Iterator[Table | Lines]:
    columns = (
        Column("Tier", "tier"),
        Column("Rated", "writes_per_day", number=True),
        Column("Capacity", "capacity_bytes", number=True),
        Column("Bears for its life", "sustained_bytes_per_s", number=True),
        Column("New tokens", "sustained_tokens_per_s", number=True),
        Column("Lasts at this rate", "life_s", number=True),
    )
    rows = tuple(_drive(tier) for tier in result.tiers if tier.drive)
    if rows:
        yield Table("Endurance of flash", columns, rows)
    unknown = [tier.tier for tier in result.tiers if tier.medium == "nvme" and not tier.drive]
    if unknown:
        way_out = f"--endurance {unknown[0]}='1 DWPD for 5 years'"
        yield Lines("Endurance not known", (f"{', '.join(unknown)}: no drive is named; give its rating: {way_out}",))


def _drive(tier: TierCost) -> tuple[Cell, ...]:
    drive = tier.drive
    assert drive is not None
    rated = f"{units.ratio(drive.writes_per_day)} DWPD" + (
        f" for {amounts.span(drive.rated_s)}" if drive.rated_s else ""
    )
    sustained, tokens = drive.sustained_bytes_per_s, drive.sustained_tokens_per_s
    return (
        Cell(tier.tier),
        Cell(rated, drive.writes_per_day),
        Cell(
            "not known" if tier.capacity_bytes is None else units.short(tier.capacity_bytes, "B"), tier.capacity_bytes
        ),
        Cell("" if sustained is None else units.short(sustained, "B/s"), sustained),
        Cell("" if tokens is None else words.tokens_per_s(tokens), tokens),
        _span(drive.life_s),
    )


def _arithmetic(result: Cost) -> Iterator[str]:
    work = units.short(result.throughput.seconds, "s")
    yield f"recomputing = {result.tp} GPUs x {work} = {amounts.span(result.recompute_gpu_s)} of GPU time"
    for tier in result.tiers:
        fetch, saved = units.short(tier.fetch_gpu_s, "s"), amounts.span(tier.saved_gpu_s)
        yield f"{tier.tier}: saved a hit = {amounts.span(result.recompute_gpu_s)} - {fetch} = {saved} of GPU time"
        held = tier.holding
        if held.break_even_s is not None:
            wear = f" - {amounts.span(held.wear_s)} of wear" if held.wear_s else ""
            rate = f"{_money(held.saved_per_hit, result).text} / {_money(held.hold_per_hour, result).text} an hour"
            yield f"{tier.tier}: break-even residence = {rate}{wear} = {_break_even(tier)}"
        if tier.drive and tier.drive.sustained_bytes_per_s and tier.capacity_bytes:
            size = f"{units.short(tier.capacity_bytes, 'B')} x {units.ratio(tier.drive.writes_per_day)} / day"
            yield f"{tier.tier}: bears {size} = {units.short(tier.drive.sustained_bytes_per_s, 'B/s')}"


def _name(tier: TierCost) -> Cell:
    return Cell(words.path(tier.tier, tier.links))


def _money(value: float | None, result: Cost) -> Cell:
    return Cell("" if value is None else amounts.priced(value, result.currency or ""), value)


def _span(value: float | None, without: str = "") -> Cell:
    return Cell(without if value is None else amounts.span(value), value)


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
