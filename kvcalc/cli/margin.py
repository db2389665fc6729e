"""`kvcalc margin`: the main job."""

from functools import partial
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.answers import margin as question
from kvcalc.answers.margin_result import Margin, best
from kvcalc.answers.options import Options
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, read
from kvcalc.cli.options import latency as read_latency
from kvcalc.cli.options import prefill as read_prefill
from kvcalc.errors import UserError, shown
from kvcalc.physics import formats
from kvcalc.physics.crossover import BEST_FIRST
from kvcalc.profiles import catalog, places
from kvcalc.profiles.hardware import EngineName, Layout, Node, Weights
from kvcalc.profiles.model import Model
from kvcalc.render import show
from kvcalc.tables import margin as tables

DEFAULT_NODE = "h100-pcie5"


def margin(
    model: Annotated[str, typer.Option(help="Model profile: a name, a Hugging Face name, or a YAML file")],
    seq: Annotated[str, typer.Option(help="Prefix length in tokens; k is 10^3, Ki is 2^10")] = "20000",
    hardware: Annotated[
        list[str] | None,
        typer.Option(help="Node profile: a name, a YAML file, or 'all'; repeatable", show_default=DEFAULT_NODE),
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only this tier of the node, or add one it lacks; repeatable", show_default="the node's"
        ),
    ] = None,
    kv_dtype: Annotated[str, typer.Option(help=f"KV element format: {', '.join(formats.NAMES)}")] = "fp8",
    weights: Annotated[
        Weights | None, typer.Option(help="Weight format", show_default="fp8, or mxfp4 where the checkpoint has it")
    ] = None,
    tp: Annotated[
        int | None, typer.Option(min=1, help="Tensor-parallel degree", show_default="all GPUs of the node")
    ] = None,
    engine: Annotated[
        EngineName, typer.Option(help="Whose layout, fixed costs and prefill constants; ideal: none")
    ] = "ideal",
    prefill: Annotated[
        str | None,
        typer.Option(
            help="Recompute time by: tokens/s, profile, model or textbook", show_default="the profile's, else the model"
        ),
    ] = None,
    bandwidth: Annotated[
        list[str] | None, typer.Option(help="TIER=RATE of one link, one direction: dram=50GB/s; repeatable")
    ] = None,
    latency: Annotated[
        list[str] | None, typer.Option(help="TIER=TIME once a fetch: nvme=100us; TIER may be 'all'; repeatable")
    ] = None,
    links: Annotated[
        str | None, typer.Option(help="Links used at once: a number or 'all'", show_default="one, and all")
    ] = None,
    layout: Annotated[Layout | None, typer.Option(help="How pages lie in memory", show_default="the engine's")] = None,
    page: Annotated[int | None, typer.Option(min=1, help="Tokens of a page", show_default="the engine's")] = None,
    new: Annotated[str, typer.Option(help="Tokens that follow the prefix and are computed anyway")] = "0",
    min_margin: Annotated[float, typer.Option(help="Margin from which the verdict is restore")] = 3.0,
    fail_if: Annotated[
        Literal["recompute", "marginal"] | None, typer.Option(help="Exit 3 if any verdict is this or worse")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the arithmetic, line by line")] = False,
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Say, tier by tier, whether fetching the KV cache of a prefix beats recomputing it."""
    options = Options(
        kv_dtype=kv_dtype,
        weights=weights,
        tp=tp,
        engine=engine,
        prefill=read_prefill(prefill),
        tiers=tuple(tier or ()),
        bandwidth=by_tier(bandwidth or [], "--bandwidth", "50GB/s", units.rate),
        latency=by_tier(latency or [], "--latency", "100us", read_latency),
        links=_links(links),
        layout=layout,
        page=page,
        new=read("--new", new, partial(units.tokens, least=0)),
        min_margin=min_margin,
    )
    tokens = read("--seq", seq, units.tokens)
    found = catalog.model(model)
    results = _results(found, hardware or [DEFAULT_NODE], tokens, options)
    show.show(results, tables.page(results, explain), form, output)
    return _code(results, fail_if)


def _results(model: Model, hardware: list[str], tokens: int, options: Options) -> list[Margin]:
    """The answers. Of 'all' nodes, those that can't answer are named on stderr; a node that is named must answer."""
    named = [node for node in dict.fromkeys(hardware) if node != "all"]
    nodes = list(dict.fromkeys([*named, *(places.names(Node) if "all" in hardware else [])]))
    results, refused = question.margins(model, nodes, tokens, options)
    must = [node for node in refused if node in named or not results]
    if must:
        alike = len(refused) == len(nodes) and len(set(map(str, refused.values()))) == 1
        error = refused[must[0]]
        raise UserError(str(error) if alike else f"{must[0]}: {error}")
    for node, error in refused.items():
        typer.echo(f"kvcalc: left out {node}: {error}", err=True)
    return results


def _links(text: str | None) -> int | Literal["all"] | None:
    if text is None or text == "all":
        return text  # type: ignore[return-value]
    if not text.isascii() or not text.isdecimal() or len(text) > 4 or int(text) < 1:
        raise UserError(f"--links: {shown(text)} is not a number of links; write one like '1' or 'all'")
    return int(text)


def _code(results: list[Margin], fail_if: str | None) -> int:
    """3 if the verdict of any tier, that of its best path, is as bad as `fail_if` or worse."""
    if fail_if is None:
        return 0
    bad = BEST_FIRST[BEST_FIRST.index(fail_if) :]
    return 3 if any(path.verdict in bad for result in results for path in best(result.paths)) else 0
