"""What an engine's option for host memory has to say, and what the engine then takes of the host."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.capacity_result import HostAsk, TierSize
from kvcalc.answers.capacity_setting import CapacitySetting
from kvcalc.answers.capacity_tiers import prefixes
from kvcalc.frozen import frozen
from kvcalc.physics import allocation
from kvcalc.physics.engines.rules import Account

ONE_CALL = ((0, 26), (0, 27))  # vLLM: one region (pull request 50094) and not yet in parts (51081, after 0.26)
REGISTER_LIMIT = 549_755_813_888  # bytes; one cudaHostRegister of so much fails (vLLM issue 51080)
GIB = units.size("1 GiB")
OFFLOADING = "--kv-offloading-size"


@frozen
class Ask:
    """An option: what it is given in which unit by each of so many that read it, and what each takes."""

    option: str
    unit: str  # of the option
    unit_bytes: float
    askers: int
    each_bytes: float  # that each may ask for
    meaning: str
    pinned: bool = False  # rounded up to a power of two


def asks(setting: CapacitySetting, tiers: tuple[TierSize, ...], prefix: Account) -> tuple[HostAsk, ...]:
    """For the host's DRAM, if its size is known: the largest request that stays inside it."""
    dram = next((tier.capacity_bytes for tier in tiers if tier.medium == "dram" and tier.capacity_bytes), None)
    if dram is None:
        return ()
    return tuple(_filled(each, dram, prefix) for each in _of(setting, dram))


def _of(setting: CapacitySetting, dram: float) -> Iterator[Ask]:
    ranks = setting.tp * setting.options.pp
    match setting.options.engine:
        case "vllm":
            yield from _vllm(dram, ranks, setting.release)
        case "sglang":
            meaning = f"GB of 10^9, {_each(ranks)}; pinned memory is rounded up to a power of two"
            yield Ask("--hicache-size", "GB", units.GB, ranks, _power(dram / ranks), meaning, pinned=True)
        case "lmcache":
            once = setting.replicas == "once"
            askers = setting.options.pp if once else ranks
            who = "the first rank alone, which stores for all" if once else _each(ranks)
            meaning = f"GiB, {who}; what it takes beyond that was not found"
            yield Ask("max_local_cpu_size", "GiB", GIB, askers, dram / askers, meaning)
        case "trtllm":
            meaning = f"bytes, {_each(ranks)}; what it takes beyond that was not found"
            yield Ask("host_cache_size", "B", 1, ranks, dram / ranks, meaning)


def _vllm(dram: float, ranks: int, release: tuple[int, int] | None) -> Iterator[Ask]:
    """One region for all ranks since pull request 50094; before it a pinned tensor a rank, of a power of two."""
    limited = dram >= REGISTER_LIMIT
    meaning = "all ranks together, in one region; not rounded"
    if release is None or release > ONE_CALL[-1] or (release in ONE_CALL and not limited):
        versions = "0.28 and later" if limited else "0.26 and later"
        yield Ask(f"{OFFLOADING} ({versions})", "GiB", GIB, 1, dram, meaning)
    if limited and (release is None or release in ONE_CALL):
        below = "; registered in one call, which fails from 512 GiB on"
        yield Ask(f"{OFFLOADING} (0.26 and 0.27)", "GiB", GIB, 1, REGISTER_LIMIT - GIB, meaning + below)
    if release is None or release < ONE_CALL[0]:
        meaning = f"all ranks together; {_part(ranks)}, rounded up to a power of two"
        size = _power(dram / ranks) * ranks
        yield Ask(f"{OFFLOADING} (before 0.26)", "GiB", GIB, 1, size, meaning, pinned=True)


def _each(ranks: int) -> str:
    return "the one rank" if ranks == 1 else f"each of {units.counted(ranks, 'rank')}"


def _part(ranks: int) -> str:
    return "the one rank pins it" if ranks == 1 else f"each of {units.counted(ranks, 'rank')} pins its part"


def _filled(ask: Ask, dram: float, prefix: Account) -> HostAsk:
    written = int(ask.each_bytes / ask.unit_bytes)
    asked = written * ask.unit_bytes * ask.askers
    used = ask.each_bytes * ask.askers if ask.pinned else asked
    low, high = prefixes(used, prefix)
    return HostAsk(
        option=ask.option,
        asked=str(written),
        unit=ask.unit,
        asked_bytes=asked,
        used_bytes=used,
        whole_takes_bytes=_whole(ask, dram),
        prefixes_low=low,
        prefixes_high=high,
        meaning=ask.meaning,
    )


def _whole(ask: Ask, dram: float) -> float:
    """If all were asked for: a pinned buffer of no power of two becomes the next one."""
    return 2 * ask.each_bytes * ask.askers if ask.pinned and ask.each_bytes * ask.askers < dram else dram


def _power(size: float) -> int:
    """The largest request that PyTorch's pinned allocator does not take past `size`: a power of two."""
    largest = allocation.pinned(size)
    return largest if largest <= size else largest // 2
