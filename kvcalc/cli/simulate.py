"""`kvcalc simulate`: a trace against a node's tiers, with time."""

from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.answers.options import Options
from kvcalc.cli import asked
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier
from kvcalc.cli.options import latency as read_latency
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
from kvcalc.physics import formats
from kvcalc.profiles import catalog
from kvcalc.profiles.hardware import EngineName
from kvcalc.render import show


def simulate(
    trace: TraceArgument,
    model: Annotated[str, typer.Option(help="Model profile: a name, a Hugging Face name, or a YAML file")],
    hardware: NodeOption = DEFAULT_NODE,
    tp: TpOption = None,
    kv_dtype: Annotated[str, typer.Option(help=f"KV element format: {', '.join(formats.NAMES)}")] = "fp8",
    weights: WeightsOption = None,
    engine: Annotated[EngineName, typer.Option(help="Whose layout and fixed costs; ideal: none")] = "ideal",
    prefill: PrefillOption = None,
    hbm: HbmOption = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this tier below HBM, with its size if given: dram, nvme=30TB; repeatable",
            show_default="all of the node whose size is known",
        ),
    ] = None,
    bandwidth: Annotated[
        list[str] | None, typer.Option(help="TIER=RATE of one link, reading: dram=50GB/s; repeatable")
    ] = None,
    latency: Annotated[list[str] | None, typer.Option(help="TIER=TIME once a fetch: nvme=100us; repeatable")] = None,
    policy: Annotated[Literal["lru", "fifo"], typer.Option(help="Which block is evicted next")] = "lru",
    admission: Annotated[
        Literal["always", "second-use"], typer.Option(help="Which blocks are worth a place below HBM")
    ] = "always",
    hierarchy: Annotated[
        Literal["exclusive", "inclusive"], typer.Option(help="Do lower tiers keep what is above them?")
    ] = "exclusive",
    prefetch: PrefetchOption = "admission",
    fetch_if: FetchIfOption = "always",
    replicas: Annotated[int, typer.Option(min=1, help="Equal replicas, each with its tiers, served in turn")] = 1,
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
    """Replay a request trace with time, with a node's tiers and without, and say what they do for it."""
    from kvcalc.answers import simulate as question
    from kvcalc.answers.placement import Placing
    from kvcalc.answers.playing import Playing
    from kvcalc.simulate.arrivals import Pace
    from kvcalc.simulate.service import Rules
    from kvcalc.tables import simulate as tables

    names, sizes = tiers(tier or [])
    options = Options(
        tp=tp,
        weights=weights,
        engine=engine,
        prefill=None if prefill is None else asked.prefill(prefill),
        bandwidth=by_tier(bandwidth or [], "--bandwidth", "50GB/s", units.rate),
        latency=by_tier(latency or [], "--latency", "100us", read_latency),
    )
    placing = Placing(
        catalog.model(model),
        catalog.machine(hardware),
        options,
        units.size(hbm) if hbm else None,
        sizes,
        names or None,
        (kv_dtype,),
    )
    rules = Rules(policy, admission, hierarchy == "inclusive", prefetch == "admission", least_margin(fetch_if))
    playing = Playing(rules, Pace(spacing, speed, seed), replicas)
    wanted = reading(trace_format, time_unit, block_size, arrival, shared_prefix)
    with progress(trace) as tell:
        answer = question.simulate(trace, placing, playing, wanted, tell)
    show.show([answer], tables.page(answer), form, output)
