"""How far is this machine from the shipped profiles: what was measured, beside what they say."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.measure import profile
from kvcalc.measure.machine import Machine
from kvcalc.measure.profile import Computes
from kvcalc.measure.results import Achieved, Part, Skipped, TierFound, Unit
from kvcalc.profiles import catalog, places
from kvcalc.profiles.hardware import Accelerator, Node, Tier

SCHEMA_VERSION = 1


@frozen
class Comparison:
    """One figure of a tier, measured and as the shipped node has it."""

    tier: str
    figure: str
    unit: Unit
    measured: float
    shipped: float | None  # None: the shipped node has no such tier or figure
    shipped_from: str | None
    ratio: float | None  # measured / shipped


@frozen
class Measured:
    """The whole answer."""

    schema_version: int
    node: str
    conditions: str
    machine: Machine
    against: str
    comparisons: tuple[Comparison, ...]
    parts: tuple[Part, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]


def measured(
    machine: Machine, parts: Sequence[Part], skipped: Sequence[Skipped], against: str, late: str | None = None
) -> Measured:
    """The measured parts beside the shipped node `against`; `late` says by how much the budget was overrun.

    Raises UserError for an unknown node.
    """
    shipped = catalog.machine(against)
    warnings = [late] if late else []
    warnings += [warning for part in parts for warning in part.warnings]
    warnings += [
        f"GPU {number} is in use by others: {gpu.free_bytes:,} of {gpu.memory_bytes:,} bytes are free"
        for number, gpu in enumerate(machine.gpus)
        if gpu.free_bytes < 0.9 * gpu.memory_bytes
    ]
    return Measured(
        schema_version=SCHEMA_VERSION,
        node=f"measured-{machine.node}",
        conditions=machine.text,
        machine=machine,
        against=against,
        comparisons=tuple(
            line
            for part in parts
            for line in (
                *(_compared(part, part.tier, shipped) if part.tier else ()),
                *(_efficiencies(part.achieved, shipped.accelerator) if part.achieved and machine.gpus else ()),
            )
        ),
        parts=tuple(parts),
        skipped=tuple(skipped),
        warnings=tuple(warnings),
    )


def _compared(part: Part, found: TierFound, shipped: catalog.Machine) -> Iterator[Comparison]:
    """Beside the shipped tier of the same medium; copies within DRAM have none, since that one's are over a link."""
    alike: list[Tier] = [] if part.name == "memory" else [tier for tier in shipped.tiers if tier.medium == found.medium]
    same = alike[0] if alike else None
    write = same.write if same else None
    rows: list[tuple[str, Unit, float | None, float | None]] = [
        ("read", "B/s", found.read[1], same.read.bandwidth.typical.value if same else None),
        ("write", "B/s", found.write[1] if found.write else None, write.bandwidth.typical.value if write else None),
        ("latency", "s", found.latency_s, same.read.latency.typical.value if same and same.read.latency else None),
        ("per copy", "s", found.per_copy_s, same.read.per_copy.value if same and same.read.per_copy else None),
    ]
    for figure, unit, here, there in rows:
        if here is not None:
            ratio = here / there if there else None
            yield Comparison(found.name, figure, unit, here, there, same.name if same and there else None, ratio)


def _efficiencies(found: Achieved, gpu: Accelerator) -> Iterator[Comparison]:
    """Shares of the GPU's peaks, beside those of the fit that serves it (docs/equations.md)."""
    fit = catalog.fit(gpu.fit) if gpu.fit else None
    if fit is None:
        return
    attention = next(iter(fit.any.engines.values())).attention_kv16
    peak, memory = gpu.peak.bf16.value, gpu.memory_bandwidth.value
    rows = (
        ("GEMMs, share of the bf16 peak", found.gemm_flops / peak, fit.any.gemm.bf16),
        ("attention, share of the bf16 peak", found.attention_flops / peak, attention),
        ("norms and activations, share of the memory bandwidth", found.element_bytes / memory, fit.form.memory),
    )
    for figure, here, there in rows:
        if there is not None:
            yield Comparison("prefill", figure, "", here, there.value, fit.name, here / there.value)


def beside(machine: Machine) -> str | None:
    """The shipped node that has this machine's GPU; None where there is no GPU. Raises UserError for an unknown GPU."""
    if not machine.gpus:
        return None
    gpu = machine.gpus[0]
    fitting = [
        name
        for name in places.names(Node)
        if _is(catalog.accelerator(catalog.machine(name).node.accelerator), gpu.name, gpu.memory_bytes)
    ]
    if not fitting:
        raise UserError(f"no shipped node has a {gpu.name}; name the nearest with --against NODE")
    return fitting[0]


def _is(accelerator: Accelerator, name: str, memory: int) -> bool:
    """Is it called so, and is its memory as large, within a tenth?"""
    words = set(accelerator.title.lower().replace("-", " ").split())
    own = [word for word in name.lower().replace("-", " ").split() if word not in ("nvidia", "amd", "hbm3")]
    sold = (accelerator.device_memory or accelerator.memory).value
    return own[0] in words and abs(memory / sold - 1) < 0.1


@frozen
class Saved:
    """The files that were written, and why there is no node among them if there is none."""

    files: tuple[Path, ...]
    reason: str | None = None


def save(answer: Measured, file: Path, named: str | None, tiers: bool = False) -> Saved:
    """Write the node's profile and what it names; where too little was measured for it, nothing, or `tiers` alone.

    `named` is the node whose accelerator is taken, if any.
    """
    if named is None:
        computes = Computes(None, 1)
    else:
        node = catalog.machine(named).node
        computes = Computes(node.accelerator, len(answer.machine.gpus) or node.gpus)
    reason = None
    try:
        found = profile.documents(file, answer.machine, answer.parts, computes)
    except UserError as error:
        found, reason = {}, str(error)
        if tiers:
            found = profile.tiers(file, answer.machine, answer.parts, computes)
    profile.write(found)
    return Saved(tuple(found), reason)
