"""What to do before a tier, in the chapter's order: FP8 KV, prefix-aware routing, is the cache ever full?"""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.margin_result import Room
from kvcalc.physics.formats import SIXTEEN_BIT
from kvcalc.tables.page import Lines


def block(room: Room, tokens: int, kv: str) -> Lines:
    """A few lines; `kv` is the stored format that the room is counted for."""
    return Lines("Cheaper things first", tuple(_lines(room, tokens, kv)), numbered=True)


def _lines(room: Room, tokens: int, kv: str) -> Iterator[str]:
    yield _format(room, kv)
    yield _routing(room)
    yield _full(room, tokens)
    if room.tiers:
        wide = kv in SIXTEEN_BIT
        yield f"What a tier adds after that{', with FP8 KV' if wide else ''}: {', '.join(_tiers(room, wide))}"


def _format(room: Room, kv: str) -> str:
    ratio, narrow, wide = units.times(room.fp8_ratio), room.hbm_prefixes_fp8, room.hbm_prefixes_16_bit
    than = "" if narrow is None or wide is None else f"{units.count(narrow)} in HBM instead of {units.count(wide)}"
    if kv not in SIXTEEN_BIT:
        more = f": {than}" if than and kv == "fp8" else ""
        return f"FP8 KV or smaller: done; FP8 keeps {ratio} as many prefixes as 16 bits{more}"
    more = f", {than}" if than else ""
    return f"FP8 KV: {ratio} as many prefixes in every tier{more}, for a flag (--kv-dtype fp8)"


def _routing(room: Room) -> str:
    here = f"{room.replicas} replicas" if room.replicas > 1 else "1 replica"
    return (
        f"Prefix-aware routing: n replicas keep n times as many different prefixes and move no KV; "
        f"this node has {here} (TP and GPUs decide)"
    )


def _full(room: Room, tokens: int) -> str:
    if room.hbm_prefixes is None:
        return "Is the cache ever full? Not known: the weights' size is not known; measure evictions"
    if not room.hbm_prefixes:
        return "Is the cache ever full? HBM holds no prefix of this length beside the weights"
    held = f"{units.count(room.hbm_prefixes)} prefixes of {units.count(tokens)} tokens"
    return f"Is the cache ever full? HBM holds at most {held}; while fewer are in use again, a tier adds nothing"


def _tiers(room: Room, wide: bool) -> Iterator[str]:
    """Against the HBM of all replicas, which share the node's tiers; `wide`: the answer's KV has 16 bits."""
    replica = room.hbm_prefixes_fp8 if wide else room.hbm_prefixes
    hbm = "HBM" if room.replicas == 1 else f"the HBM of {units.count(room.replicas)} replicas"
    for tier in room.tiers:
        held = tier.prefixes_fp8 if wide else tier.prefixes
        times = f" ({units.times(held / (replica * room.replicas))} of {hbm})" if replica else ""
        yield f"{tier.tier} {units.count(held)} prefixes{times}"
