"""TensorRT-LLM's start-up log (its print statements from 0.8 to 1.3)."""

from kvcalc.observe.forms import Form, form
from kvcalc.observe.observation import Observation, Pool
from kvcalc.observe.stated import Stated

LOOKS_FOR = (
    "'[MemUsageChange] Allocated ... for max tokens in paged KV cache' or 'Number of blocks in KV cache primary pool'"
)
FIGURES = frozenset(("available_kv_bytes", "kv_tokens", "blocks", "free_bytes"))

_ARGS = r"(?:\w*[Cc]onfig|\w*[Aa]rgs|KvCacheConfig|free_gpu_memory_fraction)\b"
_POOL = r"Allocated [^(]{0,400} for max tokens in paged KV cache"
_PAGED = "paged KV cache"
_WINDOW = "Max KV cache blocks per sequence"
FORMS: tuple[Form, ...] = (
    form("TensorRT-LLM version", r"TensorRT-LLM version: (?P<version>\d[\w.]*?)(?:Input|\s|$)"),
    form("Engine version", r"Engine version (?P<version>\d[\w.]*) found"),
    # cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp
    form(
        _PAGED,
        r"Allocated <s:available_kv_bytes> for max tokens in paged KV cache \(<n:kv_tokens>\)",
        opens=_POOL,
        kind="always",
    ),
    form("bytes for k/v cache", r"Allocate <s:available_kv_bytes> for k/v cache"),  # 0.8
    form(_PAGED, r"Using <n:kv_tokens> (?:total )?tokens in paged KV cache"),
    form("tokens per block", r"Number of tokens per block: (?P<block_tokens>\d+)"),
    form("primary pool", r"Number of blocks in KV cache primary pool: <n:blocks>"),
    form("secondary pool", r"Number of blocks in KV cache secondary pool: <n:cpu_blocks>"),
    form(
        _WINDOW,
        r"\[window size=(?P<window>\d+)\], tokens per block=(?P<block_tokens>\d+), primary blocks=<n:blocks>, "
        r"secondary blocks=<n:cpu_blocks>(?:, max sequence length=<n:max_model_len>)?",
        opens=_WINDOW,
    ),
    form(
        "max tokens in paged kv cache", r"total: <s:device_bytes>, available: <s:free_bytes>", opens="Memory usage when"
    ),
    form("execution context memory", r"Allocated <s:activation_bytes> for execution context memory"),
    form("Loaded engine size", r"Loaded engine size: <s:weights_bytes>"),
    # tensorrt_llm/_torch/pyexecutor
    form("max_num_requests=", r"\bmax_seq_len=<n:max_model_len>, max_num_requests=", opens=r"max_seq_len="),
    form("maxSequenceLen:", r"TRTGptModel maxSequenceLen: <n:max_model_len>"),
    form("free_gpu_memory_fraction", r"free_gpu_memory_fraction'?[=:] ?(?P<memory_utilization>[\d.]+)", opens=_ARGS),
)


def observed(stated: Stated) -> Observation:
    """What a TensorRT-LLM log says. It allocates a trial pool first, so the last statement counts.

    `memory_utilization` is of the memory that is free after the weights.
    """
    if len({finding.value for finding in stated.of("available_kv_bytes")}) > 1:
        stated.notes.append("available_kv_bytes: the log states several pools, as after a trial; the last is read")
    size = stated.last("available_kv_bytes") or None  # AutoDeploy prints 0.00 GiB of a fake pool
    pool = stated.pool(size, "available_kv_bytes")
    pools = _windows(stated)
    length, blocks = _count(stated, "max_model_len"), _count(stated, "blocks")
    return Observation(
        engine="trtllm",
        version=stated.word("version"),
        max_model_len=length,
        available_kv_bytes=pool,
        no_kv_memory=size is not None and pool is None,
        kv_tokens=_tokens(stated),
        blocks=blocks,
        block_tokens=_count(stated, "block_tokens"),
        cpu_blocks=_count(stated, "cpu_blocks"),
        pools=pools if len(pools) > 1 else (),
        device_bytes=stated.last("device_bytes"),
        memory_utilization=stated.last("memory_utilization"),
        weights_bytes=stated.most("weights_bytes"),
        activation_bytes=stated.most("activation_bytes"),
        findings=stated.published(),
        notes=stated.noted(),
    )


def _count(stated: Stated, field: str) -> int | None:
    value = stated.last(field)
    return None if value is None else int(value)


def _tokens(stated: Stated) -> int | None:
    """As stated; else blocks x tokens per block."""
    tokens, blocks, each = (_count(stated, field) for field in ("kv_tokens", "blocks", "block_tokens"))
    return blocks * each if tokens is None and blocks is not None and each is not None else tokens


def _windows(stated: Stated) -> tuple[Pool, ...]:
    """Attention windows of different sizes have pools of their own; the largest window is the full attention's."""
    latest = {row["window"].value: row for row in stated.rows("window")}
    widest = max(map(float, latest), default=0.0)
    return tuple(
        Pool(
            "full" if float(window) == widest else "window",
            tokens=int(float(row["blocks"].value) * float(row["block_tokens"].value)),
        )
        for window, row in latest.items()
    )
