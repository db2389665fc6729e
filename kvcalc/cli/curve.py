"""`kvcalc curve`: the hit rate of a trace at every capacity, and the tiers on it."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.answers.options import Options
from kvcalc.cli import asked, outputs
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, optional
from kvcalc.cli.trace_options import (
    ArrivalOption,
    BlockSizeOption,
    HbmOption,
    NodeOption,
    PrefillOption,
    SharedPrefixOption,
    TimeUnitOption,
    TpOption,
    TraceArgument,
    TraceFormatOption,
    WeightsOption,
    progress,
    reading,
)
from kvcalc.errors import UserError
from kvcalc.profiles import catalog
from kvcalc.render import show


def curve(
    trace: TraceArgument,
    model: Annotated[
        str | None,
        typer.Option(help="Model profile: places the node's tiers on the curve", show_default="the curve alone"),
    ] = None,
    hardware: NodeOption = DEFAULT_NODE,
    tp: TpOption = None,
    weights: WeightsOption = None,
    prefill: PrefillOption = None,
    hbm: HbmOption = None,
    tier: Annotated[
        list[str] | None, typer.Option(help="TIER=SIZE for KV, of the node or added: nvme=30TB; repeatable")
    ] = None,
    trace_format: TraceFormatOption = None,
    time_unit: TimeUnitOption = None,
    block_size: BlockSizeOption = None,
    arrival: ArrivalOption = None,
    sample: Annotated[
        str, typer.Option(help="Share of the distinct blocks to keep, for traces beyond memory")
    ] = "100%",
    shared_prefix: SharedPrefixOption = None,
    touch: Annotated[
        Literal["tail-first", "head-first"],
        typer.Option(help="Which end of a prompt is evicted first: tail is as engines do"),
    ] = "tail-first",
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curve into this file: .svg, .png or .pdf", show_default="no plot")
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Describe a request trace, give its prefix-cache hit rate at every capacity, and place a node's tiers on it."""
    from kvcalc.answers import curve as question
    from kvcalc.answers.placement import Placing
    from kvcalc.plots import curve as plots
    from kvcalc.plots import figure as figures
    from kvcalc.tables import curve as tables

    outputs.check({"--output": output, "--plot": plot})
    wanted = reading(trace_format, time_unit, block_size, arrival, shared_prefix)
    wanted = replace(wanted, rate=_rate(sample))
    placing = None
    if model is not None:
        sizes = by_tier(tier or [], "--tier", "2TB", units.size)
        options = Options(tp=tp, weights=weights, prefill=None if prefill is None else asked.prefill(prefill))
        pool = optional("--hbm", hbm, units.size)
        placing = Placing(catalog.model(model), catalog.machine(hardware), options, pool, sizes)
    elif hbm or tier:
        raise UserError("--hbm and --tier are sizes in bytes; add --model to make tokens of them")
    with progress(trace) as tell:
        read = partial(tell, "reading") if tell else None
        found = question.load(trace, wanted, read)
        answer = question.of(found, str(trace), placing, touch == "tail-first")
    drawn = {}
    if plot:
        dense = question.of(found, str(trace), placing, touch == "tail-first", plots.STEPS)
        drawn[plot] = figures.drawn(partial(plots.draw, dense), plot)
    show.show([answer], tables.page(answer), form, output, drawn)


def _rate(text: str) -> float:
    rate = units.percent(text)
    if not 0 < rate <= 1:
        raise UserError(f"--sample: {text!r} is not above 0 % and at most 100 %")
    return rate
