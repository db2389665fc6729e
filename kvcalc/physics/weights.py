"""Bytes of a model's weights on one rank, counted from its parameters and the format they are stored in."""

from typing import Literal

from kvcalc.errors import UserError
from kvcalc.physics import allocation, work
from kvcalc.profiles.model import Chunked, Compressed, Cross, Full, Indexer, Latent, LayerGroup, Model, Sliding

WeightFormat = Literal["bf16", "fp16", "fp32", "fp8", "int8", "int4", "nvfp4", "mxfp4", "mxfp8"]

# Bytes of one weight with its scales. Embedding, LM head and routers stay in 16 bits below FP32, as checkpoints have
# them (llm-compressor and ModelOpt leave them out); int4 has a 16-bit scale for 128 weights (GPTQ, AWQ), nvfp4 an FP8
# scale for 16, mxfp4 an FP8 scale for 32 and only in experts (gpt-oss).
BYTES: dict[str, float] = {
    "bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1, "int8": 1, "int4": 0.5 + 2 / 128, "nvfp4": 0.5 + 1 / 16,
    "mxfp4": 0.5 + 1 / 32, "mxfp8": 1 + 1 / 32,
}  # fmt: skip


def of_checkpoint(model: Model) -> WeightFormat:
    """The format that the model is published in, of FP4 and FP8 that of the experts. Raises UserError if not known."""
    if model.checkpoint == "mixed":
        raise UserError(
            f"the weight format of {model.name!r} is not one that is known here; add --weights or --weights-gib"
        )
    return "mxfp4" if model.checkpoint == "fp4-fp8" else model.checkpoint


def rank_bytes(model: Model, form: str, tp: int, pp: int = 1, dp: int = 1) -> float:
    """Bytes on one rank of a pipeline's first or last stage. Raises UserError where they can't be counted.

    Experts are cut over all ranks of all data-parallel replicas, as vLLM and SGLang do; the rest over `tp`. Parameters
    that a profile gives as a total are cut evenly.
    """
    if model.feed_forward is None and model.total_parameters is not None:
        return model.total_parameters * BYTES[form] / tp / pp
    counted = work.parameters(model)
    whole = BYTES["fp32"] if form == "fp32" else BYTES["bf16"]
    common = _common(model, form)
    copied = sum(group.layers * _copied(group, model.hidden, tp) for group in model.groups)
    linear = (counted.linear - copied) / tp + copied
    layers = (linear * common + _rounding(model, common / tp) + counted.experts / (tp * dp) * BYTES[form]) / pp
    return layers + _embeddings(model, pp) / tp * whole


def _common(model: Model, form: str) -> float:
    """Bytes of a weight that every token passes."""
    if form == "mxfp4":
        return BYTES["fp8"] if model.checkpoint == "fp4-fp8" else BYTES["bf16"]
    return BYTES[form]


def _rounding(model: Model, per_weight: float) -> float:
    """Bytes by which the allocator rounds up the fused matrices of attention and dense feed-forward blocks."""
    sizes: list[tuple[int, int]] = []
    for group in model.groups:
        if isinstance(group, Full | Sliding | Chunked):
            queries = group.heads * group.key_width + group.kv_heads * (group.key_width + group.value_width)
            sizes += [(group.layers, queries), (group.layers, group.heads * group.value_width)]
    for block in model.feed_forward or ():
        if not block.experts:
            sizes += [(block.layers, block.width), (block.layers, block.width * (2 if block.gated else 1))]
    taken = [(layers, columns * model.hidden * per_weight) for layers, columns in sizes]
    return sum(layers * (allocation.device(size) - size) for layers, size in taken)


def _embeddings(model: Model, pp: int) -> int:
    """Elements of embedding and LM head on a stage."""
    matrix = (model.vocabulary or 0) * model.hidden
    if pp == 1:
        return matrix if model.tied else 2 * matrix
    return matrix  # the first stage embeds, the last has the head: a copy of it where they are tied


def _copied(group: LayerGroup, hidden: int, tp: int) -> float:
    """Weights of a layer that each rank has whole, or that more ranks have than there are parts."""
    match group:
        case Full() | Sliding() | Chunked() | Cross():
            per_head = hidden * (group.key_width + group.value_width)
            return max(per_head - group.kv_heads * per_head / tp, 0) * tp / (tp - 1) if tp > group.kv_heads else 0.0
        case Latent():
            return hidden * (group.rank + group.rope + (group.query_rank or 0))
        case Indexer():
            return group.query_rank * group.heads * group.width + hidden * (group.width + group.heads)
        case Compressed():
            return hidden * group.width
        case _:
            return 0.0
