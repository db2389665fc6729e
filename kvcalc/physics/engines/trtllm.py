"""TensorRT-LLM's paged KV cache: blocks of equal tokens, a pool for each window."""

from kvcalc.physics.engines import ideal
from kvcalc.physics.engines.layers import layers
from kvcalc.physics.engines.plan import Plan, Segment
from kvcalc.profiles.model import Compressed, Model

BLOCK = 32  # tokens; `tokens_per_block` of `KvCacheConfig`, 64 in engines built before 1.0


def plan(model: Model, kv_format: str, tp: int, block: int = BLOCK) -> Plan:
    """The blocks of a model on one rank."""
    if any(isinstance(group, Compressed) for group in model.groups):
        note = "TensorRT-LLM's pools for compressed attention are not modelled here: the bytes are without padding"
        return Plan("trtllm", ideal.plan(model, kv_format, tp).segments, 0, False, (note,))
    segments = []
    for each in layers(model, kv_format, tp):
        if each.state_bytes:
            segments.append(Segment(each.kind, each.layers, 0, each.layers * each.state_bytes, constant=1))
            continue
        constant = -(-each.encoder_tokens // block)
        size = block * each.layers * each.token_bytes
        segments.append(Segment(each.kind, each.layers, block, size, window=each.window, constant=constant))
    return Plan("trtllm", tuple(segments))
