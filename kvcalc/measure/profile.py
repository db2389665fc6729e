"""A measured machine as profiles: a node, and beside it its tiers and, without a GPU, its CPU as what computes."""

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kvcalc import files, units
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.measure.machine import Machine
from kvcalc.measure.results import CurveFound, Part, TierFound


@frozen
class Computes:
    """What runs the prefill on the node: a shipped accelerator, or None for the machine's own CPU."""

    accelerator: str | None
    count: int


Document = dict[str, Any]


def documents(node: Path, machine: Machine, parts: Sequence[Part], computes: Computes) -> dict[Path, Document]:
    """Profiles by file, the node's last. Raises UserError where too little was measured to make a node."""
    stem, found = _stem(node), tiers(node, machine, parts, computes)
    if not found:
        raise UserError("no node is written: no tier was measured")
    uses = [{"tier": path.name} for path in found]
    accelerator = computes.accelerator
    if accelerator is None:
        cpu = node.with_name(f"{stem}-cpu.yaml")
        found[cpu], accelerator = _cpu(cpu.stem, machine, parts), cpu.name
    curves = [(part, part.curve) for part in reversed(parts) if part.curve]  # an engine's own before its kernels'
    found[node] = {
        "kind": "node",
        "name": stem,
        "title": f"{machine.node}, measured {machine.day}",
        "accelerator": accelerator,
        "gpus": computes.count,
        "host_memory": _figure(machine.memory_bytes, "B", "machine"),
        "tiers": uses,
        **({"prefill": [_curve(part.name, curve) for part, curve in curves]} if curves else {}),
        "sources": {
            "machine": _source("memory as the system reports it", "kvcalc measure", machine),
            **{part.name: _of(part, machine) for part, _ in curves},
        },
    }
    return found


def tiers(node: Path, machine: Machine, parts: Sequence[Part], computes: Computes) -> dict[Path, Document]:
    """The profiles of the tiers alone. Where GPUs compute, copies within DRAM are left out: they are not their link."""
    stem = _stem(node)
    return {
        node.with_name(f"{stem}-{part.tier.name}.yaml"): _tier(
            f"{stem}-{part.tier.name}", part.tier, part, machine, computes
        )
        for part in parts
        if part.tier and not (part.name == "memory" and computes.accelerator is not None)
    }


def _stem(node: Path) -> str:
    """What a name may hold."""
    return re.sub(r"[^a-z0-9.+-]+", "-", node.stem.lower()).lstrip(".+-") or "measured"


def write(found: Mapping[Path, Document]) -> None:
    """Each file whole or not at all, the node's last, so that it never names a tier that is not there."""
    import yaml

    class Plain(yaml.SafeDumper):
        """Writes what is there twice twice."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
            return True

    for path, document in found.items():
        files.write(path, yaml.dump(document, Dumper=Plain, sort_keys=False, allow_unicode=True, width=120))


def _tier(name: str, tier: TierFound, part: Part, machine: Machine, computes: Computes) -> Document:
    read: Document = {"bandwidth": _range(tier.read)}
    if tier.latency_s is not None:
        read["latency"] = _figure(tier.latency_s, "s", "run")
    if tier.per_copy_s is not None:
        read["per_copy"] = _figure(tier.per_copy_s, "s", "run")
    through_host = tier.medium != "dram" and computes.accelerator is not None
    return {
        "kind": "tier",
        "name": name,
        "title": tier.title,
        "medium": tier.medium,
        "path": tier.path,
        "links": "per-gpu" if tier.medium == "dram" else "per-node",
        **({"staging": "pipelined"} if through_host else {}),
        "read": read,
        **({"write": {"bandwidth": _range(tier.write)}} if tier.write else {}),
        "sources": {"run": _of(part, machine)},
    }


def _cpu(name: str, machine: Machine, parts: Sequence[Part]) -> Document:
    memory = next((part for part in parts if part.name == "memory" and part.tier), None)
    prefill = next((part for part in parts if part.achieved), None)
    if memory is None or memory.tier is None or prefill is None or prefill.achieved is None:
        raise UserError(
            "no node is written: without a GPU it needs the parts memory and prefill, or --against NODE, "
            "which says what computes"
        )
    return {
        "kind": "accelerator",
        "name": name,
        "title": machine.cpu,
        "memory": _figure(machine.memory_bytes, "B", "machine"),
        "memory_bandwidth": _figure(2 * memory.tier.read[1], "B/s", "memory"),
        "peak": {"bf16": _figure(prefill.achieved.peak_flops, "FLOP/s", "prefill")},
        "notes": [
            "The peak is the best that GEMMs or attention achieved.",
            "A copy reads and writes each byte, so memory moves twice its rate.",
        ],
        "sources": {
            "machine": _source("memory as the system reports it", "kvcalc measure", machine),
            "memory": _of(memory, machine),
            "prefill": _of(prefill, machine),
        },
    }


def _curve(source: str, found: CurveFound) -> Document:
    setup, points = found.setup, {tokens: units.exact(_rounded(seconds), "s") for tokens, seconds in found.points}
    facts = {"models": [setup.model], "tp": setup.tp, "weights": setup.weights, "kv_bits": setup.kv_bits}
    return {**facts, "variant": source, "source": source, "points": points}


def _of(part: Part, machine: Machine) -> Document:
    note = part.tier.note if part.tier else part.curve.note if part.curve else ""
    return _source(note, f"kvcalc measure --only {part.name}", machine)


def _source(note: str, method: str, machine: Machine) -> Document:
    return {
        "title": f"kvcalc {version('kvcalc')} on {machine.node}",
        "address": method,
        "basis": "measured",
        "checked": machine.day,
        "note": f"{note.rstrip('.')}; {machine.text}",
    }


def _range(rates: tuple[float, float, float]) -> Document:
    return {key: _figure(rate, "B/s", "run") for key, rate in zip(("low", "typical", "high"), rates, strict=True)}


def _figure(value: float, unit: str, source: str) -> str:
    return f"{units.exact(_rounded(value) if unit != 'B' else value, unit)} [{source}]"


def _rounded(value: float) -> float:
    """To four digits: no measurement here has more."""
    return float(f"{value:.4g}")
