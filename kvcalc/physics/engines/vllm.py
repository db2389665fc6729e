"""vLLM's page plan: blocks of equal bytes for every layer kind, padding layers, blocks as large as a state.

Rules of vLLM 0.33, `v1/core/kv_cache_planning.py`, `v1/kv_cache_interface.py` and
`platforms/interface.py::_align_hybrid_block_size`; start-up logs of 0.19 to 0.31 agree with them (docs/capacity.md).
"""

from kvcalc.physics.engines import ideal
from kvcalc.physics.engines.layers import Layers, layers
from kvcalc.physics.engines.plan import Plan, Segment
from kvcalc.profiles.model import Compressed, Model

BLOCK = 16  # tokens; --block-size
LATENT_ALIGN = 128  # the kernels of latent attention take blocks of a multiple of this in hybrids
NEARLY_EQUAL = 1.5  # buckets of which the largest has fewer layers than this times the smallest get its size


def plan(
    model: Model, kv_format: str, tp: int, in_flight: int = 0, draft: int = 0, prefix_caching: bool = True
) -> Plan:
    """The blocks of a model on one rank; `draft` tokens of speculative decoding widen and add states."""
    if any(isinstance(group, Compressed) for group in model.groups):
        return _plain(model, kv_format, tp, "packs pages of different sizes for compressed attention")
    found = layers(model, kv_format, tp)
    states = [each for each in found if each.state_bytes]
    attention = [each for each in found if not each.state_bytes]
    if states and attention:
        return _hybrid(attention, states, draft, prefix_caching, in_flight)
    if states:
        return Plan("vllm", _states(states, states[0].state_bytes + draft * states[0].draft_bytes, states[0].layers, 1))
    if all(each.window is None and not each.encoder_tokens for each in attention):
        size = BLOCK * sum(each.layers * each.token_bytes for each in attention)
        count = sum(each.layers for each in attention if each.kind != "indexer")
        return Plan("vllm", (Segment(attention[0].kind, count, BLOCK, size),), in_flight)
    return _windowed(attention, in_flight)


def _plain(model: Model, kv_format: str, tp: int, what: str) -> Plan:
    found = ideal.plan(model, kv_format, tp)
    return Plan("vllm", found.segments, 0, False, (f"vLLM {what}: not modelled here, the bytes are without padding",))


def group_layers(counts: list[int]) -> int:
    """Layers of one block table, by the layer counts of the kinds."""
    return max(counts) if max(counts) < NEARLY_EQUAL * min(counts) else min(counts)


def _windowed(attention: list[Layers], in_flight: int) -> Plan:
    """Attention layers of several kinds: equal pages, reached by more tokens in the blocks of narrow layers."""
    latent = any(each.kind in ("latent", "indexer") for each in attention)
    page = BLOCK * max(each.token_bytes for each in attention)
    divides = all(page % (BLOCK * each.token_bytes) == 0 for each in attention)
    if latent and not divides:
        size = BLOCK * sum(each.layers * each.token_bytes for each in attention)
        whole = Segment("latent", sum(each.layers for each in attention), BLOCK, size)
        note = "vLLM can't unify the pages of latent and windowed layers: windows are allocated in full"
        return Plan("vllm", (whole,), in_flight, True, (note,))
    size = group_layers([each.layers for each in attention])
    segments = [_attention(each, size, _block(each, page), page) for each in attention]
    return Plan("vllm", tuple(segments), in_flight)


def _block(each: Layers, page: int) -> int:
    """Tokens of a block that fills the page; where it is no multiple of the layer's own, 16, and padding."""
    own = BLOCK * each.token_bytes
    return BLOCK * (page // own) if page % own == 0 else BLOCK


def _attention(each: Layers, size: int, block: int, page: int) -> Segment:
    tables = -(-each.layers // size)
    padding = tables * size - each.layers
    window, spare, constant = each.window, 0, 0
    if each.kind == "sliding" and window is not None:
        window, spare = max(window - 1, 1), 1  # SlidingWindowSpec.max_memory_usage_bytes
    if each.encoder_tokens:
        constant = -(-each.encoder_tokens // block)
    return Segment(each.kind, each.layers, block, size * page, tables, padding, window, spare, constant)


def _hybrid(attention: list[Layers], states: list[Layers], draft: int, prefix_caching: bool, in_flight: int) -> Plan:
    """Attention beside recurrent states: an attention block grows until it is as large as a state."""
    keyed = [each for each in attention if each.kind != "indexer"]
    widest = max(each.token_bytes for each in keyed)
    align = LATENT_ALIGN if any(each.kind == "latent" for each in keyed) else BLOCK
    state = max(each.state_bytes + draft * each.draft_bytes for each in states)
    block = align * -(-state // (align * widest))
    page = block * widest
    size = group_layers([each.layers for each in (*keyed, *states)])
    segments = [_attention(each, size, block, page) for each in keyed]
    segments += _states(states, page, size, 2 + draft if prefix_caching else 1 + draft)
    index = [each for each in attention if each.kind == "indexer"]
    segments += [Segment(each.kind, each.layers, block, block * each.layers * each.token_bytes) for each in index]
    notes = ("index keys beside a hybrid's blocks are counted without padding",) if index else ()
    return Plan("vllm", tuple(segments), in_flight, True, notes)


def _states(states: list[Layers], page: int, size: int, kept: int) -> tuple[Segment, ...]:
    found = []
    for each in states:
        tables = -(-each.layers // size)
        padding = tables * size - each.layers
        found.append(Segment(each.kind, each.layers, 0, size * page, tables, padding, constant=kept))
    return tuple(found)
