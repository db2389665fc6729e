"""Options of `margin` that other questions take with the same meaning, and the node that is asked about by default."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.answers.options import WayName
from kvcalc.cli.options import read
from kvcalc.errors import UserError, shown
from kvcalc.physics import formats
from kvcalc.profiles.hardware import EngineName, Layout, Weights

DEFAULT_NODE = "h100-pcie5"

ModelOption = Annotated[str, typer.Option(help="Model profile: a name, a Hugging Face name, or a YAML file")]
SeqOption = Annotated[str, typer.Option(help="Prefix length in tokens; k is 10^3, Ki is 2^10")]
TierOption = Annotated[
    list[str] | None,
    typer.Option(help="Show only this tier of the node, or add one it lacks; repeatable", show_default="the node's"),
]
KvDtypeOption = Annotated[
    str, typer.Option(help=f"KV element format: {', '.join(formats.NAMES)}; or as engines spell it, fp8_e4m3")
]
WeightsOption = Annotated[
    Weights | None, typer.Option(help="Weight format", show_default="fp8, or mxfp4 where the checkpoint has it")
]
TpOption = Annotated[
    int | None, typer.Option(min=1, help="Tensor-parallel degree", show_default="all GPUs of the node")
]
EngineOption = Annotated[EngineName, typer.Option(help="Whose layout, fixed costs and prefill constants; ideal: none")]
PrefillOption = Annotated[
    str | None,
    typer.Option(
        help="Recompute time by: tokens/s, profile, model or textbook", show_default="the profile's, else the model"
    ),
]
BandwidthOption = Annotated[
    list[str] | None, typer.Option(help="TIER=RATE of one link, one direction: dram=50GB/s; repeatable")
]
LatencyOption = Annotated[
    list[str] | None, typer.Option(help="TIER=TIME once a fetch: nvme=100us; TIER may be 'all'; repeatable")
]
LinksOption = Annotated[
    str | None, typer.Option(help="Links used at once: a number or 'all'", show_default="one, and all")
]
LayoutOption = Annotated[Layout | None, typer.Option(help="How pages lie in memory", show_default="the engine's")]
PageOption = Annotated[int | None, typer.Option(min=1, help="Tokens of a page", show_default="the engine's")]
NewOption = Annotated[str, typer.Option(help="Tokens that follow the prefix and are computed anyway")]
MinMarginOption = Annotated[float, typer.Option(help="Margin from which the verdict is restore")]
RateOption = Annotated[str | None, typer.Option(help="Requests that come to the node: 2/s, 120/min or 500/h")]
HitRateOption = Annotated[
    str | None, typer.Option(help="Share of requests whose prefix the tier holds: 0.6 or 60%; with --rate")
]
PlotOption = Annotated[
    Path | None, typer.Option(help="Draw it into this file: .svg, .png or .pdf", show_default="no plot")
]


def prefill(text: str) -> WayName | float:
    """A way to find the recompute time, or tokens/s."""
    if text in ("profile", "model", "textbook"):
        return text  # type: ignore[return-value]
    return read("--prefill", text, units.token_rate)


def links(text: str) -> int | Literal["all"]:
    """A number of links, or all."""
    if text == "all":
        return "all"
    if not text.isascii() or not text.isdecimal() or len(text) > 4 or int(text) < 1:
        raise UserError(f"--links: {shown(text)} is not a number of links; write one like '1' or 'all'")
    return int(text)
