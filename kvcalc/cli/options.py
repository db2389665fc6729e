"""Options that several commands share, and how their text becomes values."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer

from kvcalc import units
from kvcalc.errors import UserError, shown

T = TypeVar("T")

Format = Literal["text", "markdown", "json", "csv"]

FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Output format", show_default="text on a terminal, markdown elsewhere")
]
OutputOption = Annotated[Path | None, typer.Option("--output", help="Write to this file", show_default="stdout")]


def left_out(refused: Iterable[UserError]) -> None:
    """Say on stderr which profiles could not be read."""
    for error in refused:
        typer.echo(f"kvcalc: left out: {error}", err=True)


def read(option: str, text: str, reads: Callable[[str], T]) -> T:
    """An option's value. Raises UserError that names the option."""
    try:
        return reads(text)
    except UserError as error:
        raise UserError(f"{option}: {error}") from error


def by_tier(given: list[str], option: str, example: str, reads: Callable[[str], T]) -> dict[str, T]:
    """Values by tier in texts like "nvme=7 GB/s"."""
    found: dict[str, T] = {}
    for text in given:
        tier, separator, value = text.partition("=")
        if not separator or not tier or not value:
            way_out = f"write one like '{option} dram={example}'"
            raise UserError(f"{option}: {shown(text)} has no tier and value; {way_out}")
        if tier.strip() in found:
            raise UserError(f"{option}: tier {shown(tier)} is given twice")
        found[tier.strip()] = read(f"{option} {tier.strip()}", value, reads)
    return found


def latency(text: str) -> float:
    """Seconds; a zero needs no unit."""
    return 0.0 if text.strip() == "0" else units.seconds(text)
