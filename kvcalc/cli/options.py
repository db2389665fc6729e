"""Options that several commands share, and how their text becomes values."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.errors import UserError, shown

Format = Literal["text", "markdown", "json", "csv"]

FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Output format", show_default="text on a terminal, markdown elsewhere")
]
OutputOption = Annotated[Path | None, typer.Option("--output", help="Write to this file", show_default="stdout")]


def by_tier(given: list[str], option: str, read: Callable[[str], float]) -> dict[str, float]:
    """Values by tier in texts like "nvme=7 GB/s"."""
    found: dict[str, float] = {}
    for text in given:
        tier, separator, value = text.partition("=")
        if not separator or not tier or not value:
            raise UserError(f"{option}: {shown(text)} has no tier and value; write one like '{option} dram=50GB/s'")
        if tier.strip() in found:
            raise UserError(f"{option}: tier {shown(tier)} is given twice")
        found[tier.strip()] = read(value)
    return found


def latency(text: str) -> float:
    """Seconds; a zero needs no unit."""
    return 0.0 if text.strip() == "0" else units.seconds(text)


def prefill(text: str | None) -> Literal["profile", "model", "textbook"] | float | None:
    """How recompute time is found: by name, or tokens a second."""
    if text is None or text in ("profile", "model", "textbook"):
        return text  # type: ignore[return-value]
    return units.token_rate(text)
