"""What a prefix takes outside HBM, and what crosses the links when it comes back."""

from typing import Literal

from kvcalc.physics import kv
from kvcalc.profiles.model import Chunked, LayerGroup, Model, Sliding

Replicas = Literal["once", "per-rank"]


def least(model: Model, tokens: int, kv_format: str, tp: int, replicas: Replicas) -> int:
    """Bytes of what resumes the prefix: the last window of windowed layers, one snapshot of each state."""
    return sum(kv.group_bytes(each, tokens, kv_format) * _copies(each, tp, replicas) for each in model.groups)


def whole(model: Model, tokens: int, kv_format: str, tp: int, replicas: Replicas, chunk: int) -> int:
    """Bytes of whole chunks that can be resumed at every chunk: windows in full, a snapshot for each.

    That a hybrid's chunk carries a snapshot is a reading which fits two published cases to 3 %, not an engine's word.
    """
    chunks = max(-(-tokens // chunk), 1)
    return sum(_whole(each, chunks, chunk, kv_format) * _copies(each, tp, replicas) for each in model.groups)


def _whole(group: LayerGroup, chunks: int, chunk: int, kv_format: str) -> int:
    states = kv.state_bytes(group)
    if isinstance(group, Sliding | Chunked):
        return kv.token_bytes(group, kv_format) * chunks * chunk
    return kv.group_bytes(group, chunks * chunk, kv_format) - states + chunks * states


def _copies(group: LayerGroup, tp: int, replicas: Replicas) -> int:
    return tp // kv.shards(group, tp) if replicas == "per-rank" else 1
