"""What an engine's option for host memory has to say, and what the engine then takes of the host."""

from kvcalc import units
from kvcalc.answers.capacity_result import HostAsk, TierSize
from kvcalc.answers.capacity_setting import CapacitySetting
from kvcalc.physics import allocation

ONE_REGION = (0, 26)  # the release of vLLM that has pull request 50094


def asks(setting: CapacitySetting, tiers: tuple[TierSize, ...]) -> tuple[HostAsk, ...]:
    """For the host's DRAM, if its size is known: the largest request that stays inside it."""
    dram = next((tier.capacity_bytes for tier in tiers if tier.medium == "dram" and tier.capacity_bytes), None)
    if dram is None:
        return ()
    ranks = setting.tp * setting.options.pp
    if setting.options.engine == "vllm":
        new, old = _vllm(dram, ranks)
        return (new, old) if setting.release is None else (new,) if setting.release >= ONE_REGION else (old,)
    found = {"sglang": _sglang, "lmcache": _lmcache, "trtllm": _trtllm}.get(setting.options.engine)
    return found(dram, ranks) if found else ()


def _power(size: float) -> int:
    """The largest request that PyTorch's pinned allocator does not take past `size`: a power of two."""
    largest = allocation.pinned(size)
    return largest if largest <= size else largest // 2


def _whole(value: float) -> str:
    return str(int(value))


def _vllm(dram: float, ranks: int) -> tuple[HostAsk, HostAsk]:
    """One region for all ranks since pull request 50094; before it a pinned tensor a rank, of a power of two."""
    per_rank = _power(dram / ranks)
    return (
        HostAsk(
            option="--kv-offloading-size (0.26 and later)",
            asked=_whole(units.gib(dram)),
            asked_bytes=dram,
            used_bytes=dram,
            whole_takes_bytes=dram,
            meaning="GiB, all ranks of the replica together; one memory-mapped region, not rounded",
        ),
        HostAsk(
            option="--kv-offloading-size (before 0.26)",
            asked=_whole(units.gib(per_rank * ranks)),
            asked_bytes=per_rank * ranks,
            used_bytes=per_rank * ranks,
            whole_takes_bytes=allocation.pinned(dram / ranks) * ranks,
            meaning=f"GiB, all ranks together; each of {ranks} pins its part, rounded up to a power of two",
        ),
    )


def _sglang(dram: float, ranks: int) -> tuple[HostAsk, ...]:
    per_rank = _power(dram / ranks)
    return (
        HostAsk(
            option="--hicache-size",
            asked=_whole(units.gb(per_rank)),
            asked_bytes=per_rank * ranks,
            used_bytes=per_rank * ranks,
            whole_takes_bytes=allocation.pinned(dram / ranks) * ranks,
            meaning=f"GB of 10^9, each of {ranks} ranks, which pins it rounded up to a power of two",
        ),
    )


def _lmcache(dram: float, ranks: int) -> tuple[HostAsk, ...]:
    return (
        HostAsk(
            option="max_local_cpu_size",
            asked=_whole(units.gib(dram / ranks)),
            asked_bytes=dram,
            used_bytes=dram,
            whole_takes_bytes=dram,
            meaning=f"GiB, each of {ranks} ranks; what it takes beyond that was not found",
        ),
    )


def _trtllm(dram: float, ranks: int) -> tuple[HostAsk, ...]:
    return (
        HostAsk(
            option="host_cache_size",
            asked=_whole(dram / ranks),
            asked_bytes=dram,
            used_bytes=dram,
            whole_takes_bytes=dram,
            meaning=f"bytes, each of {ranks} ranks; what it takes beyond that was not found",
        ),
    )
