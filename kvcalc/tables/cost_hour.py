"""One hour at a rate of requests in an answer to `cost`, and what flash bears of it."""

from collections.abc import Iterator

from kvcalc import amounts, units
from kvcalc.answers.cost_result import Cost, Hourly, TierCost
from kvcalc.tables import words
from kvcalc.tables.page import Cell, Column, Lines, Table

HOUR = (
    "GPU time saved: at most what the node has. Tier costs: all its capacity, more where writes use a drive up before "
    "its rated life ends. A prefix can stay until the writes have replaced everything."
)


def blocks(result: Cost) -> Iterator[Table | Lines]:
    """The hour, then the drives."""
    yield from _hourly(result)
    yield from _drives(result)


def _serves(hour: Hourly, result: Cost) -> str:
    """All that comes, or what is full first."""
    if result.rate_per_s is None or hour.served_per_s >= result.rate_per_s:
        return "all"
    full = hour.saturation_per_s is not None and hour.served_per_s >= hour.saturation_per_s
    return f"{'saturates' if full else 'GPUs saturate'} at {units.ratio(hour.served_per_s)} req/s"


def _hourly(result: Cost) -> Iterator[Table]:
    if result.rate_per_s is None or result.hit_rate is None:
        return
    columns = (
        Column("Tier", "tier"),
        Column("Serves", "served_per_s"),
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
            Cell(_serves(hour, result), hour.served_per_s),
            words.span(hour.saved_gpu_s),
            words.money(hour.saved, result.currency),
            words.money(hour.tier, result.currency),
            words.money(hour.net, result.currency),
            Cell(units.short(hour.written_bytes_per_s, "B/s"), hour.written_bytes_per_s),
            words.span(
                hour.turnover_s, "capacity not known" if hour.written_bytes_per_s else "as long as it is wanted"
            ),
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
    unwritten = tier.hourly is not None and not tier.hourly.written_bytes_per_s
    sustained, tokens = drive.sustained_bytes_per_s, drive.sustained_tokens_per_s
    return (
        Cell(tier.tier),
        Cell(rated, drive.writes_per_day),
        Cell(
            "not known" if tier.capacity_bytes is None else units.short(tier.capacity_bytes, "B"), tier.capacity_bytes
        ),
        Cell("" if sustained is None else units.short(sustained, "B/s"), sustained),
        Cell("" if tokens is None else words.tokens_per_s(tokens), tokens),
        words.span(drive.life_s, "always, nothing is written" if unwritten else ""),
    )
