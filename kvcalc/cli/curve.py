"""`kvcalc curve`: the hit rate of a trace at every capacity, and the tiers on it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.answers.options import Options
from kvcalc.cli import asked
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, optional
from kvcalc.errors import UserError
from kvcalc.profiles import catalog
from kvcalc.profiles.hardware import Weights
from kvcalc.render import show
from kvcalc.traces import clock
from kvcalc.traces.clock import Unit

Format = Literal["mooncake", "bailian", "weka", "ragpulse", "counts"]


def curve(
    trace: Annotated[Path, typer.Argument(help="Trace file or folder: .json, .jsonl, .csv, plain, .gz or .zst")],
    model: Annotated[
        str | None,
        typer.Option(help="Model profile: places the node's tiers on the curve", show_default="the curve alone"),
    ] = None,
    hardware: Annotated[str, typer.Option(help="Node profile: a name or a YAML file")] = DEFAULT_NODE,
    tp: Annotated[
        int | None, typer.Option(min=1, help="Tensor-parallel degree", show_default="all GPUs of the node")
    ] = None,
    weights: Annotated[
        Weights | None, typer.Option(help="Weight format", show_default="fp8, or mxfp4 where the checkpoint has it")
    ] = None,
    prefill: Annotated[
        str | None,
        typer.Option(
            help="Recompute time by: tokens/s, profile, model or textbook", show_default="the profile's, else the model"
        ),
    ] = None,
    hbm: Annotated[
        str | None, typer.Option(help="HBM for KV, all GPUs together: 400GB", show_default="what the weights leave")
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option(help="TIER=SIZE for KV, of the node or added: nvme=30TB; repeatable")
    ] = None,
    trace_format: Annotated[Format | None, typer.Option(help="Trace format", show_default="found out")] = None,
    time_unit: Annotated[
        Unit | None, typer.Option(help="Unit of the trace's times", show_default="the format's, if the rate is likely")
    ] = None,
    block_size: Annotated[
        int | None, typer.Option(min=1, help="Tokens of a block", show_default="the file's or the format's, if it fits")
    ] = None,
    arrival: Annotated[
        str | None,
        typer.Option(
            help="Sessions without a common clock: recorded, stagger=60s, concurrency=8", show_default="recorded"
        ),
    ] = None,
    sample: Annotated[
        str, typer.Option(help="Share of the distinct blocks to keep, for traces beyond memory")
    ] = "100%",
    shared_prefix: Annotated[
        str | None, typer.Option(help="Tokens that all prompts share, for traces that name no blocks")
    ] = None,
    touch: Annotated[
        Literal["tail-first", "head-first"],
        typer.Option(help="Which end of a prompt is evicted first: tail is as engines do"),
    ] = "tail-first",
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Describe a request trace, give its prefix-cache hit rate at every capacity, and place a node's tiers on it."""
    from kvcalc.answers import curve as question
    from kvcalc.answers.placement import Placing
    from kvcalc.tables import curve as tables
    from kvcalc.traces.reader import Reading

    reading = Reading(
        format=trace_format,
        time_unit=time_unit,
        block_size=block_size,
        rate=_rate(sample),
        arrival=clock.arrival(arrival) if arrival else None,
        shared_prefix=optional("--shared-prefix", shared_prefix, units.tokens),
    )
    placing = None
    if model is not None:
        sizes = by_tier(tier or [], "--tier", "2TB", units.size)
        options = Options(tp=tp, weights=weights, prefill=None if prefill is None else asked.prefill(prefill))
        pool = optional("--hbm", hbm, units.size)
        placing = Placing(catalog.model(model), catalog.machine(hardware), options, pool, sizes)
    elif hbm or tier:
        raise UserError("--hbm and --tier are sizes in bytes; add --model to make tokens of them")
    with _progress(trace) as progress:
        answer = question.curve(trace, placing, reading, touch == "tail-first", progress)
    show.show([answer], tables.page(answer), form, output)


def _rate(text: str) -> float:
    rate = units.percent(text)
    if not 0 < rate <= 1:
        raise UserError(f"--sample: {text!r} is not above 0 % and at most 100 %")
    return rate


@contextmanager
def _progress(trace: Path) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(trace.name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
