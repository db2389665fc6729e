"""What fits in each place, as a table and for spreadsheets; what a prefix takes; what to ask an engine for."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.capacity_result import Capacity, Fits, HostAsk, TierSize
from kvcalc.tables.page import Cell, Column, Table

FLAT = (
    "place",
    "kv_stored",
    "size_bytes",
    "requests",
    "request_tokens",
    "prefixes_low",
    "prefixes_high",
    "prefix_tokens_low",
    "prefix_tokens_high",
    "adds_prefixes_low",
    "adds_prefixes_high",
)


def span(low: int | None, high: int | None) -> str:
    """Both bounds, or the one number that they are; a dash where it is not known."""
    if low is None or high is None:
        return "-"
    return units.count(low) if low == high else f"{units.count(low)} to {units.count(high)}"


def table(result: Capacity) -> Table:
    """HBM as it is and with FP8, then the tiers. Requests run, prefixes are at rest."""
    columns = (
        Column("Place", "place"),
        Column("Size", "size_bytes", number=True),
        Column(f"Requests of {units.count(result.max_model_len)}", "requests", number=True),
        Column("Their tokens", "request_tokens", number=True),
        Column(f"Prefixes of {units.count(result.prefix_tokens)}", "prefixes", number=True),
        Column("Tokens at rest", "prefix_tokens", number=True),
        Column("Adds prefixes", "adds_prefixes", number=True),
    )
    size = units.short(result.hbm.pool_bytes, "B")
    rows = [_pool("HBM, each rank", size, result.fits)]
    rows += [_pool(f"HBM, {each.kv_dtype} instead", size, each.fits) for each in result.instead]
    rows += [_tier(tier) for tier in result.tiers]
    replicas = "" if result.dp == 1 else f", for one of {result.dp} replicas"
    return Table(f"What fits{replicas}", columns, tuple(rows))


def _pool(place: str, size: str, fits: Fits) -> tuple[Cell, ...]:
    requests = (f"{fits.requests:,.2f}", units.count(fits.tokens))
    return tuple(map(Cell, (place, size, *requests, units.count(fits.prefixes), units.count(fits.prefix_tokens), "-")))


def _tier(tier: TierSize) -> tuple[Cell, ...]:
    size = "not known" if tier.capacity_bytes is None else units.short(tier.capacity_bytes, "B")
    held = span(tier.prefixes_low, tier.prefixes_high), span(tier.tokens_low, tier.tokens_high)
    return tuple(map(Cell, (tier.tier, size, "-", "-", *held, span(tier.adds_prefixes_low, tier.adds_prefixes_high))))


def flat(result: Capacity) -> Table:
    """The same for spreadsheets: numbers in SI units, both bounds, nothing where nothing is known."""
    size = round(result.hbm.pool_bytes)
    places = [
        ("hbm", result.kv_stored, result.fits),
        *((f"hbm-{x.kv_dtype}", x.kv_stored, x.fits) for x in result.instead),
    ]
    rows: list[tuple[str | float | None, ...]] = [
        (place, kv, size, fits.requests, fits.tokens, *_twice(fits.prefixes), *_twice(fits.prefix_tokens), None, None)
        for place, kv, fits in places
    ]
    rows += [
        (
            tier.tier,
            result.kv_stored,
            None if tier.capacity_bytes is None else round(tier.capacity_bytes),
            None,
            None,
            tier.prefixes_low,
            tier.prefixes_high,
            tier.tokens_low,
            tier.tokens_high,
            tier.adds_prefixes_low,
            tier.adds_prefixes_high,
        )
        for tier in result.tiers
    ]
    cells = tuple(tuple(Cell("" if each is None else str(each), each) for each in row) for row in rows)
    return Table("What fits", tuple(Column(key, key) for key in FLAT), cells)


def _twice(count: int) -> tuple[int, int]:
    return count, count


def account(result: Capacity) -> Table:
    """Bytes of one prefix; what comes to the same stands once."""
    found, kept = result.prefix, result.store_replicas
    columns = (Column("One prefix", "account"), Column("Bytes", "bytes", number=True))
    lines = [("logical: one copy", found.logical), ("resident on one rank, in blocks", found.resident_rank)]
    if found.resident_node != found.resident_rank:
        lines.append(("resident on all ranks", found.resident_node))
    if found.stored == found.stored_whole:
        lines.append((f"stored ({kept})", found.stored))
    else:
        lines.append((f"stored ({kept}), the least that resumes it", found.stored))
        lines.append(("stored, windows in full and all states that are kept", found.stored_whole))
    lines.append(("moved when every rank loads its part", found.moved))
    rows = tuple((Cell(text), Cell(units.both(size), size)) for text, size in lines)
    return Table(f"Bytes of a prefix of {units.count(result.prefix_tokens)} tokens", columns, rows)


def host(asks: tuple[HostAsk, ...]) -> Iterator[Table]:
    """What to write, and what comes of it."""
    if not asks:
        return
    columns = (
        Column("Option", "option"),
        Column("Ask for", "asked"),
        Column("Used", "used_bytes", number=True),
        Column("Prefixes", "prefixes", number=True),
        Column("What it means", "meaning"),
    )
    rows = tuple(
        (
            Cell(ask.option),
            Cell(f"{ask.asked} {ask.unit}"),
            Cell(units.both(ask.used_bytes), ask.used_bytes),
            Cell(span(ask.prefixes_low, ask.prefixes_high)),
            Cell(ask.meaning),
        )
        for ask in asks
    )
    yield Table("Host memory: what to ask for, and what is used", columns, rows)
