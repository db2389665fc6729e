"""`kvcalc route`: several replicas, by routing or with a shared store."""

from functools import partial
from typing import Annotated

import typer

from kvcalc import units
from kvcalc.answers.options import Options
from kvcalc.cli import asked
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, read
from kvcalc.cli.trace_options import (
    ArrivalOption,
    BlockSizeOption,
    FetchIfOption,
    HbmOption,
    NodeOption,
    PrefetchOption,
    PrefillOption,
    SeedOption,
    SharedPrefixOption,
    SpacingOption,
    SpeedOption,
    TimeUnitOption,
    TpOption,
    TraceArgument,
    TraceFormatOption,
    WeightsOption,
    least_margin,
    progress,
    reading,
    tiers,
)
from kvcalc.errors import UserError
from kvcalc.physics import formats
from kvcalc.profiles import catalog
from kvcalc.render import show


def route(
    trace: TraceArgument,
    model: Annotated[str, typer.Option(help="Model profile: a name, a Hugging Face name, or a YAML file")],
    replicas: Annotated[int, typer.Option(min=2, help="Equal replicas, each with its own HBM and tiers")],
    hardware: NodeOption = DEFAULT_NODE,
    tp: TpOption = None,
    kv_dtype: Annotated[str, typer.Option(help=f"KV element format: {', '.join(formats.NAMES)}")] = "fp8",
    weights: WeightsOption = None,
    prefill: PrefillOption = None,
    hbm: HbmOption = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="Tier of each replica below HBM, with its size if given: dram, nvme=30TB; repeatable",
            show_default="none",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Tier whose links lead to the shared store, with its size: infiniband=50TB",
            show_default="the node's quickest, without limit",
        ),
    ] = None,
    bandwidth: Annotated[
        list[str] | None, typer.Option(help="TIER=RATE of one link, reading: ethernet=3GB/s; repeatable")
    ] = None,
    load_cap: Annotated[
        float | None,
        typer.Option(
            help="Outstanding tokens over the mean above which a replica gets no more; N or more never binds on N",
            show_default="2, or (N+1)/2 on N replicas if that is less",
        ),
    ] = None,
    hash_tokens: Annotated[
        str, typer.Option(help="First tokens of a prompt that consistent hashing looks at")
    ] = "1024",
    prefetch: PrefetchOption = "admission",
    fetch_if: FetchIfOption = "always",
    speed: SpeedOption = 1.0,
    spacing: SpacingOption = "recorded",
    seed: SeedOption = 0,
    trace_format: TraceFormatOption = None,
    time_unit: TimeUnitOption = None,
    block_size: BlockSizeOption = None,
    arrival: ArrivalOption = None,
    shared_prefix: SharedPrefixOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Replay a request trace on several replicas: by round robin, load, prefix or hash, and with a shared store."""
    from kvcalc.answers import route as question
    from kvcalc.answers.placement import Placing
    from kvcalc.answers.playing import Playing
    from kvcalc.simulate.arrivals import Pace
    from kvcalc.simulate.service import Rules
    from kvcalc.tables import route as tables

    names, sizes = tiers(tier or [])
    options = Options(
        tp=tp,
        weights=weights,
        prefill=None if prefill is None else asked.prefill(prefill),
        bandwidth=by_tier(bandwidth or [], "--bandwidth", "50GB/s", units.rate),
    )
    pool = units.size(hbm) if hbm else None
    machine = catalog.machine(hardware)
    placing = Placing(catalog.model(model), machine, options, pool, sizes, names, (kv_dtype,))
    playing = Playing(
        Rules(prefetch=prefetch == "admission", least_margin=least_margin(fetch_if)),
        Pace(spacing, speed, seed),
        replicas,
    )
    stores, store_sizes = tiers([store] if store else [], "--store")
    if set(stores) & set(names):
        raise UserError(f"--store: {stores[0]!r} is a tier of each replica already")
    sharing = question.Sharing(
        load_cap,
        read("--hash-tokens", hash_tokens, partial(units.tokens, least=1)),
        stores[0] if stores else None,
        store_sizes.get(stores[0]) if stores else None,
    )
    wanted = reading(trace_format, time_unit, block_size, arrival, shared_prefix)
    with progress(trace) as tell:
        answer = question.route(trace, placing, playing, sharing, wanted, tell)
    show.show([answer], tables.page(answer), form, output)
