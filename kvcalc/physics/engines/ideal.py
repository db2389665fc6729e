"""The least that any engine could keep: every token on its own, nothing padded."""

from kvcalc.physics import kv
from kvcalc.physics.engines.layers import layers
from kvcalc.physics.engines.plan import Plan, Segment
from kvcalc.profiles.model import Compressed, Model


def plan(model: Model, kv_format: str, tp: int) -> Plan:
    """One block a token; the last `window` tokens of windowed layers; one state for a sequence."""
    segments = []
    for each in layers(model, kv_format, tp):
        if each.state_bytes or each.encoder_tokens:
            size = each.state_bytes or each.token_bytes * each.encoder_tokens
            segments.append(Segment(each.kind, each.layers, 0, each.layers * size, constant=1))
        else:
            segments.append(Segment(each.kind, each.layers, 1, each.layers * each.token_bytes, window=each.window))
    return Plan("ideal", (*segments, *entries(model, kv_format)))


def entries(model: Model, kv_format: str) -> tuple[Segment, ...]:
    """The compressed entries of DeepSeek-V4 layers: one for `ratio` tokens, the same on every rank."""
    found = []
    for group in model.groups:
        if isinstance(group, Compressed) and group.ratio:
            size = group.layers * sum(kv.compressed_entry(group, kv_format))
            found.append(Segment("entries", group.layers, group.ratio, size, entries=True))
    return tuple(found)
