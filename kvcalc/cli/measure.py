"""`kvcalc measure`: this machine's own figures in place of a profile's."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvcalc import files, units
from kvcalc.cli.options import FormatOption
from kvcalc.errors import UserError, shown
from kvcalc.physics import formats
from kvcalc.profiles import catalog, places
from kvcalc.profiles.hardware import Weights
from kvcalc.profiles.model import Model
from kvcalc.render import show

if TYPE_CHECKING:
    from kvcalc.answers.measure import Measured, Saved
    from kvcalc.measure.plan import PartName, Progress
    from kvcalc.measure.results import Setup

DEFAULT_NODE = "h100-pcie5"


def measure(
    path: Annotated[Path | None, typer.Option(help="Folder on the disk to measure")] = None,
    size: Annotated[str, typer.Option(help="Size of the file made there")] = "1 GiB",
    url: Annotated[str | None, typer.Option(help="Store: redis://..., s3://bucket/prefix or file:///folder")] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="A running engine's OpenAI-compatible address: http://host:8000/v1")
    ] = None,
    engine_model: Annotated[str | None, typer.Option(help="The model's name at that engine")] = None,
    weights: Annotated[
        Weights | None, typer.Option(help="Weight format of that engine: with --kv-dtype its times go into the profile")
    ] = None,
    kv_dtype: Annotated[str | None, typer.Option(help="KV element format of that engine")] = None,
    model: Annotated[
        str | None, typer.Option(help="Whose prefill is measured", show_default="llama3-8b; without a GPU qwen3-0.6b")
    ] = None,
    tp: Annotated[int, typer.Option(min=1, help="Tensor-parallel degree: the shard that one rank computes")] = 1,
    budget: Annotated[str, typer.Option(help="Time for all of it")] = "180 s",
    only: Annotated[
        str | None,
        typer.Option(help="Parts: link,blocks,restore,memory,prefill,storage,remote,endpoint", show_default="all"),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Node to compare with and to take the accelerator from", show_default="the node with this GPU"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be measured")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            help="The node profile; with this option also written after Ctrl-C", show_default="measured-NODE.yaml"
        ),
    ] = None,
    form: FormatOption = None,
) -> int:
    """Measure this machine's memory, links, disk, stores and prefill, and write a node profile of them."""
    from kvcalc.answers import measure as question
    from kvcalc.measure import plan
    from kvcalc.measure.machine import machine
    from kvcalc.measure.results import Part, Skipped
    from kvcalc.measure.samples import Budget
    from kvcalc.tables import measure as tables

    here = machine()
    wanted = catalog.model(model or ("llama3-8b" if here.gpus else "qwen3-0.6b"))
    parts = _parts(only, plan.NAMES)
    setup = _setup(wanted, tp, weights, kv_dtype)
    wish = plan.Wish(wanted, tp, parts, path, round(units.size(size)), url, endpoint, engine_model, setup)
    jobs, skipped = plan.plan(wish, here)
    seconds = units.seconds(budget)
    file = _file(output, here.node)
    if against:
        catalog.machine(against)
    if dry_run:
        show.show(
            [{"part": job.name, "what": job.what} for job in jobs], tables.planned(jobs, skipped, seconds), form, None
        )
        return 0
    named = against or question.beside(here)
    files.check(file)
    found: list[Part] = []
    clock = Budget(seconds)

    def answer(failed: list[Skipped]) -> question.Measured:
        return question.measured(here, found, [*skipped, *failed], named or DEFAULT_NODE, _late(clock.over_s, seconds))

    try:
        with _progress() as progress:
            failed = plan.run(jobs, clock, progress, found)
    except KeyboardInterrupt:
        if output and found:
            print(_kept(question.save(answer([]), file, named, tiers=True)), file=sys.stderr)
        raise
    if not found:
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in [*failed, *skipped])
        raise UserError(f"nothing was measured: {reasons}")
    result = answer(failed)
    saved = question.save(result, file, named, tiers=output is not None)
    show.show([result], tables.page(result, _used(result, file, saved)), form, None)
    if output and not saved.files:
        print(f"kvcalc: {saved.reason}", file=sys.stderr)
    return 1 if failed or (output and not saved.files) else 0


def _late(over_s: float, budget_s: float) -> str | None:
    """What is said of a budget that was overrun by more than a twentieth."""
    if over_s <= budget_s / 20:
        return None
    spent, allowed = units.short(budget_s + over_s, "s"), units.short(budget_s, "s")
    return f"this took {spent}, more than the budget of {allowed}; raise --budget, or name fewer parts with --only"


def _kept(saved: "Saved") -> str:
    """After Ctrl-C."""
    kept = f"kvcalc: kept {', '.join(map(str, saved.files))}" if saved.files else "kvcalc: nothing is kept"
    return f"{kept}; {saved.reason}" if saved.reason else kept


def _parts(only: str | None, known: tuple["PartName", ...]) -> tuple["PartName", ...]:
    if only is None:
        return known
    asked = [part.strip() for part in only.split(",")]
    wrong = next((part for part in asked if part not in known), None)
    if wrong is not None:
        raise UserError(f"--only: no part {shown(wrong)}; the parts are {', '.join(known)}")
    return tuple(part for part in known if part in asked)


def _setup(model: Model, tp: int, weights: Weights | None, kv_dtype: str | None) -> "Setup | None":
    """What runs at the endpoint, if both formats are given; one alone is refused."""
    from kvcalc.measure.results import Setup

    if weights is None and kv_dtype is None:
        return None
    if weights is None or kv_dtype is None:
        raise UserError("--weights and --kv-dtype go together: both say what the engine at --endpoint runs")
    return Setup(model.name, tp, weights, 16 if formats.stored(model, kv_dtype) in formats.SIXTEEN_BIT else 8)


def _file(output: Path | None, node: str) -> Path:
    file = output or Path(f"measured-{node}.yaml")
    if not file.name.lower().endswith(places.SUFFIXES):
        raise UserError(f"--output {shown(str(file))}: a profile's name ends in .yaml")
    return file


def _used(result: "Measured", file: Path, saved: "Saved") -> str:
    """Where the profile is and how to use it, or why there is none."""
    if saved.reason:
        why = f"{saved.reason[:1].upper()}{saved.reason[1:]}."
        return f"{why} Tiers are written to {', '.join(map(str, saved.files))}." if saved.files else why
    setup = next((part.curve.setup for part in reversed(result.parts) if part.curve), None)
    asked = " --model MODEL"
    if setup:
        kv_dtype = "bf16" if setup.kv_bits == 16 else "fp8"
        asked = f" --model {setup.model} --tp {setup.tp} --weights {setup.weights} --kv-dtype {kv_dtype}"
    return f"Written to {file}. Use it: kvcalc margin --hardware {file}{asked}"


@contextmanager
def _progress() -> Iterator["Progress"]:
    """What is being measured, on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("measuring") as status:
        yield lambda text: status.update(f"measuring {text}")
