"""What can be measured here, what can't and why, and the running of it within a budget."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.measure import blocks, endpoint, link, memory, prefill, remote, restore, storage, stores
from kvcalc.measure.addresses import masked
from kvcalc.measure.machine import Machine, nodes
from kvcalc.measure.results import Part, Setup, Skipped
from kvcalc.measure.samples import Budget
from kvcalc.profiles.model import Model

PartName = Literal["link", "blocks", "restore", "memory", "prefill", "storage", "remote", "endpoint"]
NAMES: tuple[PartName, ...] = get_args(PartName)
NO_TORCH = "it needs torch; pip install 'kvcalc[measure]'"

Progress = Callable[[str], None]


@frozen
class Wish:
    """What a user asks to measure."""

    model: Model
    tp: int = 1
    only: tuple[PartName, ...] = NAMES
    path: Path | None = None
    size: int = 0  # bytes of the file in `path`
    url: str | None = None
    endpoint: str | None = None
    engine_model: str | None = None
    setup: Setup | None = None  # what runs at the endpoint


@frozen
class Job:
    """A part that can be measured."""

    name: PartName
    what: str
    run: Callable[[Budget, Progress], Part]
    least_s: float = 0.0  # that it takes however small the budget is


def plan(wish: Wish, machine: Machine) -> tuple[list[Job], list[Skipped]]:
    """The jobs, and the parts that are left out. Raises UserError for what is asked for and can't be."""
    makers: dict[PartName, Callable[[Wish, Machine], Job | str]] = {
        "link": _link,
        "blocks": partial(_copies, "blocks", blocks.measure),
        "restore": partial(_copies, "restore", restore.measure),
        "memory": _memory,
        "prefill": _prefill,
        "storage": _storage,
        "remote": _remote,
        "endpoint": _endpoint,
    }
    made = {name: makers[name](wish, machine) for name in NAMES if name in wish.only}
    jobs = [each for each in made.values() if isinstance(each, Job)]
    skipped = [Skipped(name, each) for name, each in made.items() if isinstance(each, str)]
    return jobs, skipped


def run(jobs: list[Job], budget: Budget, progress: Progress, found: list[Part]) -> list[Skipped]:
    """Measure, adding each part to `found` as it is done; those that failed, with the reason."""
    failed = []
    for number, job in enumerate(jobs):
        progress(job.name)
        if budget.left_s < job.least_s:
            need, left = units.short(job.least_s, "s"), units.short(budget.left_s, "s")
            failed.append(
                Skipped(job.name, f"it takes {need} or more and {left} of the budget is left; raise --budget")
            )
            continue
        try:
            found.append(job.run(budget.share(len(jobs) - number), partial(_say, progress, job.name)))
        except UserError as error:
            failed.append(Skipped(job.name, str(error)))
    return failed


def _say(progress: Progress, name: str, text: str) -> None:
    progress(f"{name}: {text}")


def _link(wish: Wish, machine: Machine) -> Job | str:  # noqa: ARG001
    if machine.torch is None:
        return NO_TORCH
    if not machine.gpus:
        return "there is no GPU, so no link to one"
    devices = [f"cuda:{number}" for number in range(len(machine.gpus))]
    what = f"copies to and from {len(devices)} GPU{'s' if len(devices) > 1 else ''}"
    return Job("link", what, lambda budget, _: link.measure(devices, nodes(), budget, near=machine.gpus[0].node))


Copies = Callable[[Model, int, str, Budget], Part]


def _copies(name: PartName, measure: Copies, wish: Wish, machine: Machine) -> Job | str:
    if machine.torch is None:
        return NO_TORCH
    if not machine.gpus:
        return "there is no GPU, so no link to one"
    try:
        prefill.shard(wish.model, wish.tp)
    except UserError as error:
        return str(error)
    what = f"copies of {wish.model.name}'s KV blocks, TP {wish.tp}, to cuda:0"
    return Job(name, what, lambda budget, _: measure(wish.model, wish.tp, "cuda:0", budget))


def _memory(wish: Wish, machine: Machine) -> Job | str:  # noqa: ARG001
    return Job("memory", "copies within DRAM", lambda budget, _: memory.measure(budget), memory.least_s())


def _storage(wish: Wish, machine: Machine) -> Job | str:  # noqa: ARG001
    if wish.path is None:
        return "no folder is named; give --path DIR"
    storage.check(wish.path, wish.size)
    what = f"reads and writes of a file of {units.short(wish.size, 'B')} in {wish.path}, removed after"
    return Job("storage", what, partial(storage.measure, wish.path, wish.size), storage.least_s())


def _remote(wish: Wish, machine: Machine) -> Job | str:  # noqa: ARG001
    if wish.url is None:
        return "no store is named; give --url redis://…, s3://… or file://…"
    stores.check(wish.url)
    what = f"{remote.BLOCKS} blocks of {units.both(remote.BLOCK)} put and got at {masked(wish.url)}, removed after"
    return Job("remote", what, partial(remote.measure, wish.url))


def _prefill(wish: Wish, machine: Machine) -> Job | str:
    if machine.torch is None:
        return NO_TORCH
    try:
        prefill.shard(wish.model, wish.tp)
    except UserError as error:
        return str(error)
    device = "cuda:0" if machine.gpus else "cpu"
    what = f"{prefill.LAYERS} layers of {wish.model.name} with random weights, TP {wish.tp}, on {device}"
    return Job("prefill", what, lambda budget, _: prefill.measure(wish.model, wish.tp, device, budget))


def _endpoint(wish: Wish, machine: Machine) -> Job | str:  # noqa: ARG001
    if wish.endpoint is None:
        return "no engine is named; give --endpoint http://host:8000/v1 --engine-model NAME"
    if wish.engine_model is None:
        raise UserError("--endpoint needs --engine-model, the model's name at that server")
    try:
        import httpx  # noqa: F401
    except ImportError:
        return "it needs httpx; pip install 'kvcalc[remote]'"
    what = f"times to first token of {wish.engine_model} at {masked(wish.endpoint)}"
    return Job("endpoint", what, partial(endpoint.measure, wish.endpoint, wish.engine_model, wish.setup))
