"""`kvcalc margin`: the main job."""

from functools import partial
from typing import Annotated, Literal

import typer

from kvcalc import amounts, units
from kvcalc.answers import margin as answers
from kvcalc.answers.margin_result import Margin, verdicts
from kvcalc.answers.options import Options, Use
from kvcalc.cli import asked
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, read
from kvcalc.cli.options import latency as read_latency
from kvcalc.errors import UserError
from kvcalc.physics.crossover import BEST_FIRST
from kvcalc.profiles import catalog, places
from kvcalc.profiles.hardware import Node
from kvcalc.profiles.model import Model
from kvcalc.render import show
from kvcalc.tables import margin as tables


def margin(
    model: asked.ModelOption,
    seq: asked.SeqOption = "20000",
    hardware: Annotated[
        list[str] | None,
        typer.Option(help="Node profile: a name, a YAML file, or 'all'; repeatable", show_default=DEFAULT_NODE),
    ] = None,
    tier: asked.TierOption = None,
    kv_dtype: asked.KvDtypeOption = "fp8",
    weights: asked.WeightsOption = None,
    tp: asked.TpOption = None,
    engine: asked.EngineOption = "ideal",
    prefill: asked.PrefillOption = None,
    bandwidth: asked.BandwidthOption = None,
    latency: asked.LatencyOption = None,
    links: asked.LinksOption = None,
    layout: asked.LayoutOption = None,
    page: asked.PageOption = None,
    new: asked.NewOption = "0",
    min_margin: asked.MinMarginOption = 3.0,
    use: Annotated[
        Use, typer.Option(help="What offloading is for: prefix cache, preemption, decoding from it, sharing")
    ] = "prefix",
    batch: Annotated[
        int | None, typer.Option(min=1, help="Sequences that decode together, for --use active", show_default="1")
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(min=2, help="Replicas that share one copy, for --use shared", show_default="2")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Restores that begin together on the node")] = None,
    rate: asked.RateOption = None,
    hit_rate: asked.HitRateOption = None,
    fail_if: Annotated[
        Literal["recompute", "marginal"] | None, typer.Option(help="Exit 3 if any verdict is this or worse")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the arithmetic, line by line")] = False,
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Say, tier by tier, whether fetching the KV cache of a prefix beats recomputing it.

    Its defaults are an ideal engine and FP8 KV, the best that each path can do; those of `capacity` are vLLM and the
    checkpoint's KV format.
    """
    options = Options(
        kv_dtype=kv_dtype,
        weights=weights,
        tp=tp,
        engine=engine,
        prefill=None if prefill is None else asked.prefill(prefill),
        tiers=tuple(tier or ()),
        bandwidth=by_tier(bandwidth or [], "--bandwidth", "50GB/s", units.rate),
        latency=by_tier(latency or [], "--latency", "100us", read_latency),
        links=None if links is None else asked.links(links),
        layout=layout,
        page=page,
        new=read("--new", new, partial(units.tokens, least=0)),
        min_margin=min_margin,
        use=use,
        batch=batch,
        replicas=replicas,
        concurrency=concurrency,
        rate=None if rate is None else read("--rate", rate, amounts.frequency),
        hit_rate=None if hit_rate is None else read("--hit-rate", hit_rate, amounts.share),
    )
    if fail_if is not None and use == "active":
        raise UserError("--fail-if: decoding from a tier has no verdict; take --use prefix, preempt or shared")
    tokens = read("--seq", seq, units.tokens)
    found = catalog.model(model)
    results = _results(found, hardware or [DEFAULT_NODE], tokens, options)
    show.show(results, tables.page(results, explain), form, output)
    return _code(results, fail_if)


def _results(model: Model, hardware: list[str], tokens: int, options: Options) -> list[Margin]:
    """The answers. Of 'all' nodes, those that can't answer are named on stderr; a node that is named must answer."""
    named = [node for node in dict.fromkeys(hardware) if node != "all"]
    nodes = list(dict.fromkeys([*named, *(places.names(Node) if "all" in hardware else [])]))
    results, refused = answers.margins(model, nodes, tokens, options)
    must = [node for node in refused if node in named or not results]
    if must:
        alike = len(refused) == len(nodes) and len(set(map(str, refused.values()))) == 1
        error = refused[must[0]]
        raise UserError(str(error) if alike else f"{must[0]}: {error}")
    for node, error in refused.items():
        typer.echo(f"kvcalc: left out {node}: {error}", err=True)
    return results


def _code(results: list[Margin], fail_if: str | None) -> int:
    """3 if the verdict of any tier, that of its best path and of the use, is as bad as `fail_if` or worse.

    So it is where the GPUs are asked for more prefill than they can do.
    """
    if fail_if is None:
        return 0
    bad = BEST_FIRST[BEST_FIRST.index(fail_if) :]
    overloaded = any(result.traffic and result.traffic.overloaded for result in results)
    return 3 if overloaded or any(verdict in bad for result in results for verdict in verdicts(result)) else 0
