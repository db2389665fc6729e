"""Options of the commands that take a trace: how it is read, whose tiers it meets, how it is replayed; progress."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kvcalc import units
from kvcalc.cli.options import read
from kvcalc.errors import UserError, shown
from kvcalc.profiles.hardware import Weights
from kvcalc.traces import clock
from kvcalc.traces.clock import Unit

if TYPE_CHECKING:
    from kvcalc.traces.reader import Reading

TraceArgument = Annotated[Path, typer.Argument(help="Trace file or folder: .json, .jsonl, .csv, plain, .gz or .zst")]
NodeOption = Annotated[str, typer.Option(help="Node profile: a name or a YAML file")]
TpOption = Annotated[
    int | None, typer.Option(min=1, help="Tensor-parallel degree", show_default="all GPUs of the node")
]
WeightsOption = Annotated[
    Weights | None, typer.Option(help="Weight format", show_default="fp8, or mxfp4 where the checkpoint has it")
]
PrefillOption = Annotated[
    str | None,
    typer.Option(
        help="Recompute time by: tokens/s, profile, model or textbook", show_default="the profile's, else the model"
    ),
]
HbmOption = Annotated[
    str | None, typer.Option(help="HBM for KV, all GPUs together: 400GB", show_default="what the weights leave")
]
TraceFormatOption = Annotated[
    Literal["mooncake", "bailian", "weka", "ragpulse", "counts"] | None,
    typer.Option("--trace-format", help="Trace format", show_default="found out"),
]
TimeUnitOption = Annotated[
    Unit | None, typer.Option(help="Unit of the trace's times", show_default="the format's, if the rate is likely")
]
BlockSizeOption = Annotated[
    int | None, typer.Option(min=1, help="Tokens of a block", show_default="the file's or the format's, if it fits")
]
ArrivalOption = Annotated[
    str | None,
    typer.Option(help="Sessions without a common clock: recorded, stagger=60s, concurrency=8", show_default="recorded"),
]
SharedPrefixOption = Annotated[
    str | None, typer.Option(help="Tokens that all prompts share, for traces that name no blocks")
]
SpacingOption = Annotated[
    Literal["recorded", "spread", "poisson"],
    typer.Option(help="Arrivals: as recorded; those of equal time spread up to the next; all at random"),
]
SpeedOption = Annotated[float, typer.Option(help="Arrivals so many times as fast")]
SeedOption = Annotated[int, typer.Option(min=0, help="Of whatever is random")]
FetchIfOption = Annotated[
    str, typer.Option(help="Fetch 'always', or where recompute time / fetch time is above a number: 'margin>1'")
]
PrefetchOption = Annotated[
    Literal["admission", "lazy"],
    typer.Option(help="Fetch when a request arrives, or when its turn has come and the GPU waits"),
]


def reading(
    form: str | None, unit: Unit | None, size: int | None, arrival: str | None, prefix: str | None
) -> "Reading":
    """How the trace is to be read. Raises UserError."""
    from kvcalc.traces.reader import Reading

    return Reading(
        format=form,
        time_unit=unit,
        block_size=size,
        arrival=clock.arrival(arrival) if arrival else None,
        shared_prefix=units.tokens(prefix) if prefix else None,
    )


def tiers(given: list[str], option: str = "--tier") -> tuple[tuple[str, ...], dict[str, float]]:
    """Tiers named in texts like "dram" or "nvme=30TB", and the sizes of those that have one."""
    names, sizes = [], {}
    for text in given:
        name, separator, size = (part.strip() for part in text.partition("="))
        if not name or (separator and not size):
            raise UserError(
                f"{option}: {shown(text)} is no tier; write one like '{option} dram' or '{option} nvme=30TB'"
            )
        if name in names:
            raise UserError(f"{option}: tier {shown(name)} is given twice")
        names.append(name)
        if separator:
            sizes[name] = read(f"{option} {name}", size, units.size)
    return tuple(names), sizes


def least_margin(text: str) -> float:
    """The margin above which blocks are fetched; 0 is always."""
    if text == "always":
        return 0.0
    word, separator, number = text.replace(" ", "").partition(">")
    if word != "margin" or not separator:
        raise UserError(f"--fetch-if: {shown(text)} is none of 'always', 'margin>1'")
    least = read("--fetch-if", number, units.number)
    if least <= 0:
        raise UserError(f"--fetch-if: {shown(text)} is always so; write 'always'")
    return least


@contextmanager
def progress(trace: Path) -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on stderr where that is a terminal: what is being done, how much of it is, and of how much."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(trace.name, total=None)
        yield lambda what, done, total: bar.update(
            task, description=f"{trace.name}: {what}", completed=done, total=total
        )
