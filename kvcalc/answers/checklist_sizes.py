"""What an engine takes of the host for what its option says: of a rank or of all, rounded or not."""

from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.physics import allocation

# Whose option is of each rank: SGLang --hicache-size, LMCache max_local_cpu_size, TensorRT-LLM host_cache_size.
# vLLM's --kv-offloading-size is of all ranks of the replica together.
PER_RANK = {"vllm": False, "sglang": True, "lmcache": True, "trtllm": True}
OPTION = {
    "vllm": "--kv-offloading-size",
    "sglang": "--hicache-size",
    "lmcache": "max_local_cpu_size",
    "trtllm": "host_cache_size",
}
ONE_REGION = (0, 26)  # vLLM from here on maps one region for all ranks (pull request 50094): not rounded


@frozen
class HostPool:
    """Bytes of one replica: as the option says, of all ranks, and as they are taken."""

    option: str
    said_bytes: float
    ranks: int  # whose pools the option gives; 1: of all together
    asked_bytes: float
    used_bytes: float
    rounded: bool


def pool(engine: str, version: str | None, said: float, ranks: int) -> HostPool:
    """What `said` bytes in the engine's option come to. Raises UserError for an engine without such an option."""
    if engine not in OPTION:
        raise UserError(
            f"--host-pool: {shown(engine)} has no option for host memory; --engine is one of {', '.join(OPTION)}"
        )
    asked = said * ranks if PER_RANK[engine] else said
    rounds = engine == "sglang" or (engine == "vllm" and version is not None and _release(version) < ONE_REGION)
    used = allocation.pinned(asked / ranks) * ranks if rounds else asked
    return HostPool(OPTION[engine], said, ranks if PER_RANK[engine] else 1, asked, float(used), rounds)


def _release(version: str) -> tuple[int, int]:
    first, _, rest = version.removeprefix("v").partition(".")
    second = rest.partition(".")[0]
    return (int(first) if first.isdecimal() else 0, int(second) if second.isdecimal() else 0)
