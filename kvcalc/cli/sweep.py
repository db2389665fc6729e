"""`kvcalc sweep`: the verdict at every point of a grid."""

from functools import partial
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.answers.axes import Axes
from kvcalc.answers.options import Options, WayName
from kvcalc.cli import asked, outputs, spans
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, latency
from kvcalc.cli.progress import Progress
from kvcalc.errors import UserError, shown
from kvcalc.profiles import places
from kvcalc.profiles.hardware import Node

List = list[str] | None
SWEEP = "a list 1,2,4,8 or a range, by doubling 1k..1M or in so many steps 1k..1M:25"


def sweep(
    model: Annotated[list[str], typer.Option(help="Model profiles: names or YAML files, as a list; repeatable")],
    seq: Annotated[List, typer.Option(help=f"Prefix lengths in tokens: {SWEEP}", show_default="20000")] = None,
    hardware: Annotated[
        List, typer.Option(help="Node profiles, as a list, or 'all'; repeatable", show_default=DEFAULT_NODE)
    ] = None,
    tier: asked.TierOption = None,
    kv_dtype: Annotated[List, typer.Option(help="KV element formats: fp8,bf16", show_default="fp8")] = None,
    weights: asked.WeightsOption = None,
    tp: Annotated[
        List, typer.Option(help="Tensor-parallel degrees: 1,2,4,8", show_default="all GPUs of the node")
    ] = None,
    engine: asked.EngineOption = "ideal",
    prefill: Annotated[
        List,
        typer.Option(
            help="Recompute time by: tokens/s, also as a range; profile, model, textbook",
            show_default="the profile's, else the model",
        ),
    ] = None,
    bandwidth: Annotated[
        List,
        typer.Option(
            help="TIER=RATES of one link, one direction: dram=1GB/s..512GB/s; without TIER of all tiers; "
            "repeatable. Where one tier has several rates, only the tiers named here are shown, unless --tier or "
            "'all=' names more"
        ),
    ] = None,
    latency_: Annotated[
        List, typer.Option("--latency", help="TIER=TIME once a fetch: nvme=100us; TIER may be 'all'; repeatable")
    ] = None,
    links: Annotated[List, typer.Option(help="Links used at once: 1,2,4,8 or all", show_default="one, and all")] = None,
    layout: asked.LayoutOption = None,
    page: Annotated[
        List, typer.Option("--block", "--page", help="Tokens of a page: 16,32,64", show_default="the engine's")
    ] = None,
    concurrency: Annotated[
        List, typer.Option(help="Restores that begin together on the node: 1,2,4,8", show_default="1")
    ] = None,
    new: Annotated[
        List,
        typer.Option(help="Tokens that follow the prefix and are computed anyway: 0,1k,2k", show_default="0"),
    ] = None,
    min_margin: asked.MinMarginOption = 3.0,
    plot: asked.PlotOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Say at every point of a grid whether fetching beats recomputing: any option as a list or a range."""
    from kvcalc.answers import sweep as question
    from kvcalc.plots import figure as figures
    from kvcalc.plots import sweep as plots
    from kvcalc.render import show
    from kvcalc.tables import sweep as tables

    outputs.check({"--output": output, "--plot": plot})
    swept, fixed, rates = _bandwidth(bandwidth or [])
    axes = Axes(
        model=spans.words("--model", model),
        hardware=_nodes(hardware or [DEFAULT_NODE]),
        tokens=spans.numbers("--seq", seq or ["20000"], units.tokens),
        tp=_counts("--tp", tp),
        kv_dtype=spans.words("--kv-dtype", kv_dtype or ["fp8"]),
        prefill=_prefill(prefill),
        page=_counts("--block", page),
        links=_links(links),
        concurrency=spans.numbers("--concurrency", concurrency or ["1"], spans.count),
        new=spans.numbers("--new", new or ["0"], partial(units.tokens, least=0)),
        bandwidth=rates,
        bandwidth_tier=swept,
    )
    options = Options(
        weights=weights,
        engine=engine,
        tiers=tuple(tier or _tiers(swept, fixed)),
        bandwidth=fixed,
        latency=by_tier(latency_ or [], "--latency", "100us", latency),
        layout=layout,
        min_margin=min_margin,
    )
    progress = Progress("combinations")
    try:
        result = question.sweep(axes, options, progress)
    finally:
        progress.wipe()
    drawn = {plot: figures.drawn(partial(plots.draw, result), plot)} if plot else {}
    for each in result.left_out:
        typer.echo(f"kvcalc: left out {each.combination}: {each.why}", err=True)
    show.show([result], tables.page(result), form, output, drawn)


def _nodes(given: list[str]) -> tuple[str, ...]:
    named = spans.words("--hardware", given)
    every = places.names(Node) if "all" in named else []
    return tuple(dict.fromkeys([*(node for node in named if node != "all"), *every]))


def _counts(option: str, given: list[str] | None) -> tuple[int | None, ...]:
    return spans.numbers(option, given, spans.count) if given else (None,)


def _links(given: list[str] | None) -> tuple[int | Literal["all"] | None, ...]:
    """Words and numbers; a range is of numbers."""
    if not given:
        return (None,)
    found: list[int | Literal["all"]] = []
    for part in spans.words("--links", given):
        found += ["all"] if part == "all" else spans.numbers("--links", [part], spans.count)
    return tuple(dict.fromkeys(found))


def _prefill(given: list[str] | None) -> tuple[WayName | float | None, ...]:
    """Words and rates; a range is of rates."""
    if not given:
        return (None,)
    found: list[WayName | float] = []
    for part in spans.words("--prefill", given):
        found += [asked.prefill(part)] if ".." not in part else spans.numbers("--prefill", [part], units.token_rate)
    return tuple(dict.fromkeys(found))


def _tiers(swept: str, fixed: dict[str, float]) -> tuple[str, ...]:
    """The tiers shown where none is asked for: those with rates, if one is swept; an empty tuple is the node's."""
    return () if swept == "all" or "all" in fixed else (swept, *fixed)


def _bandwidth(given: list[str]) -> tuple[str, dict[str, float], tuple[float, ...]]:
    """The tier whose bandwidth is swept with its rates, and the bandwidths of the others."""
    swept: dict[str, tuple[float, ...]] = {}
    for text in given:
        tier, separator, values = text.partition("=")
        if separator and not (tier.strip() and values.strip()):
            lacks = "rate after" if tier.strip() else "tier before"
            raise UserError(
                f"--bandwidth: {shown(text)} has no {lacks} '='; write one like 'dram=5GB/s' or 'all=5GB/s'"
            )
        name = tier.strip() if separator else "all"
        if name in swept:
            raise UserError(f"--bandwidth: tier {shown(name)} is given twice")
        swept[name] = spans.numbers("--bandwidth", [values if separator else text], units.rate)
    several = [name for name, rates in swept.items() if len(rates) > 1]
    if len(several) > 1:
        raise UserError(
            f"--bandwidth: {' and '.join(several)} have several rates each; sweep one tier, or all alike with 'all='"
        )
    chosen = several[0] if several else "all"
    fixed = {name: rates[0] for name, rates in swept.items() if name not in several}
    return chosen, fixed, swept.get(chosen, ()) if several else ()
