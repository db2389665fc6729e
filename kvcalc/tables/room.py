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
        yield f"What a tier adds after that: {', '.join(_tiers(room))}"


def _format(room: Room, kv: str) -> str:
    ratio, held = units.times(room.fp8_ratio), room.hbm_prefixes
    if kv not in SIXTEEN_BIT:
        than = "" if held is None else f": {units.count(held)} in HBM instead of {units.count(held / room.fp8_ratio)}"
        return f"FP8 KV or smaller: done; FP8 keeps {ratio} as many prefixes as 16 bits{than if kv == 'fp8' else ''}"
    than = "" if held is None else f", {units.count(held * room.fp8_ratio)} in HBM instead of {units.count(held)}"
    return f"FP8 KV: {ratio} as many prefixes in every tier{than}, for a flag (--kv-dtype fp8)"


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


def _tiers(room: Room) -> Iterator[str]:
    for tier in room.tiers:
        times = f" ({units.times(tier.prefixes / room.hbm_prefixes)} of HBM)" if room.hbm_prefixes else ""
        yield f"{tier.tier} {units.count(tier.prefixes)} prefixes{times}"
