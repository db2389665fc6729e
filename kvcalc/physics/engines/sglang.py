"""SGLang's pools: one of tokens, beside it one of windowed layers and one of recurrent states.

Rules of SGLang 0.5.23: `--swa-full-tokens-ratio` 0.8 and `--mamba-full-memory-ratio` 0.9 are defaults of
`server_args.py`; the sizes are those of `pool_configurator.py`.
"""

from kvcalc.physics.engines import ideal
from kvcalc.physics.engines.layers import Layers, layers
from kvcalc.physics.engines.plan import Plan, Segment
from kvcalc.profiles.model import Model

WINDOW_TO_FULL = 0.8  # tokens of the pool of windowed layers for one of the other
HICACHE_PAGE = 64  # tokens; hardware_profiles/engines/sglang.yaml: what HiCache stores
STATE_TO_KV = 0.9  # bytes of the pool of states for one of the pools of tokens


def plan(model: Model, kv_format: str, tp: int) -> Plan:
    """The pools of a model on one rank, and which part of the memory each gets."""
    found = layers(model, kv_format, tp)
    states = [each for each in found if each.state_bytes]
    windowed = [each for each in found if each.window is not None]
    full = [each for each in found if not each.state_bytes and each.window is None]
    entries = ideal.entries(model, kv_format)
    if entries or any(each.encoder_tokens for each in found):
        note = "SGLang's pools for this model are not modelled here: the bytes are without padding"
        return Plan("sglang", ideal.plan(model, kv_format, tp).segments, 0, False, (note,))
    for_states = STATE_TO_KV / (1 + STATE_TO_KV) if states and (full or windowed) else float(bool(states))
    full_bytes, window_bytes = _a_token(full), _a_token(windowed)
    whole = full_bytes + (WINDOW_TO_FULL if full else 1.0) * window_bytes
    segments = []
    if full:
        segments.append(_pool(full, full_bytes, (1 - for_states) * full_bytes / whole))
    if windowed:
        share = (1 - for_states) * (1 - full_bytes / whole)
        segments.append(_pool(windowed, window_bytes, share, max(each.window or 0 for each in windowed)))
    if states:
        size = sum(each.layers * each.state_bytes for each in states)
        segments.append(Segment("recurrent", _count(states), 0, size, constant=1, share=for_states))
    return Plan("sglang", tuple(segments))


def _a_token(found: list[Layers]) -> int:
    return sum(each.layers * each.token_bytes for each in found)


def _count(found: list[Layers]) -> int:
    return sum(each.layers for each in found if each.kind != "indexer")


def _pool(found: list[Layers], size: int, share: float, window: int | None = None) -> Segment:
    return Segment(found[0].kind, _count(found), 1, size, window=window, share=share)
