"""`kvcalc crossover`: the lengths and bandwidths at which the verdict turns."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kvcalc import units
from kvcalc.answers.options import Options
from kvcalc.cli import asked, outputs, spans
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, latency, read
from kvcalc.physics import formats

LENGTHS = "1k,2k,5k,10k,20k,50k,100k,200k,500k,1M"


def crossover(
    model: asked.ModelOption,
    seq: Annotated[
        list[str] | None,
        typer.Option(
            help="Prefix lengths in tokens, as a list or a range, for break-even bandwidths", show_default=LENGTHS
        ),
    ] = None,
    hardware: Annotated[str, typer.Option(help="Node profile: a name or a YAML file")] = DEFAULT_NODE,
    against: Annotated[
        str | None, typer.Option(help="Another node, or another KV format, to stand beside", show_default="none")
    ] = None,
    tier: asked.TierOption = None,
    kv_dtype: Annotated[str, typer.Option(help=f"KV element format: {', '.join(formats.NAMES)}")] = "fp8",
    weights: asked.WeightsOption = None,
    tp: Annotated[
        int | None, typer.Option(min=1, help="Tensor-parallel degree", show_default="all GPUs of the node")
    ] = None,
    engine: asked.EngineOption = "ideal",
    prefill: Annotated[
        str | None,
        typer.Option(
            help="Recompute time by: tokens/s, profile, model or textbook", show_default="the profile's, else the model"
        ),
    ] = None,
    bandwidth: Annotated[
        list[str] | None, typer.Option(help="TIER=RATE of one link, one direction: dram=50GB/s; repeatable")
    ] = None,
    latency_: Annotated[
        list[str] | None,
        typer.Option("--latency", help="TIER=TIME once a fetch: nvme=100us; TIER may be 'all'; repeatable"),
    ] = None,
    links: Annotated[
        str | None, typer.Option(help="Links used at once: a number or 'all'", show_default="one, and all")
    ] = None,
    layout: asked.LayoutOption = None,
    page: Annotated[
        int | None, typer.Option("--page", "--block", min=1, help="Tokens of a page", show_default="the engine's")
    ] = None,
    new: asked.NewOption = "0",
    min_margin: asked.MinMarginOption = 3.0,
    plot: asked.PlotOption = None,
    plot_map: Annotated[
        Path | None,
        typer.Option("--map", help="Draw verdicts over length and bandwidth into this file", show_default="no map"),
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Say from which prefix length and which bandwidth on fetching beats recomputing, path by path."""
    from kvcalc.answers import crossover as question
    from kvcalc.plots import bandwidths, lines
    from kvcalc.plots import crossover as plots
    from kvcalc.plots import figure as figures
    from kvcalc.render import show
    from kvcalc.tables import crossover as tables

    outputs.check({"--output": output, "--plot": plot, "--map": plot_map})
    options = Options(
        kv_dtype=kv_dtype,
        weights=weights,
        tp=tp,
        engine=engine,
        prefill=None if prefill is None else asked.prefill(prefill),
        tiers=tuple(tier or ()),
        bandwidth=by_tier(bandwidth or [], "--bandwidth", "50GB/s", units.rate),
        latency=by_tier(latency_ or [], "--latency", "100us", latency),
        links=None if links is None else asked.links(links),
        layout=layout,
        page=page,
        new=read("--new", new, partial(units.tokens, least=0)),
        min_margin=min_margin,
    )
    lengths = spans.numbers("--seq", seq or [LENGTHS], units.tokens)
    ask = partial(question.side_by_side, model, hardware, against, options=options)
    results = ask(lengths)
    drawn: dict[Path, bytes] = {}
    if plot or plot_map:
        dense = ask(lines.lengths(min(lengths), max(lengths)), variants=False)
        for path, draw in ((plot, plots.times), (plot_map, bandwidths.verdicts)):
            if path:
                drawn[path] = figures.drawn(partial(draw, dense), path)
    show.show(results, tables.page(results), form, output, drawn)
