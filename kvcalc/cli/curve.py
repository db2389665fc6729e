"""`kvcalc curve`: the hit rate of a trace at every capacity, and the tiers on it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.answers.options import Options
from kvcalc.cli import asked, outputs
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, optional
from kvcalc.cli.trace_options import (
    ArrivalOption,
    BlockSizeOption,
    HbmOption,
    PrefillOption,
    SharedPrefixOption,
    TimeUnitOption,
    TpOption,
    TraceArgument,
    TraceFormatOption,
    WeightsOption,
    progress,
    reading,
    tiers,
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
    hardware: Annotated[
        str | None, typer.Option(help="Node profile: a name or a YAML file", show_default=DEFAULT_NODE)
    ] = None,
    tp: TpOption = None,
    weights: WeightsOption = None,
    prefill: PrefillOption = None,
    hbm: HbmOption = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="Size of a tier of the node, or added: nvme=30TB; named without one (dram): only those; repeatable",
            show_default="all of the node whose size is known",
        ),
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
        names, sizes = tiers(tier or [])
        only = names if len(sizes) < len(names) else None
        options = Options(tp=tp, weights=weights, prefill=None if prefill is None else asked.prefill(prefill))
        pool, machine = optional("--hbm", hbm, units.size), catalog.machine(hardware or DEFAULT_NODE)
        placing = Placing(catalog.model(model), machine, options, pool, sizes, only)
    else:
        _useless({"hardware": hardware, "tp": tp, "weights": weights, "prefill": prefill, "hbm": hbm, "tier": tier})
    with progress(trace) as tell:
        read = partial(tell, "reading") if tell else None
        found = question.load(trace, wanted, read)
        answer = question.of(found, str(trace), placing, touch == "tail-first")
    drawn = {}
    if plot:
        dense = question.of(found, str(trace), placing, touch == "tail-first", plots.STEPS)
        drawn[plot] = figures.drawn(partial(plots.draw, dense), plot)
    show.show([answer], tables.page(answer), form, output, drawn)


def _useless(given: Mapping[str, object]) -> None:
    """Refuse what only a model has a use for."""
    found = [f"--{name}" for name, value in given.items() if value]
    if found:
        raise UserError(f"{', '.join(found)}: of no use without a model, whose KV makes bytes of tokens; add --model")


def _rate(text: str) -> float:
    rate = units.percent(text)
    if not 0 < rate <= 1:
        raise UserError(f"--sample: {text!r} is not above 0 % and at most 100 %")
    return rate
