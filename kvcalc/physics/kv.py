"""Bytes of KV cache that a sequence keeps: the sum over layer groups, never one figure a token.

Sizes grow as `a*S + sum b_i*min(S, w_i) + c`. Logical bytes are one copy of everything that restores a prefix of S
tokens: keys and values, index keys, and one snapshot of each recurrent state.
"""

import math
from typing import assert_never

from kvcalc.errors import UserError
from kvcalc.physics import formats
from kvcalc.profiles.model import (
    Chunked,
    Compressed,
    Cross,
    Full,
    Indexer,
    Latent,
    LayerGroup,
    Model,
    Recurrent,
    Shared,
    Sliding,
    Stateless,
)


def held(group: LayerGroup, tokens: int) -> int:
    """How many of `tokens` tokens the group keeps something for."""
    match group:
        case Full() | Latent() | Indexer() | Compressed():
            return tokens
        case Sliding() | Chunked():
            return min(tokens, group.window)
        case Cross():
            return group.encoder_tokens
        case Recurrent() | Shared() | Stateless():
            return 0
        case _:
            assert_never(group)


def token_bytes(group: LayerGroup, kv: str) -> int:
    """Bytes that the group keeps for one held token or pooled key, all layers together; `kv` is a stored format."""
    match group:
        case Full() | Sliding() | Chunked() | Cross():
            element = formats.FORMATS[kv]
            return group.layers * group.kv_heads * (element.vector(group.key_width) + element.vector(group.value_width))
        case Latent():
            return group.layers * formats.latent_entry(group.rank, group.rope, kv)
        case Indexer():
            return group.layers * formats.index_entry(group.width, group.stored == "scaled-fp8", kv)
        case Compressed() | Recurrent() | Shared() | Stateless():
            return 0
        case _:
            assert_never(group)


def state_bytes(group: LayerGroup) -> int:
    """Bytes of constant size: one snapshot of a recurrent state, or the states of a compressor (FP32)."""
    match group:
        case Recurrent():
            state = group.heads * group.key_width * group.value_width * group.state_bytes
            memory = group.conv_channels * max(group.conv_kernel - 1, 0) * group.conv_bytes
            return group.layers * (state + memory)
        case Compressed():
            spread = 2 if group.overlap else 1
            width = group.width + (group.index_width or 0)
            return group.layers * 2 * (spread * group.ratio) * (spread * width) * 4  # values and their scores
        case _:
            return 0


def _compressed_bytes(group: Compressed, tokens: int, kv: str) -> int:
    entry, index = compressed_entry(group, kv)
    window = entry * min(tokens, group.window)
    entries = tokens // group.ratio if group.ratio else 0
    return group.layers * (entries * (entry + index) + window)


def compressed_entry(group: Compressed, kv: str) -> tuple[int, int]:
    """Bytes of one layer's compressed entry and of its index key."""
    entry = formats.compressed_entry(group.width, group.rope, kv)
    if group.index_width is None:
        return entry, 0
    return entry, formats.index_entry(group.index_width, kv not in formats.SIXTEEN_BIT, kv)


def group_bytes(group: LayerGroup, tokens: int, kv: str) -> int:
    """Logical bytes of one group for a prefix of `tokens` tokens."""
    if isinstance(group, Compressed):
        return _compressed_bytes(group, tokens, kv) + state_bytes(group)
    keys = tokens // group.pool if isinstance(group, Indexer) else held(group, tokens)
    return token_bytes(group, kv) * keys + state_bytes(group)


def logical(model: Model, tokens: int, kv: str) -> int:
    """Bytes of one copy of the prefix's KV; `kv` is a stored format (see `formats.stored`)."""
    return sum(group_bytes(group, tokens, kv) for group in model.groups)


def loaded_layers(model: Model, tokens: int, kv: str) -> int:
    """Layers that a restore brings something for; an indexer is part of another group's layers."""
    kept = (group for group in model.groups if not isinstance(group, Indexer) and group_bytes(group, tokens, kv))
    return sum(group.layers for group in kept)


def marginal(model: Model, tokens: int, kv: str, tp: int | None = None) -> float:
    """Bytes that one more token adds at this length: to one copy, or to what each of `tp` ranks holds.

    An entry of compressed attention, or a key that stands for several tokens, is spread over its tokens.
    """
    total = 0.0
    for group in model.groups:
        share = 1 if tp is None else shards(group, tp)
        if isinstance(group, Compressed):
            entry, index = compressed_entry(group, kv)
            window = formats.compressed_entry(group.width, group.rope, kv) if tokens < group.window else 0
            total += group.layers * ((entry + index) / (group.ratio or math.inf) + window) / share
        elif isinstance(group, Indexer):
            total += token_bytes(group, kv) / group.pool / share
        elif held(group, tokens + 1) > held(group, tokens):
            total += token_bytes(group, kv) / share
    return total


def shards(group: LayerGroup, tp: int) -> int:
    """Into how many different parts tensor parallelism cuts the group's bytes; ranks beyond hold copies."""
    match group:
        case Full() | Sliding() | Chunked() | Cross():
            return min(group.kv_heads, tp)
        case Recurrent():
            return min(group.heads, tp)
        case Latent() | Indexer() | Compressed() | Shared() | Stateless():
            return 1
        case _:
            assert_never(group)


def resident(model: Model, tokens: int, kv: str, tp: int) -> int:
    """Bytes that one rank holds for the sequence."""
    return sum(-(-group_bytes(group, tokens, kv) // shards(group, tp)) for group in model.groups)


def splits(model: Model, tp: int) -> bool:
    """Do engines cut the model over so many ranks? Heads must divide by them, KV heads by them or they by KV heads."""
    for group in model.groups:
        heads, kv_heads = getattr(group, "heads", tp), getattr(group, "kv_heads", tp)
        if not isinstance(group, Indexer) and (heads % tp or (kv_heads % tp and tp % kv_heads)):
            return False
    return True


def check_split(model: Model, tp: int) -> None:
    """Refuse a tensor-parallel degree that engines refuse. Raises UserError with the largest smaller one."""
    if splits(model, tp):
        return
    most = min(tp - 1, *(getattr(group, "heads", tp) for group in model.groups))
    smaller = next(degree for degree in range(most, 0, -1) if splits(model, degree))
    heads = sorted(
        {group.heads for group in model.groups if hasattr(group, "heads") and not isinstance(group, Indexer)}
    )
    counts = " and ".join(map(str, heads))
    raise UserError(
        f"{model.name!r} can't be split over {tp} GPUs: its heads ({counts}) don't divide by it; use --tp {smaller}"
    )
