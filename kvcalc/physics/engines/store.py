"""What a prefix takes outside HBM, and what crosses the links when it comes back."""

from typing import Literal

from kvcalc.frozen import frozen
from kvcalc.physics import kv
from kvcalc.profiles.model import Chunked, LayerGroup, Model, Sliding

Replicas = Literal["once", "per-rank"]


def least(model: Model, tokens: int, kv_format: str, tp: int, replicas: Replicas) -> int:
    """Bytes of what resumes the prefix: the last window of windowed layers, one snapshot of each state."""
    return sum(kv.group_bytes(each, tokens, kv_format) * _copies(each, tp, replicas) for each in model.groups)


@frozen
class Chunks:
    """The units in which an engine stores a prefix."""

    tokens: int  # of one
    states: bool  # has each a snapshot of the recurrent states? Else the prefix has one


def whole(model: Model, tokens: int, kv_format: str, tp: int, replicas: Replicas, chunks: Chunks) -> int:
    """Bytes of whole chunks: windows in full, a snapshot for each where each has one, so that all can be resumed.

    That a hybrid's chunk carries a snapshot is a reading which fits two published cases to 3 %, not an engine's word.
    """
    return sum(_whole(each, tokens, kv_format, chunks) * _copies(each, tp, replicas) for each in model.groups)


def _whole(group: LayerGroup, tokens: int, kv_format: str, chunks: Chunks) -> int:
    states = kv.state_bytes(group)
    count = max(-(-tokens // chunks.tokens), 1)
    if isinstance(group, Sliding | Chunked):
        return kv.token_bytes(group, kv_format) * count * chunks.tokens
    return kv.group_bytes(group, count * chunks.tokens, kv_format) + (count - 1 if chunks.states else 0) * states


def _copies(group: LayerGroup, tp: int, replicas: Replicas) -> int:
    return tp // kv.shards(group, tp) if replicas == "per-rank" else 1
