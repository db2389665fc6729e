"""Options that several commands share, and how their text becomes values."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.errors import UserError

Format = Literal["text", "markdown", "json", "csv"]

FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Output format", show_default="text on a terminal, markdown elsewhere")
]
OutputOption = Annotated[Path | None, typer.Option("--output", help="Write to this file", show_default="stdout")]


def by_tier(given: list[str], option: str, read: Callable[[str], float]) -> dict[str, float]:
    """Values by tier in texts like "nvme=7 GB/s"; a zero needs no unit."""
    found: dict[str, float] = {}
    for text in given:
        tier, separator, value = text.partition("=")
        if not separator or not tier or not value:
            raise UserError(f"{option}: {text!r} has no tier and value; write one like '{option} dram=50GB/s'")
        number = 0.0 if value.strip() == "0" else read(value)
        if tier in found:
            raise UserError(f"{option}: tier {tier!r} is given twice")
        found[tier.strip()] = number
    return found


def positive_rate(text: str) -> float:
    """Bytes/s above zero."""
    value = units.rate(text)
    if value <= 0:
        raise UserError(f"{text!r} is not a rate: it must be above zero")
    return value
