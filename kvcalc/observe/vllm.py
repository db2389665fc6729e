"""vLLM's start-up log, V0 and V1 (its print statements from 0.2 to 0.31)."""

import re

from kvcalc.observe.forms import Form, dtype, form
from kvcalc.observe.observation import Lookup, Meaning, Observation, Traffic
from kvcalc.observe.stated import Stated

LOOKS_FOR = "'Available KV cache memory', 'GPU KV cache size' or '# GPU blocks'"
FIGURES = frozenset(
    ("available_kv_bytes", "used_bytes", "kv_tokens", "blocks", "needed_bytes", "weights_bytes", "refusal")
)

_CONFIG = "LLM engine (v"
_START = r"Initializing an? (?:V\d )?LLM engine \(v"
_ARGS = (
    r"(?:(?:non-default )?args|(?:the current vLLM instance can use )?total_gpu_memory|Initializing an?|\w*[Cc]onfig)\b"
)
_MEMORY = r"(?:Free memory on device|Desired GPU memory|Actual usage is|Current kv cache memory)"
_INITIAL = r"(?:Initial free memory|Requested memory:)"
_REFUSAL = r"To serve at least one request"
_SIZE = r"\w+ KV cache size:"
_SERVING = r"(?:Engine \w+: )?Avg prompt throughput"
FORMS: tuple[Form, ...] = (
    # vllm/v1/engine/core.py, vllm/engine/llm_engine.py: the configuration, on one line
    form(_CONFIG, r"LLM engine \(v(?P<version>[^)\s]+)\)", opens=_START, kind="starts"),
    form(_CONFIG, r"(?<!\w)model='(?P<model>[^']+)'", opens=_START),
    form(_CONFIG, r"(?<!\w)dtype=(?P<weight_dtype>[\w.]+)", opens=_START),
    form(_CONFIG, r"\bquantization=(?P<quantization>[\w-]+)", opens=_START),
    form(_CONFIG, r"\bkv_cache_dtype='?(?P<kv_dtype>[\w.-]+)", opens=_START),
    form(_CONFIG, r"\bmax_seq_len=(?P<max_model_len>\d+)", opens=_START),
    form(_CONFIG, r"\btensor_parallel_size=(?P<tp>\d+)", opens=_START),
    form(_CONFIG, r"\bpipeline_parallel_size=(?P<pp>\d+)", opens=_START),
    form(_CONFIG, r"\bdata_parallel_size=(?P<dp>\d+)", opens=_START),
    form("vLLM API server version", r"vLLM API server version v?(?P<version>\d[^\s]*)", kind="starts"),
    form("▄█", r"version\s+v?(?P<version>\d\S*)", opens=r"[▄▀█][▄▀█ ]*version"),  # the banner of 0.12 and later
    form(
        "gpu_memory_utilization",
        r"gpu_memory_utilization'?(?:[=:] ?| \()(?P<memory_utilization>[\d.]+)",
        opens=rf"{_ARGS}|gpu_memory_utilization",
    ),
    form("kv_offloading_size", r"kv_offloading_size'?[=:] ?(?P<offload_bytes>[\d.]+)", opens=rf"{_ARGS}|kv_offloading"),
    form("block_size", r"(?:'block_size': |\bblock_size=)(?P<block_tokens>\d+)", opens=rf"{_ARGS}|block_size"),
    form("attention block size to", r"[Ss]etting attention block size to (?P<block_tokens>\d+) tokens"),
    # vllm/worker/worker.py (V0)
    form("total_gpu_memory (", r"total_gpu_memory \(<s:device_bytes>\).* = <s:requested_bytes>", opens=_ARGS),
    form(
        "model weights take",
        r"model weights take <s:weights_bytes>; non_torch_memory takes <s:non_torch_bytes>; PyTorch activation "
        r"peak memory takes <s:activation_bytes>; the rest of the memory reserved for KV Cache is "
        r"<s:available_kv_bytes>",
        opens="model weights take",
        kind="always",
    ),
    form(
        "Memory profiling results",
        r"total_gpu_memory=<s:device_bytes>.* non_torch_memory=<s:non_torch_bytes> "
        r"kv_cache_size=<s:available_kv_bytes> gpu_memory_utilization=(?P<memory_utilization>[\d.]+)",
        opens="Memory profiling results:",
    ),
    form("blocks:", r"# (?!CPU)\w+ blocks: <n:blocks>", opens=r"# (?!CPU)\w+ blocks:", kind="always"),
    form("CPU blocks:", r"# CPU blocks: <n:cpu_blocks>", opens=r"# \w+ blocks:"),
    form("Loading model weights took", r"Loading model weights took <s:weights_bytes>"),  # its GB is 2^30
    # vllm/v1/worker/gpu_worker.py, gpu_model_runner.py, vllm/v1/core/kv_cache_utils.py
    form("Model loading took", r"Model loading took <s:weights_bytes>"),
    form(
        "Available KV cache memory",
        r"Available KV cache memory: <s:available_kv_bytes>",
        opens="Available KV cache memory:",
        kind="always",
    ),
    form(
        "memory for KV Cache as specified",
        r"reserved <s:available_kv_bytes> memory for KV Cache as specified",
        opens=_INITIAL,
        kind="always",
    ),
    form(
        "Total non KV cache memory",
        r"torch peak memory increase: <s:activation_bytes>; non-torch forward increase memory: "
        r"<s:non_torch_bytes>; weights memory: <s:weights_bytes>",
        opens="(?:Memory profiling takes|Total non KV cache memory)",
    ),
    form(
        "Requested memory:",
        r"Requested memory: (?P<memory_utilization>[\d.]+) \(util\), <s:requested_bytes>",
        opens=_INITIAL,
    ),
    form("Free memory on device", r"Free memory on device[^(]*\([\d.]+/<s:device_bytes>\)"),
    form(
        "esired GPU memory utilization",
        r"esired GPU memory utilization (?:is )?\((?P<memory_utilization>[\d.]+), <s:requested_bytes>\)",
        opens=_MEMORY,
    ),
    form("GiB for weight,", r"Actual usage is <s:weights_bytes> for weight,", opens=_MEMORY),
    form("for consumed memory", r"Actual usage is <s:consumed_bytes> for consumed memory", opens=_MEMORY),  # from 0.24
    form("kv cache memory in use", r"kv cache memory in use is <s:used_bytes>", opens=_MEMORY),  # bytes in 0.10, 0.11
    form("for peak activation", r"<s:activation_bytes> for peak activation", opens=_MEMORY),
    form("for non-torch memory", r"<s:non_torch_bytes> for non-torch memory", opens=_MEMORY),
    form("for CUDAGraph memory", r"<s:graphs_bytes> for CUDAGraph memory", opens=_MEMORY),
    form("Graph capturing finished", r"Graph capturing finished in \d+ secs, took <s:graphs_bytes>"),
    form("CUDA graph pool memory", r"CUDA graph pool memory: <s:graphs_bytes> \(actual\)"),
    form("KV cache size:", r"KV cache size: <n:kv_tokens> {0,2}tokens", opens=_SIZE, kind="always"),
    form("KV cache size:", r"tokens, (?P<merged>Maximum concurrency)", opens=_SIZE),
    form(
        "Maximum concurrency",
        r"Maximum concurrency for <n:max_model_len> tokens per request: <n:max_concurrency>x",
        opens=rf"(?:{_SIZE}|Maximum concurrency for)",
        kind="always",
    ),
    form(
        "num_gpu_blocks_override",
        r"Overriding num_gpu_blocks=\d+ with num_gpu_blocks_override=(?P<override_blocks>\d+)",
    ),
    form("num_gpu_blocks", r"num_gpu_blocks(?: is:?|=|:)? ?(?P<blocks>\d+)"),
    # refusals to start
    form("No available memory for the cache", r"(?P<refusal>No available memory for the cache blocks)"),
    form(
        "KV cache is needed",
        r"max seq len \(<n:max_model_len>\), \(?<s:needed_bytes> KV cache is needed, which is larger than the "
        r"available KV cache memory \(<s:available_kv_bytes>\)",
        opens=_REFUSAL,
        kind="always",
    ),
    form("estimated maximum model length", r"estimated maximum model length is <n:fitting_tokens>", opens=_REFUSAL),
    form(
        "that can be stored in KV cache",
        r"max seq len \(<n:max_model_len>\) is larger than the maximum number of tokens that can be stored in KV cache "
        r"\(<n:kv_tokens>\)",
        opens="The model's max seq len",
    ),
    # vllm/v1/metrics/loggers.py: every ten seconds
    form("KV cache usage:", r"GPU KV cache usage: (?P<usage_percent>[\d.]+)%", opens=_SERVING, kind="repeats"),
    form("KV cache usage:", r", Prefix cache hit rate: (?P<hbm_percent>[\d.]+)%", opens=_SERVING, kind="repeats"),
    form(
        "KV cache usage:",
        r"External prefix cache hit rate: (?P<external_percent>[\d.]+)%",
        opens=_SERVING,
        kind="repeats",
    ),
)


def observed(stated: Stated) -> Observation:
    """What a vLLM log says; pool figures are the least over ranks and engines, costs the most."""
    tp, pp, dp = (int(value) if (value := stated.first(each)) else None for each in ("tp", "pp", "dp"))
    tokens, concurrency, length = (
        stated.count("kv_tokens"),
        stated.least("max_concurrency"),
        stated.last("max_model_len"),
    )
    version = stated.word("version")
    weight = stated.word("quantization") or dtype(stated.word("weight_dtype"))
    kv = stated.word("kv_dtype")
    weights = stated.most("weights_bytes")
    available = stated.least("available_kv_bytes" if stated.of("available_kv_bytes") else "used_bytes")
    pool = stated.pool(available)
    _note_ranks(stated, (tp or 1) * (pp or 1))
    return Observation(
        engine="vllm",
        version=version,
        model=stated.word("model"),
        tp=tp,
        pp=pp,
        dp=dp,
        weight_dtype=weight,
        kv_dtype=stated.known_format(dtype(stated.word("weight_dtype") if kv == "auto" else kv)),
        max_model_len=None if length is None else int(length),
        available_kv_bytes=pool,
        no_kv_memory=pool is None and (available is not None or bool(stated.of("refusal"))),
        kv_tokens=tokens,
        kv_tokens_meaning=_meaning(stated, tokens, concurrency, length, version),
        blocks=_last_count(stated, "override_blocks") or stated.count("blocks"),
        block_tokens=_last_count(stated, "block_tokens"),
        cpu_blocks=stated.count("cpu_blocks"),
        max_concurrency=concurrency,
        needed_bytes=stated.last("needed_bytes"),
        fitting_tokens=_last_count(stated, "fitting_tokens"),
        device_bytes=stated.least("device_bytes"),
        memory_utilization=stated.last("memory_utilization"),
        requested_bytes=stated.least("requested_bytes"),
        weights_bytes=weights,
        non_torch_bytes=_non_torch(stated, weights),
        activation_bytes=stated.most("activation_bytes"),
        graphs_bytes=stated.most("graphs_bytes"),
        host_pool_bytes=_host_pool(stated, tp),
        traffic=_traffic(stated),
        findings=stated.published(),
        notes=stated.noted(),
    )


def _last_count(stated: Stated, field: str) -> int | None:
    value = stated.last(field)
    return None if value is None else int(value)


def _non_torch(stated: Stated, weights: float | None) -> float | None:
    """As stated, or what is left of the weights and non-torch memory that later versions state together."""
    together = stated.most("consumed_bytes")
    if stated.of("non_torch_bytes") or together is None or weights is None:
        return stated.most("non_torch_bytes")
    stated.notes.append("non_torch_bytes: the log states it together with the weights; they are taken off")
    return together - weights


def _note_ranks(stated: Stated, ranks: int) -> None:
    """vLLM prints one rank's memory and the least tokens of all."""
    if ranks > 1 and len(stated.of("available_kv_bytes")) == 1 and stated.of("kv_tokens"):
        stated.notes.append(
            f"available_kv_bytes: one of {ranks} ranks states it, while kv_tokens is the least of all; they can be of "
            "different ranks"
        )


def _meaning(
    stated: Stated, tokens: int | None, concurrency: float | None, length: float | None, version: str | None
) -> Meaning | None:
    """What "GPU KV cache size" counts. Up to 0.19 it is blocks x block size / groups; 0.24 prints concurrency x length.

    Between the two the figures tell: the concurrency has two decimals.
    """
    if tokens is None:
        return None
    if stated.of("merged"):
        return "concurrency"
    if concurrency is not None and length and abs(tokens - concurrency * length) > 0.005 * length + 1:
        return "blocks"
    release = _release(version)
    if release and release >= (0, 24):
        return "concurrency"
    if release and release <= (0, 19):
        return "blocks"
    both = concurrency is not None and length
    stated.notes.append(
        "kv_tokens: both of vLLM's meanings give this figure, as they do for models without windows and states"
        if both
        else "kv_tokens: the log states neither its version nor the concurrency, which would tell what vLLM counted"
    )
    return None


def _release(version: str | None) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    release = (int(found[1]), int(found[2])) if found else None
    return None if release in ((0, 0), (0, 1)) else release  # 0.1.dev1+g...: a build from a checkout


def _host_pool(stated: Stated, tp: int | None) -> float | None:
    """`--kv-offloading-size` is the sum over the ranks of a tensor-parallel group."""
    size = stated.last("offload_bytes")
    if size is None:
        return None
    if tp is None:
        stated.notes.append(
            "host_pool_bytes: kv_offloading_size is of all ranks together, and their number isn't stated"
        )
        return size
    return size / tp


def _traffic(stated: Stated) -> Traffic | None:
    """The latest of the lines that vLLM prints while it serves."""
    usage, hbm, external = (stated.last(f"{each}_percent") for each in ("usage", "hbm", "external"))
    if usage is None and hbm is None:
        return None
    rates = (("hbm", hbm), ("external", external))
    return Traffic(
        pool_usage=None if usage is None else usage / 100,
        lookups=tuple(Lookup(tier, "tokens", stated_rate=rate / 100) for tier, rate in rates if rate is not None),
    )
