"""The answer to `capacity` as tables: here its numbers get their units."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.capacity_result import Capacity, HostAsk, TierSize
from kvcalc.tables import cited
from kvcalc.tables.page import Cell, Column, Lines, Page, Table


def page(result: Capacity) -> Page:
    """The budget of one GPU, the blocks, what fits in each place, and what rests on what."""
    main = _places(result)
    blocks: list[Table | Lines] = [
        _budget(result),
        _blocks(result),
        main,
        _account(result),
        *_host(result.host),
        *([Lines("Warnings", result.warnings)] if result.warnings else []),
        *cited.every(result.assumptions),
    ]
    parallel = f"TP {result.tp}" + "".join(
        f" x {name} {count}" for name, count in (("PP", result.pp), ("DP", result.dp)) if count > 1
    )
    title = f"{result.model_title} on {result.hardware}, {parallel}, {result.kv_stored} KV: what fits where?"
    return Page(title, _summary(result), tuple(blocks), lambda: main)


def _summary(result: Capacity) -> str:
    """HBM, what FP8 would give, and what each tier adds."""
    if result.hbm.short_bytes:
        return f"The weights leave nothing for KV cache: {units.both(result.hbm.short_bytes)} are lacking on each GPU."
    fits = result.fits
    requests = f"{fits.requests:,.2f} requests of {units.count(result.max_model_len)}"
    prefixes = f"{units.count(fits.prefixes)} prefixes of {units.count(result.prefix_tokens)}"
    said = [f"HBM holds {units.count(fits.tokens)} tokens: {requests} or {prefixes}"]
    said += [f"First of all, {each.kv_dtype} KV would hold {units.times(each.gain)} as many" for each in result.instead]
    added = [f"{tier.tier} adds {units.count(tier.adds_prefixes)}" for tier in result.tiers if tier.adds_prefixes]
    return ". ".join([*said, *([", ".join(added)] if added else [])]) + "."


def _budget(result: Capacity) -> Table:
    hbm = result.hbm
    lines = [
        ("device memory", hbm.device_bytes, "device_bytes"),
        ("left aside", -hbm.reserved_bytes, "reserved_bytes"),
        (f"may be used, {100 * hbm.utilization:g} %", hbm.requested_bytes, "requested_bytes"),
        (f"weights, {'as given' if hbm.weights_given else result.weights}", -hbm.weights_bytes, "weights_bytes"),
        ("activations at their peak", -hbm.activation_bytes, "activation_bytes"),
        ("context and libraries", -hbm.non_torch_bytes, "non_torch_bytes"),
        ("KV pool", hbm.pool_bytes - hbm.short_bytes, "pool_bytes"),
        ("CUDA graphs, taken after the pool", -hbm.graphs_bytes, "graphs_bytes"),
    ]
    columns = (Column("One GPU", "line"), Column("Bytes", "bytes", number=True), Column("GiB", "gib", number=True))
    rows = tuple(_line(text, size) for text, size, _ in lines if size)
    return Table("HBM of one GPU", columns, rows)


def _line(text: str, size: float) -> tuple[Cell, ...]:
    sign = "-" if size < 0 else ""
    gib = f"{sign}{units.gib(abs(size)):.2f}"
    return Cell(text), Cell(f"{sign}{units.short(abs(size), 'B')}", size), Cell(gib, units.gib(size))


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
            Cell(f"{each.layers} {each.kind}"),
            Cell(str(each.tables), each.tables),
            Cell(str(each.padding_layers), each.padding_layers),
            Cell(units.count(each.block_tokens) if each.block_tokens else "all", each.block_tokens),
            Cell(units.count(each.block_bytes), each.block_bytes),
            Cell(units.count(each.blocks), each.blocks),
        )
        for each in result.segments
    )
    return Table(f"Blocks on one rank, engine {result.engine}", columns, rows)


def _places(result: Capacity) -> Table:
    columns = (
        Column("Place", "place"),
        Column("KV format", "kv_stored"),
        Column("Size", "size_bytes", number=True),
        Column("Tokens", "tokens", number=True),
        Column(f"Requests of {units.count(result.max_model_len)}", "requests", number=True),
        Column(f"Prefixes of {units.count(result.prefix_tokens)}", "prefixes", number=True),
        Column("Adds", "adds_prefixes", number=True),
    )
    pool = result.hbm.pool_bytes
    rows = [_pool("HBM, each rank", result.kv_stored, pool, result.fits)]
    rows += [_pool(f"HBM, {each.kv_dtype} instead", each.kv_stored, pool, each.fits) for each in result.instead]
    rows += [_tier(tier, result) for tier in result.tiers]
    replicas = "" if result.dp == 1 else f", for one of {result.dp} replicas"
    return Table(f"What fits{replicas}", columns, tuple(rows))


def _pool(place: str, stored: str, size: float, fits: object) -> tuple[Cell, ...]:
    tokens, requests, prefixes = (getattr(fits, name) for name in ("tokens", "requests", "prefixes"))
    return (
        Cell(place),
        Cell(stored),
        Cell(units.both(size), size),
        Cell(units.count(tokens), tokens),
        Cell(f"{requests:,.2f}", requests),
        Cell(units.count(prefixes), prefixes),
        Cell("-"),
    )


def _tier(tier: TierSize, result: Capacity) -> tuple[Cell, ...]:
    if tier.capacity_bytes is None or tier.prefixes is None:
        return Cell(tier.tier), Cell(result.kv_stored), Cell("not known"), *(Cell("-") for _ in range(4))
    most = tier.prefixes_most or 0
    prefixes = units.count(tier.prefixes) + (f" to {units.count(most)}" if most != tier.prefixes else "")
    return (
        Cell(tier.tier),
        Cell(result.kv_stored),
        Cell(units.both(tier.capacity_bytes), tier.capacity_bytes),
        Cell(units.count(tier.tokens or 0), tier.tokens),
        Cell("-"),
        Cell(prefixes, tier.prefixes),
        Cell(units.count(tier.adds_prefixes or 0), tier.adds_prefixes),
    )


def _account(result: Capacity) -> Table:
    account = result.prefix
    columns = (Column("One prefix", "account"), Column("Bytes", "bytes", number=True))
    lines = (
        ("logical: one copy", account.logical),
        ("resident on one rank, in blocks", account.resident_rank),
        ("resident on all ranks", account.resident_node),
        (f"stored ({result.store_replicas}), the least that resumes it", account.stored),
        ("stored, windows in full and a state a block", account.stored_whole),
        ("moved when every rank loads its part", account.moved),
    )
    rows = tuple((Cell(text), Cell(units.both(size), size)) for text, size in lines)
    return Table(f"Bytes of a prefix of {units.count(result.prefix_tokens)} tokens", columns, rows)


def _host(asks: tuple[HostAsk, ...]) -> Iterator[Table]:
    if not asks:
        return
    columns = (
        Column("Option", "option"),
        Column("Ask for", "asked"),
        Column("Used", "used_bytes", number=True),
        Column("Asking for all would take", "whole_takes_bytes", number=True),
        Column("What it means", "meaning"),
    )
    rows = tuple(
        (
            Cell(ask.option),
            Cell(ask.asked),
            Cell(units.both(ask.used_bytes), ask.used_bytes),
            Cell(units.both(ask.whole_takes_bytes), ask.whole_takes_bytes),
            Cell(ask.meaning),
        )
        for ask in asks
    )
    yield Table("Host memory: what to ask for, and what is used", columns, rows)
