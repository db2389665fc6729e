"""Box 2, other people's figures: a recompute time or bytes a token that can't be, and which mistake would give it."""

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from math import prod

from kvcalc import units
from kvcalc.answers.checklist_format import calibrates
from kvcalc.answers.checklist_ground import Ground
from kvcalc.answers.checklist_result import Reason
from kvcalc.answers.checklist_seen import bytes_per_hit_token
from kvcalc.errors import UserError
from kvcalc.physics import kv, work
from kvcalc.profiles.model import Chunked, Full, Latent, Recurrent, Sliding

NEAR = 0.06  # claims are rounded, and MiB are written for MB

said = partial(Reason, 2)


def reasons(ground: Ground) -> Iterator[Reason]:
    """Of the options and of the metrics."""
    yield from _recompute(ground)
    yield from _token(ground)
    yield from _hit_token(ground)


def _recompute(ground: Ground) -> Iterator[Reason]:
    seconds, tokens = ground.options.recompute_s, ground.tokens.value
    if seconds is None:
        return
    rates = ground.options.hit_rates
    computed = tokens * (rates[-1] if rates else 1.0)
    speed = computed / seconds
    text = f"{units.short(seconds, 's')} for {units.count(computed)} tokens are {units.count(speed)} tok/s"
    ours = f"the profile says {units.count(ground.margin.recompute.tokens_per_s)} tok/s"
    try:
        flops = 2 * work.parameters(ground.model).active * speed
    except UserError:
        yield said("note", "claimed-recompute", f"{text}; {ours}")
        return
    peak = ground.tp * (ground.machine.accelerator.peak.fp8 or ground.machine.accelerator.peak.bf16).value
    shares = (
        f"{text}, {units.short(flops, 'FLOP/s')} or {100 * flops / peak:.0f} % of the peak of {ground.tp} GPUs; {ours}"
    )
    if speed > 2 * ground.margin.recompute.tokens_per_s:
        yield said("note", "claimed-recompute-too-fast", f"{shares}: don't believe it, measure the prefill rate")
    else:
        yield said("note", "claimed-recompute", shares)


def _token(ground: Ground) -> Iterator[Reason]:
    claimed, own = ground.options.bytes_per_token, ground.bytes_per_token
    if claimed is None:
        return
    ratio = claimed / own
    exact = (
        f"{units.count(own)} B a token by the profile ({ground.kv.stored}), {units.both(ground.margin.kv_bytes)} for "
    )
    exact += f"{units.count(ground.tokens.value)} tokens"
    grows = ground.margin.kv_bytes_per_token
    if abs(grows / own - 1) > NEAR:
        fixed = units.both(ground.margin.kv_bytes - grows * ground.tokens.value)
        exact += f", of which {fixed} are fixed a request and {units.count(grows)} B grow with each token"
    if abs(ratio - 1) <= NEAR or abs(claimed - grows) <= NEAR * grows:
        yield said("note", "claimed-bytes-agree", f"{units.short(claimed, 'B')} a token agree with {exact}")
        return
    found = _mistakes(ground, ratio)
    why = f": {' and '.join(found)}" if found else "; name the KV format and which tokens are counted"
    text = f"{units.short(claimed, 'B')} a token are {units.times(ratio)} of {exact}{why}"
    yield said("note", "claimed-bytes-differ", text)


def _mistakes(ground: Ground, ratio: float) -> list[str]:
    """The fewest usual mistakes whose product is the ratio."""
    known = dict(_usual(ground))
    for number in (1, 2, 3):
        for chosen in combinations(known, number):
            for off in (1.0, 1.048576, 1 / 1.024, 1.024):  # MiB for MB, and kB for KiB
                if abs(prod(known[each] for each in chosen) / off / ratio - 1) <= NEAR / 3:
                    return list(chosen)
    return []


def _usual(ground: Ground) -> Iterator[tuple[str, float]]:
    yield from _kinds(ground)
    attending = [each for each in ground.model.groups if isinstance(each, Full | Sliding | Chunked)]
    if attending and (grouped := attending[0].heads / attending[0].kv_heads) != 1:
        width = ground.model.hidden / (attending[0].kv_heads * attending[0].key_width)
        yield f"hidden size instead of KV heads ({units.times(width)})", width
        if abs(width / grouped - 1) > NEAR:
            yield f"query heads instead of KV heads ({units.times(grouped)})", grouped
    if ground.tp > 1 and any(isinstance(each, Latent) for each in ground.model.groups):
        yield f"a latent cache divided by TP {ground.tp} ({units.times(1 / ground.tp)})", 1 / ground.tp
    yield "8 bits taken for 8 bytes (4x)", 4.0
    yield "bits taken for bytes (8x)", 8.0
    yield "a KV format of twice the width (2x)", 2.0
    yield "keys or values left out, or a KV format of half the width (0.5x)", 0.5
    if ground.tp > 1:
        yield f"one rank of {ground.tp} ({units.times(1 / ground.tp)})", 1 / ground.tp


def _kinds(ground: Ground) -> Iterator[tuple[str, float]]:
    """Layers taken for another kind: windows for full attention, states for keys and values, latents for heads."""
    groups, form, tokens, own = ground.model.groups, ground.kv.stored, ground.margin.tokens, ground.margin.kv_bytes
    windowed = [each for each in groups if isinstance(each, Sliding | Chunked) and each.window < tokens]
    if windowed:
        more = sum(kv.token_bytes(each, form) * (tokens - each.window) for each in windowed)
        yield f"windows ignored ({units.times(1 + more / own)})", 1 + more / own
    states = sum(each.layers for each in groups if isinstance(each, Recurrent))
    attending = [each for each in groups if isinstance(each, Full)]
    if states and attending:
        layer = kv.token_bytes(attending[0], form) / attending[0].layers * tokens
        every = layer * (states + sum(each.layers for each in attending)) / own
        yield f"recurrent layers taken for attention ({units.times(every)})", every
    for each in groups:
        if isinstance(each, Latent):
            unfused = each.heads * (each.nope + each.rope + each.value_width) / (each.rank + each.rope)
            yield f"keys and values of every head instead of the latent ({units.times(unfused)})", unfused


def _hit_token(ground: Ground) -> Iterator[Reason]:
    seen = bytes_per_hit_token(ground.options.read)
    if not seen or calibrates(ground.model, ground.kv.name, ground.tp, seen):
        return
    yield said(
        "note", "hit-token-differs",
        f"the metrics moved {units.count(seen)} B for a hit token and the profile says "
        f"{units.count(ground.bytes_per_token)} ({ground.kv.stored}): check --model and --kv-dtype",
    )  # fmt: skip
