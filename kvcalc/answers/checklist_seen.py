"""What was read of running engines, one summary a source and a few figures over all of them."""

from collections.abc import Iterator, Sequence

from kvcalc.answers.checklist_options import COMPANIONS, Read
from kvcalc.answers.checklist_result import LookupSeen, Seen, TransferSeen
from kvcalc.observe.observation import Lookup, Observation, Traffic, Transfer


def every(read: Sequence[Read]) -> Iterator[Observation]:
    """Each engine, and after it what stands beside it."""
    for each in read:
        yield each.observation
        yield from each.observation.beside


def seen(read: Sequence[Read]) -> tuple[Seen, ...]:
    """The summaries."""
    return tuple(_seen(each.source, one) for each in read for one in (each.observation, *each.observation.beside))


def _seen(source: str, each: Observation) -> Seen:
    traffic = each.traffic or Traffic()
    return Seen(
        source=source,
        engine=each.engine,
        model=each.model,
        elapsed_s=traffic.elapsed_s,
        kv_dtype=each.kv_dtype,
        kv_tokens=each.kv_tokens,
        block_product=each.block_product,
        host_tokens=each.host_tokens,
        host_bytes_per_token=each.host_bytes_per_token,
        available_kv_bytes=each.available_kv_bytes,
        pool_usage=traffic.pool_usage,
        hit_rate=traffic.hit_rate,
        bytes_per_hit_token=traffic.bytes_per_hit_token,
        evicted=traffic.evicted,
        evicted_unit=traffic.evicted_unit,
        evicted_per_hour=traffic.evicted_per_hour,
        preemptions=traffic.preemptions,
        mean_prompt_tokens=traffic.mean_prompt_tokens,
        mean_ttft_s=traffic.mean_ttft_s,
        lookups=tuple(map(_lookup, traffic.lookups)),
        transfers=tuple(map(_transfer, traffic.transfers)),
        notes=each.notes,
    )


def _lookup(each: Lookup) -> LookupSeen:
    return LookupSeen(each.tier, each.unit, each.asked, each.found, each.hit_rate)


def _transfer(each: Transfer) -> TransferSeen:
    return TransferSeen(
        source=each.source,
        target=each.target,
        bytes=each.bytes,
        tokens=each.tokens,
        blocks=each.blocks,
        seconds=each.seconds,
        bytes_per_s=each.bytes_per_s,
        thread_seconds=each.thread_seconds,
        tokens_per_s=each.tokens_per_s,
    )


def traffics(read: Sequence[Read]) -> tuple[Traffic, ...]:
    """Of every engine and companion that was read."""
    return tuple(each.traffic for each in every(read) if each.traffic)


def caching_off(read: Sequence[Read]) -> bool:
    """Does an engine say that its prefix cache is off?"""
    return any(each.prefix_caching is False for each in every(read))


def bytes_per_hit_token(read: Sequence[Read]) -> float | None:
    """The first that is known."""
    return next((t.bytes_per_hit_token for e in every(read) if (t := e.traffic) and t.bytes_per_hit_token), None)


def hit_rate(read: Sequence[Read]) -> float | None:
    """Of all engines, or of companions alone: by tokens where they are counted, else the mean."""
    found = [each.observation for each in read]
    engines = [each for each in found if each.engine not in COMPANIONS]
    traffics = [each.traffic for each in engines or found if each.traffic]
    known = [(t.prompt_tokens or _asked(t), t.hit_rate) for t in traffics if t.hit_rate is not None]
    if not known:
        return None
    whole = sum(weight or 0.0 for weight, _ in known)
    if not whole or any(weight is None for weight, _ in known):
        return sum(rate for _, rate in known) / len(known)
    return sum((weight or 0.0) * rate for weight, rate in known) / whole


def _asked(traffic: Traffic) -> float | None:
    found = traffic.lookup("hbm") or traffic.lookup("all")
    return found.asked if found else None
