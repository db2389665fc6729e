"""The lines of vLLM's start-up log, V0 and V1 (its print statements from 0.2 to 0.31)."""

from kvcalc.observe.forms import Form, form

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
