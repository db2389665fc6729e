"""The answer to `capacity` as tables: here its numbers get their units."""

from kvcalc import units
from kvcalc.answers.capacity_result import Capacity, SegmentSize
from kvcalc.tables import capacity_places as places
from kvcalc.tables import cited
from kvcalc.tables.page import Cell, Column, Lines, Page, Table


def page(result: Capacity) -> Page:
    """The budget of one GPU, the blocks, what fits in each place, and what rests on what."""
    runs = not result.hbm.short_bytes
    blocks: list[Table | Lines] = [
        _budget(result),
        _blocks(result),
        *([places.table(result)] if runs else []),
        places.account(result),
        *places.host(result.host),
        *([Lines("Warnings", result.warnings)] if result.warnings else []),
        *cited.every(result.assumptions),
    ]
    parallel = f"TP {result.tp}" + "".join(
        f" x {name} {count}" for name, count in (("PP", result.pp), ("DP", result.dp)) if count > 1
    )
    title = f"{result.model_title} on {result.hardware}, {parallel}, {result.kv_stored} KV: what fits where?"
    return Page(title, _summary(result), tuple(blocks), lambda: places.flat(result))


def _summary(result: Capacity) -> str:
    """HBM, what FP8 would give, and what each tier adds."""
    if result.hbm.short_bytes:
        nothing = "; ".join((result.warnings[0], *result.remedies))
        return f"{nothing[0].upper()}{nothing[1:]}."
    fits = result.fits
    one = "" if result.dp == 1 else f"One of {result.dp} replicas: "
    requests = f"{fits.requests:,.2f} requests of {units.count(result.max_model_len)}"
    at_rest = f"{_prefixes(fits.prefixes)} of {units.count(result.prefix_tokens)} at rest"
    said = [f"{one}HBM holds {units.count(fits.tokens)} tokens of running requests ({requests}) or {at_rest}"]
    said += [
        f"First of all, {each.kv_dtype} KV would hold {units.times(each.gain)} as many prefixes "
        f"({units.count(each.fits.prefixes)})"
        for each in result.instead
        if each.gain > 1
    ]
    added = [
        f"{tier.tier} adds {places.span(tier.adds_prefixes_low, tier.adds_prefixes_high)}"
        for tier in result.tiers
        if tier.adds_prefixes_high
    ]
    said += [f"{', '.join(added)} prefixes"] if added else []
    if result.dp > 1:
        total = f"{units.count(fits.tokens * result.dp)} tokens or {_prefixes(fits.prefixes * result.dp)}"
        said.append(f"HBM of all {result.dp} replicas holds {total}")
    return ". ".join(said) + "."


def _prefixes(count: int) -> str:
    return units.counted(count, "prefix", "prefixes")


def _budget(result: Capacity) -> Table:
    """Lines that add up: from the device down to the pool, then what is taken after it."""
    hbm = result.hbm
    share = 100 * (1 - hbm.utilization)
    beside = hbm.share == "of-device-with-activations-beside"
    activations = ("activations at their peak", -hbm.activation_bytes)
    withheld = (
        f"not the pool's, {share:g} % of {'what is free' if hbm.free_bytes else 'the device'}",
        -hbm.withheld_bytes,
    )
    free = [("free before the pool", hbm.free_bytes)] if hbm.free_bytes is not None else []
    lines = [
        ("device memory", hbm.device_bytes),
        ("left aside, --reserve", -hbm.reserved_bytes),
        *([] if free else [withheld]),
        (f"weights, {'as given' if hbm.weights_given else result.weights}", -hbm.weights_bytes),
        *([] if beside else [activations]),
        ("context and libraries", -hbm.non_torch_bytes),
        *([*free, withheld] if free else []),
    ]
    after = [("activations, out of what the pool leaves", -hbm.activation_bytes)] if beside else []
    after += [("CUDA graphs, taken after the pool", -hbm.graphs_bytes)]
    pool = ("KV pool", hbm.pool_bytes) if not hbm.short_bytes else ("lacking: there is no KV pool", -hbm.short_bytes)
    columns = (Column("One GPU", "line"), Column("Bytes", "bytes", number=True), Column("GiB", "gib", number=True))
    rows = [_line(text, size) for text, size in lines if size]
    rows += [_line(*pool), *(_line(text, size) for text, size in after if size)]
    return Table("HBM of one GPU", columns, tuple(rows))


def _line(text: str, size: float) -> tuple[Cell, ...]:
    sign = "-" if size < 0 else ""
    gib = f"{sign}{units.gib(abs(size)):.2f}"
    return Cell(text), Cell(f"{sign}{units.short(abs(size), 'B')}", size), Cell(gib, units.gib(size))


def _layers(each: SegmentSize) -> str:
    own = each.layers - each.draft_layers
    drafts = f" + {each.draft_layers} draft" if each.draft_layers else ""
    index = f", index keys of {each.index_layers}" if each.index_layers else ""
    return f"{own} {each.kind}{drafts}{index}"


def _blocks(result: Capacity) -> Table:
    columns = (
        Column("Layers", "kind"),
        Column("Tables", "tables", number=True),
        Column("Padding layers", "padding_layers", number=True),
        Column("Tokens a block", "block_tokens", number=True),
        Column("Bytes a block", "block_bytes", number=True),
        Column("Blocks of a prefix", "blocks", number=True),
    )
    rows = tuple(
        (
            Cell(_layers(each)),
            Cell(str(each.tables), each.tables),
            Cell(str(each.padding_layers), each.padding_layers),
            Cell(units.count(each.block_tokens) if each.block_tokens else "all", each.block_tokens),
            Cell(units.count(each.block_bytes), each.block_bytes),
            Cell(units.count(each.blocks), each.blocks),
        )
        for each in result.segments
    )
    return Table(f"Blocks on one rank, engine {result.engine}", columns, rows)
