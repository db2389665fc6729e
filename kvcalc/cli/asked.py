"""Options of `margin` that other questions take with the same meaning, and the node that is asked about by default."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.answers.options import WayName
from kvcalc.cli.options import read
from kvcalc.profiles.hardware import EngineName, Layout, Weights

DEFAULT_NODE = "h100-pcie5"

ModelOption = Annotated[str, typer.Option(help="Model profile: a name, a Hugging Face name, or a YAML file")]
TierOption = Annotated[
    list[str] | None,
    typer.Option(help="Show only this tier of the node, or add one it lacks; repeatable", show_default="the node's"),
]
WeightsOption = Annotated[
    Weights | None, typer.Option(help="Weight format", show_default="fp8, or mxfp4 where the checkpoint has it")
]
EngineOption = Annotated[EngineName, typer.Option(help="Whose layout, fixed costs and prefill constants; ideal: none")]
LatencyOption = Annotated[
    list[str] | None, typer.Option(help="TIER=TIME once a fetch: nvme=100us; TIER may be 'all'; repeatable")
]
LayoutOption = Annotated[Layout | None, typer.Option(help="How pages lie in memory", show_default="the engine's")]
NewOption = Annotated[str, typer.Option(help="Tokens that follow the prefix and are computed anyway")]
MinMarginOption = Annotated[float, typer.Option(help="Margin from which the verdict is restore")]
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
    from kvcalc.cli.spans import count

    return "all" if text == "all" else read("--links", text, count)
