"""vLLM's start-up log, V0 and V1 (its print statements from 0.2 to 0.31)."""

import re

from kvcalc.observe.forms import Form, Stated, dtype, form
from kvcalc.observe.observation import Lookup, Meaning, Observation, Traffic

LOOKS_FOR = "'Available KV cache memory', 'GPU KV cache size' or '# GPU blocks'"
FIGURES = frozenset(("available_kv_bytes", "used_bytes", "kv_tokens", "blocks", "needed_bytes", "weights_bytes"))

BLOCK = 16  # tokens; every --block-size is a multiple of it
_CONFIG = "LLM engine (v"
FORMS: tuple[Form, ...] = (
    # vllm/v1/engine/core.py, vllm/engine/llm_engine.py: the configuration, on one line
    form(_CONFIG, r"LLM engine \(v(?P<version>[^)\s]+)\)", starts=True),
    form(_CONFIG, r"(?<!\w)model='(?P<model>[^']+)'"),
    form(_CONFIG, r"(?<!\w)dtype=(?P<weight_dtype>[\w.]+)"),
    form(_CONFIG, r"\bquantization=(?P<quantization>\w+)"),
    form(_CONFIG, r"\bkv_cache_dtype=(?P<kv_dtype>\w+)"),
    form(_CONFIG, r"\bmax_seq_len=<c:max_model_len>"),
    form(_CONFIG, r"\btensor_parallel_size=(?P<tp>\d+)"),
    form(_CONFIG, r"\bpipeline_parallel_size=(?P<pp>\d+)"),
    form(_CONFIG, r"\bdata_parallel_size=(?P<dp>\d+)"),
    form("vLLM API server version", r"vLLM API server version v?(?P<version>\d[^\s]*)", starts=True),
    form("▄█", r"version\s+v?(?P<version>\d\S*)"),  # the banner of 0.12 and later
    form("gpu_memory_utilization", r"gpu_memory_utilization'?(?:[=:] ?| \()(?P<memory_utilization>[\d.]+)"),
    form("kv_offloading_size", r"kv_offloading_size'?[=:] ?<n:offload_bytes>"),
    form("block_size", r"(?:'block_size': |\bblock_size=)(?P<block_tokens>\d+)"),
    form("attention block size to", r"[Ss]etting attention block size to (?P<block_tokens>\d+) tokens"),
    # vllm/worker/worker.py (V0)
    form("total_gpu_memory (", r"total_gpu_memory \(<n:device_bytes>GiB\).* = <n:requested_bytes>GiB"),
    form(
        "model weights take",
        r"model weights take <n:weights_bytes>GiB; non_torch_memory takes <n:non_torch_bytes>GiB; PyTorch activation "
        r"peak memory takes <n:activation_bytes>GiB; the rest of the memory reserved for KV Cache is "
        r"<n:available_kv_bytes>GiB",
    ),
    form(
        "Memory profiling results",
        r"total_gpu_memory=<n:device_bytes>GiB.* non_torch_memory=<n:non_torch_bytes>GiB "
        r"kv_cache_size=<n:available_kv_bytes>GiB gpu_memory_utilization=(?P<memory_utilization>[\d.]+)",
    ),
    form("blocks:", r"# (?!CPU)\w+ blocks: <c:blocks>"),
    form("CPU blocks:", r"# CPU blocks: <c:cpu_blocks>"),
    form("Loading model weights took", r"Loading model weights took <n:weights_bytes> ?Gi?B"),  # divided by 2^30
    # vllm/v1/worker/gpu_worker.py, gpu_model_runner.py, vllm/v1/core/kv_cache_utils.py
    form("Model loading took", r"Model loading took <n:weights_bytes> Gi?B"),
    form("Available KV cache memory", r"Available KV cache memory: <n:available_kv_bytes> GiB"),
    form("memory for KV Cache as specified", r"reserved <n:available_kv_bytes> GiB memory for KV Cache as specified"),
    form(
        "Total non KV cache memory",
        r"torch peak memory increase: <n:activation_bytes>GiB; non-torch forward increase memory: "
        r"<n:non_torch_bytes>GiB; weights memory: <n:weights_bytes>GiB",
    ),
    form("Requested memory:", r"Requested memory: (?P<memory_utilization>[\d.]+) \(util\), <n:requested_bytes> GiB"),
    form("Free memory on device", r"Free memory on device[^(]*\([\d.]+/<n:device_bytes> GiB\)"),
    form(
        "desired GPU memory utilization",
        r"desired GPU memory utilization \((?P<memory_utilization>[\d.]+), <n:requested_bytes> GiB\)",
    ),
    form(
        "Desired GPU memory utilization",
        r"Desired GPU memory utilization is \((?P<memory_utilization>[\d.]+), <n:requested_bytes> GiB\)",
    ),
    form("GiB for weight,", r"Actual usage is <n:weights_bytes> GiB for weight,"),
    form("GiB for consumed memory", r"Actual usage is <n:consumed_bytes> GiB for consumed memory"),  # 0.24 and later
    form("kv cache memory in use", r"kv cache memory in use is <n:used_bytes> GiB"),
    form("kv cache memory in use", r"kv cache memory in use is <c:used_bytes> bytes", "B"),  # 0.10, 0.11
    form("for peak activation", r"<n:activation_bytes> GiB for peak activation"),
    form("for non-torch memory", r"<n:non_torch_bytes> GiB for non-torch memory"),
    form("for CUDAGraph memory", r"<n:graphs_bytes> GiB for CUDAGraph memory"),
    form("Graph capturing finished", r"Graph capturing finished in \d+ secs, took <n:graphs_bytes> GiB"),
    form("CUDA graph pool memory", r"CUDA graph pool memory: <n:graphs_bytes> GiB \(actual\)"),
    form("KV cache size:", r"KV cache size: <c:kv_tokens> tokens"),
    form("KV cache size:", r"KV cache size: [\d,]+ tokens, (?P<merged>Maximum concurrency)"),
    form(
        "Maximum concurrency",
        r"Maximum concurrency for <c:max_model_len> tokens per request: <n:max_concurrency>x",
    ),
    form("num_gpu_blocks_override", r"Overriding num_gpu_blocks=\d+ with num_gpu_blocks_override=(?P<blocks>\d+)"),
    form("num_gpu_blocks", r"(?<!Overriding )num_gpu_blocks(?: is:?|=|:)? ?(?P<blocks>\d+)"),
    # refusals to start
    form(
        "KV cache is needed",
        r"max seq len \(<c:max_model_len>\), \(?<n:needed_bytes> GiB KV cache is needed, which is larger than the "
        r"available KV cache memory \(<n:available_kv_bytes> GiB\)",
    ),
    form("estimated maximum model length", r"estimated maximum model length is <c:fitting_tokens>"),
    form(
        "that can be stored in KV cache",
        r"max seq len \(<c:max_model_len>\) is larger than the maximum number of tokens that can be stored in KV cache "
        r"\(<c:kv_tokens>\)",
    ),
    # vllm/v1/metrics/loggers.py: every ten seconds
    form("KV cache usage:", r"GPU KV cache usage: <n:usage_percent>%", repeats=True),
    form("refix cache hit rate:", r", Prefix cache hit rate: <n:hbm_percent>%", repeats=True),
    form("External prefix cache", r"External prefix cache hit rate: <n:external_percent>%", repeats=True),
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
    _note_ranks(stated, (tp or 1) * (pp or 1))
    return Observation(
        engine="vllm",
        version=version,
        model=stated.word("model"),
        tp=tp,
        pp=pp,
        dp=dp,
        weight_dtype=weight,
        kv_dtype=dtype(stated.word("weight_dtype")) if kv == "auto" else dtype(kv),
        max_model_len=None if length is None else int(length),
        available_kv_bytes=stated.least("available_kv_bytes" if stated.of("available_kv_bytes") else "used_bytes"),
        kv_tokens=tokens,
        kv_tokens_meaning=_meaning(stated, tokens, concurrency, length, version),
        blocks=stated.count("blocks"),
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
        findings=tuple(stated.findings),
        notes=tuple(stated.notes),
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
    if tokens % BLOCK:
        return "concurrency"
    both = concurrency is not None and length
    stated.notes.append(
        "kv_tokens: it is concurrency x the longest length; without windows and states, blocks x block size is the same"
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
