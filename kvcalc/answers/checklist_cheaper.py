"""Box 5: are the cheaper things done: FP8 KV, an attention that keeps less, prefix-aware routing?"""

from collections.abc import Iterator
from functools import partial

from kvcalc import units
from kvcalc.answers import checklist_seen
from kvcalc.answers.checklist_ground import Ground
from kvcalc.answers.checklist_options import COMPANIONS
from kvcalc.answers.checklist_result import Figure, Reason
from kvcalc.errors import UserError
from kvcalc.physics import formats, kv
from kvcalc.profiles.model import Compressed, Full, Latent, Recurrent, Sliding

QUESTION = "Are the cheaper things done first?"
SMALLER = "fp8"

said = partial(Reason, 5)


def reasons(ground: Ground) -> Iterator[Reason]:
    """The KV format, the attention kind, routing."""
    if checklist_seen.caching_off(ground.options.read):
        text = "prefix caching is off in the engine: turn it on, HBM alone may give the hits"
        yield said("cheaper", "prefix-caching-first", text)
    yield _format(ground)
    yield _attention(ground)
    yield _routing(ground)
    if ground.routed is not None:
        yield said("note", "routing-on-the-trace", f"on the trace: {ground.routed.recommendation.rstrip('.')}")


def gain(ground: Ground) -> float | None:
    """How many times as many tokens FP8 KV would hold; None where no engine stores this model's in FP8, or it has."""
    if ground.kv.stored not in formats.UNQUANTISED:
        return None
    try:
        smaller = formats.stored(ground.model, SMALLER)
    except UserError:
        return None
    length = int(ground.tokens.value)
    return kv.logical(ground.model, length, ground.kv.stored) / kv.logical(ground.model, length, smaller)


def _format(ground: Ground) -> Reason:
    times, stored = gain(ground), ground.kv.stored
    if times is None:
        done = "already narrow" if stored not in formats.UNQUANTISED else "and no engine known here stores it in FP8"
        return said("supports", "kv-format", f"KV is {stored}, {done}")
    hold = f"FP8 KV would hold {units.times(times)} as many tokens in the same HBM for a flag"
    if ground.kv.origin is None:
        return said("unknown", "kv-format-not-known", f"the KV format is not stated, {stored} by default; {hold}")
    return said("cheaper", "fp8-first", f"KV is {stored} ({ground.kv.origin}): {hold}")


def kinds(ground: Ground) -> str:
    """The model's kinds of layers, in a few words."""
    counts: dict[str, int] = {}
    for group in ground.model.groups:
        name = _kind(group)
        counts[name] = counts.get(name, 0) + group.layers
    return ", ".join(f"{number} layers {name}" for name, number in counts.items())


def _kind(group: object) -> str:
    if isinstance(group, Full) and group.heads == group.kv_heads:
        return "MHA"
    if isinstance(group, Full):
        return f"GQA, {group.heads} query heads share {group.kv_heads} KV heads"
    if isinstance(group, Latent):
        return "latent (MLA)"
    return str(getattr(group, "kind", ""))


def _attention(ground: Ground) -> Reason:
    groups = ground.model.groups
    if any(isinstance(each, Full) and each.heads == each.kv_heads > 1 for each in groups):
        heads = next(each.heads for each in groups if isinstance(each, Full))
        text = f"{kinds(ground)}: each head keeps its own KV; GQA with 8 KV heads would keep {units.times(8 / heads)}"
        return said("cheaper" if heads > 8 else "note", "multi-head-attention", text)
    small = any(isinstance(each, Latent | Recurrent | Sliding | Compressed) for each in groups)
    return said("supports", "attention-kind", f"{kinds(ground)}{': it keeps little already' if small else ''}")


def replicas(ground: Ground) -> int | None:
    """As given, else as many as were scraped."""
    scraped = sum(each.kind == "metrics" and each.observation.engine not in COMPANIONS for each in ground.options.read)
    return ground.options.replicas or (scraped if scraped > 1 else None)


def _routing(ground: Ground) -> Reason:
    number, routing = replicas(ground), ground.options.routing
    if number == 1:
        return said("supports", "one-replica", "one replica: no routing decides what is hit")
    count = f"{number} replicas" if number else "replicas are not stated"
    if routing == "prefix-aware":
        return said("supports", "prefix-aware-routing", f"{count}, and routing is prefix-aware")
    if routing == "other" and number:
        return said(
            "cheaper", "prefix-aware-routing-first",
            f"{count}, and routing is not prefix-aware: each prefix is computed and kept up to {number} times; sending "
            "a request where its prefix is gives much of a shared store's hits with none of its parts",
        )  # fmt: skip
    return said("unknown", "routing-not-known", f"{count}: give --replicas, and with --routing how they are chosen")


def figures(ground: Ground) -> Iterator[Figure]:
    """Format, gain, attention, replicas."""
    yield Figure("KV format", ground.kv.stored, "", ground.kv.origin or "by default")
    yield Figure("FP8 KV would hold", gain(ground), "x", "profile")
    yield Figure("attention", kinds(ground), "", "profile")
    yield Figure("replicas", replicas(ground), "", "given" if ground.options.replicas else "")


def run(ground: Ground) -> Iterator[str]:
    """What would tell."""
    if ground.kv.origin is None:
        yield "--kv-dtype, or --log with the engine's start-up log (the KV format in use)"
    if ground.options.trace is not None and ground.routed is None:
        yield "--replicas N, or kvcalc route TRACE --model MODEL (what prefix-aware routing gives on the trace)"
    if replicas(ground) is None:
        yield "--replicas N --routing prefix-aware|other (what routing already gives)"
