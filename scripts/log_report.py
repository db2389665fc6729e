"""Start-up logs made of the line forms and the public figures, read back and compared with what kvcalc predicts.

python scripts/log_report.py            # one line a row
"""

# ruff: noqa: E501  (lines of logs are as long as engines print them)

from dataclasses import replace
from typing import Any

from log_rows import KV, Row, models, profile, rows

from kvcalc.answers.capacity_log import compare
from kvcalc.answers.log_result import LogAnswer
from kvcalc.observe import logs
from kvcalc.observe.observation import Lookup, Observation, Traffic, Transfer
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model

QWEN27 = "Qwen/Qwen3.6-27B"
ALIASES = {  # rows whose model stands under a longer name
    "Qwen3.6-27B NVFP4 + MTP": QWEN27, "Qwen3.6-27B (AutoRound int4)": QWEN27, "Qwen3.6-27B": QWEN27,
    "Qwen3.5-122B-A10B NVFP4 + MTP": "Qwen/Qwen3.5-122B-A10B",
    "Qwen3.5-122B-A10B NVFP4 (no MTP)": "Qwen/Qwen3.5-122B-A10B",
    "Qwen3.6-35B-A3B NVFP4": "Qwen/Qwen3.6-35B-A3B", "Qwen3.8-27B-FP8": QWEN27, "Qwen/Qwen3.8-27B-FP8": QWEN27,
    "Qwen3.8-27B NVFP4": QWEN27, "Qwen3.6-27B FP8, int8 per-token-head KV": QWEN27,
    "Qwen/Qwen3.5-27B or 35B-A3B (report names both)": QWEN27,
}  # fmt: skip
FORMATS = {
    "8-bit (fp8_e5m2 or int8 per-token-head)": "int8_per_token_head", "fp8_e5m2": "fp8", "q8_0 (c^KV only)": "q8_0",
    "fp8 codes + fp32 scale per (token, head)": "fp8_per_token_head", "fp8 asked, bf16 allocated": "fp8",
    "fp8 (stated for the profile family)": "fp8",
}  # fmt: skip


SHIPPED = {  # rows of models that ship, or of the same kinds of layers
    "lcpp-r1-mha": "deepseek-r1", "ik-259": "deepseek-r1", "spark-57b": "deepseek-v4-pro", "vllm-44376": "deepseek-v4-pro",
    "vllm-51454dp8": "deepseek-v4-pro", "tpu-1285": "llama3.1-8b",
}  # fmt: skip
GATED_DELTA = {
    "kind": "recurrent", "rule": "gated-delta", "heads": 32, "key_width": 128, "value_width": 128, "state_bytes": 4,
    "conv_channels": 8192, "conv_kernel": 4, "conv_bytes": 2, "input_width": 12352,
}  # fmt: skip


def model(row: Row, known: dict[str, Model]) -> Model | None:
    """The row's model: by its name, else of the layers that the row itself gives."""
    if row.id in SHIPPED:
        return catalog.model(SHIPPED[row.id])
    named = known.get(ALIASES.get(row.raw["model"], row.raw["model"]))
    config = row.raw.get("config")
    if named or not config:
        return named
    groups = [_layers(config)]
    if "full_attn_layers" in config and row.raw["engine"] != "FreeToken":  # three linear layers to one of attention
        groups.append(GATED_DELTA | {"layers": 3 * config["full_attn_layers"]})
    return profile(row.raw["model"], {"hidden": 1024, "vocabulary": 1000, "groups": groups})


def _layers(config: dict[str, Any]) -> dict[str, Any]:
    layers = config.get("full_attn_layers", config.get("layers"))
    if "mla" in config:
        mla = config["mla"]
        return {
            "kind": "latent", "layers": layers, "heads": 128, "rank": mla["kv_lora_rank"], "nope": 128,
            "rope": mla["qk_rope_head_dim"], "value_width": 128,
        }  # fmt: skip
    heads, width = config.get("kv_heads", config.get("heads", 1)), config.get("head_dim", 128)
    return {"kind": "full", "layers": layers, "heads": heads, "kv_heads": heads, "width": width}


def text(row: Row) -> str | None:
    """The row as the lines that its engine prints; None for an engine that none of the forms is of."""
    facts, raw = row.facts, row.raw
    writers = {"vllm": _vllm, "sglang": _sglang, "tensorrt-llm": _trtllm, "lmcache": _lmcache, "llama.cpp": _llamacpp,
               "ik_llama.cpp": _llamacpp}  # fmt: skip
    writer = writers.get(raw["engine"])
    return "\n".join(writer(raw, facts)) + "\n" if writer else None


def _vllm(raw: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    length = raw["max_model_len"]
    version = str(raw["engine_version"]).split()[0]
    version = version if version[:2] in ("0.", "1.") else ""
    lines = [
        f"INFO 08-11 07:45:00 [core.py:77] Initializing a V1 LLM engine (v{version or '0.1.dev1'}) with config: model='{raw['model']}', "
        f"tensor_parallel_size={raw['tp']}, pipeline_parallel_size={raw['pp']}, data_parallel_size={raw.get('dp') or 1}"
        + (f", max_seq_len={length}" if length else "")
    ]
    if "num_cpu_blocks" in facts:
        lines.append(
            f"INFO 08-11 07:45:02 [executor_base.py:112] # cuda blocks: {facts['num_gpu_blocks']}, # CPU blocks: {facts['num_cpu_blocks']}"
        )
    elif "num_gpu_blocks" in facts and "kv_tokens" not in facts:
        lines.append(
            f"INFO 08-11 07:45:02 [executor_base.py:112] # cuda blocks: {facts['num_gpu_blocks']}, # CPU blocks: 0"
        )
    if "activation_peak_gib" in facts:
        lines.append(
            f"INFO 08-11 07:45:03 [gpu_worker.py:391] Free memory on device (78.66/79.19 GiB) on startup. Desired GPU memory utilization "
            f"is ({raw['gpu_memory_utilization']}, {facts['requested_gib']} GiB). Actual usage is {facts['weights_gib']} GiB for weight, "
            f"{facts['activation_peak_gib']} GiB for peak activation, {facts['non_torch_gib']} GiB for non-torch memory, and 0.9 GiB for CUDAGraph memory."
        )
    if "available_kv_gib" in facts and "needed_gib" not in facts:
        lines.append(
            f"INFO 08-11 07:45:03 [gpu_worker.py:298] Available KV cache memory: {facts['available_kv_gib']:.2f} GiB"
        )
    tokens = facts.get("kv_tokens", facts.get("kv_tokens_with_offload_connector"))
    concurrency = facts.get("max_concurrency")
    if "max_concurrency_sum" in facts:  # of all replicas; each prints its own
        concurrency = facts["max_concurrency_sum"] / raw["dp"]
        tokens = int(concurrency * length)
    if tokens and "num_cpu_blocks" not in facts:
        lines.append(f"INFO 08-11 07:45:04 [kv_cache_utils.py:864] GPU KV cache size: {tokens:,} tokens")
    if concurrency and length:
        lines.append(
            f"INFO 08-11 07:45:04 [kv_cache_utils.py:868] Maximum concurrency for {length:,} tokens per request: {concurrency:.2f}x"
        )
    if "needed_gib" in facts:
        lines.append(
            f"ValueError: To serve at least one request with the models's max seq len ({length}), ({facts['needed_gib']:.2f} GiB KV cache is "
            f"needed, which is larger than the available KV cache memory ({facts['available_kv_gib']:.2f} GiB). Based on the available memory, "
            f"the estimated maximum model length is {facts['est_max_len']}."
        )
    return lines


def _sglang(raw: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    stamp = "[2026-03-11 13:53:23 TP0]"
    lines = [f"{stamp} server_args=ServerArgs(model_path='{raw['model']}', tp_size={raw['tp'] or 1})"]
    if "mamba_slots" in facts:
        lines.append(
            f"{stamp} Mamba Cache is allocated. max_mamba_cache_size: {facts['mamba_slots']}, conv_state size: "
            f"{facts.get('conv_state_gb', 0.0):.2f}GB, ssm_state size: {facts['ssm_state_gb']:.2f}GB "
        )
    if "k_size_gb" in facts:
        lines.append(
            f"{stamp} KV Cache is allocated. #tokens: {facts['kv_tokens']}, K size: {facts['k_size_gb']:.2f} GB, V size: {facts['v_size_gb']:.2f} GB"
        )
    elif "kv_tokens" in facts:
        size = facts.get("kv_size_gb", facts.get("kv_gb"))
        lines.append(f"{stamp} KV Cache is allocated. #tokens: {facts['kv_tokens']}, KV size: {size:.2f} GB")
    tokens = facts.get("max_total_num_tokens", facts.get("kv_tokens", facts.get("max_total_num_tokens_after")))
    if tokens:
        lines.append(
            f"{stamp} max_total_num_tokens={tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, context_len=131072"
        )
    if "host_pool_gb_per_rank" in facts:
        lines.append(
            f"{stamp} Allocating {facts['host_pool_gb_per_rank']:.2f} GB host memory for hierarchical KV cache."
        )
    return lines


def _trtllm(_: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    stamp = "[TensorRT-LLM][INFO]"
    lines = [f"{stamp} Number of tokens per block: {facts['tokens_per_block']}."] if "tokens_per_block" in facts else []
    if "kv_gib" in facts:
        lines.append(
            f"{stamp} [MemUsageChange] Allocated {facts['kv_gib']:.2f} GiB for max tokens in paged KV cache ({facts['kv_tokens']})."
        )
    elif "kv_bytes" in facts:
        lines += [
            f"{stamp} Allocate {facts['kv_bytes']} bytes for k/v cache. ",
            f"{stamp} Using {facts['kv_tokens']} tokens in paged KV cache.",
        ]
    else:
        lines += [
            f"{stamp} Number of blocks in KV cache primary pool: {facts['num_blocks']}",
            f"{stamp} Memory usage when calculating max tokens in paged kv cache: total: 39.39 GiB, available: {facts['available_gib']} GiB",
        ]
    return lines


def _lmcache(_: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    stamp = "[2026-05-02 12:00:00,123] LMCache INFO:"
    lines = []
    if "stored_tokens" in facts:
        lines.append(
            f"{stamp} Stored {facts['stored_tokens']} out of total {facts['stored_tokens']} tokens. size: {facts['size_gb']:.4f} gb, "
            f"cost {facts['cost_ms']:.4f} ms, throughput: {facts['throughput_gb_s']:.4f} GB/s; offload_time: 1 ms, put_time: 1 ms"
        )
    elif "size_gb" in facts:
        tokens = facts["retrieved_tokens"]
        lines.append(
            f"{stamp} Retrieved {tokens} out of {tokens} required tokens (from {tokens} total tokens). size: {facts['size_gb']:.4f} gb, "
            f"cost {facts['cost_ms']:.4f} ms, throughput: {facts['throughput_gb_s']:.4f} GB/s"
        )
    elif "l1_bytes_gb" in facts:
        size = facts["l1_bytes_gb"] * 1e9 / 2**30
        lines += [
            f"{stamp} chunk_size: {facts['chunk_tokens']}",
            f"{stamp} Stored {facts['session_tokens']} out of total {facts['session_tokens']} tokens. size: {size:.4f} gb, cost 1.0 ms, throughput: 1.0 GB/s",
        ]
    return lines


def _llamacpp(raw: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    cells = facts.get("n_ctx", raw["max_model_len"] or 512)
    size = facts.get("kv_self_mib", facts.get("bytes_per_token_implied", 0) * cells / 2**20)
    form = "q8_0" if "q8_0" in str(raw["kv_cache_dtype"]) else "f16"
    lines = [
        f"llama_kv_cache_init: kv_size = {cells}, offload = 1, type_k = '{form}', type_v = '{form}', n_layer = {facts['layers']}, can_shift = 1"
    ]
    if "k_mib" in facts:
        return [
            *lines,
            f"llama_context_kv_self: KV self size  = {size:.2f} MiB, K ({form}): {facts['k_mib']:.2f} MiB, V ({form}): {facts['v_mib']:.2f} MiB",
        ]
    if form == "q8_0":
        return [
            *lines,
            f"llama_new_context_with_model: KV self size  = {size:.2f} MiB, c^KV ({form}): {size:.2f} MiB, kv^T: not used",
        ]
    return [
        *lines,
        f"llama_new_context_with_model: KV self size  = {size:.2f} MiB, K ({form}): {size * 0.6:.2f} MiB, V ({form}): {size * 0.4:.2f} MiB",
    ]


def observation(row: Row) -> Observation:
    """The row's log read back; of engines without a reader, and of counters, the figures themselves."""
    facts, raw = row.facts, row.raw
    if "load_bytes" in facts:
        hits = Lookup("external", "tokens", asked=facts["external_queries_tokens"], found=facts["external_hits_tokens"])
        moved = Transfer("dram", "hbm", bytes=facts["load_bytes"])
        return Observation("vllm", tp=raw["tp"], traffic=Traffic(lookups=(hits,), transfers=(moved,)))
    if row.id in SPECIAL:
        return SPECIAL[row.id](raw, facts)
    written = text(row)
    if written is not None:
        return logs.parse(written)
    gib = facts.get(
        "available_kv_gib", facts.get("kv_gib", facts.get("pool_gb_per_rank", facts.get("kv_mib", 0) / 1024))
    )
    return Observation(
        "vllm",
        model=raw["model"],
        tp=raw["tp"],
        available_kv_bytes=gib * 2**30,
        kv_tokens=facts["kv_tokens"],
        kv_tokens_meaning="blocks",
    )


def _chunk(raw: dict[str, Any], facts: dict[str, Any]) -> Observation:
    moved = Transfer(
        "hbm", "lmcache", bytes=facts["bytes_per_chunk_per_rank"] * raw["tp"], tokens=facts["chunk_tokens"]
    )
    return Observation("lmcache", tp=raw["tp"], block_tokens=facts["chunk_tokens"], traffic=Traffic(transfers=(moved,)))


def _padded(raw: dict[str, Any], facts: dict[str, Any]) -> Observation:
    """Pages of 32 tokens four times as large as they were planned."""
    blocks = facts["blocks_after_fix"]
    return Observation(
        "vllm",
        tp=raw["tp"],
        available_kv_bytes=blocks * facts["page_bytes_actual"],
        kv_tokens=blocks * 32,
        kv_tokens_meaning="blocks",
    )


def _ignored(_: dict[str, Any], facts: dict[str, Any]) -> Observation:
    return Observation(
        "vllm",
        version="0.24.0",
        tp=1,
        kv_dtype="fp8",
        available_kv_bytes=facts["kv_gib_implied_bf16"] * 2**30,
        kv_tokens=facts["kv_tokens"],
    )


def _swap(raw: dict[str, Any], facts: dict[str, Any]) -> Observation:
    """`swap_space` is 4 GiB a GPU: the blocks of host memory weigh a token."""
    return Observation(
        "vllm", tp=raw["tp"], available_kv_bytes=4.0 * 2**30, blocks=facts["num_cpu_blocks"], block_tokens=16
    )


def _host(_: dict[str, Any], facts: dict[str, Any]) -> Observation:
    return Observation(
        "sglang", available_kv_bytes=facts["host_pool_gb_per_rank"] * 1e9, kv_tokens=2 * facts["max_total_num_tokens"]
    )


SPECIAL = {
    "lmc-485": _chunk,
    "tpu-1285": _padded,
    "tpu-3126": _ignored,
    "vllm-2418": _swap,
    "vllm-5248": _swap,
    "hicache-354": _host,
}


def answered(row: Row, known: dict[str, Model]) -> LogAnswer:
    """The comparison of a row."""
    found = observation(row)
    kv = FORMATS.get(row.raw.get("kv_cache_dtype") or "", row.raw.get("kv_cache_dtype"))
    kv = KV.get(kv or "", kv)
    found = replace(found, model=row.raw["model"], kv_dtype=kv)
    return compare(found, model(row, known), tp=row.raw["tp"], pp=row.raw["pp"])


if __name__ == "__main__":
    known = models()
    for row in rows():
        answer = answered(row, known)
        codes = "+".join(each.code for each in answer.reasons) or "-"
        figures = ", ".join(f"{each.figure} {each.ratio:.4f}" for each in answer.comparisons if each.ratio)
        print(f"{row.id}: {codes} (said: {row.raw.get('mismatch_reason') or '-'}); {figures}; {answer.variant or ''}")
