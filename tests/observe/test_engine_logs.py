"""Logs made of the line forms and the 92 public start-up figures are read back, figure by figure."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvcalc.errors import UserError
from kvcalc.observe import logs

GIB = 2**30
DATA = Path(__file__).parents[1] / "data" / "engine_logs.yaml"
ROWS: list[dict[str, Any]] = yaml.safe_load(DATA.read_text(encoding="utf-8"))["entries"]


def rows(engine: str, states: Callable[[dict[str, Any]], bool] = bool) -> Any:
    """The rows of an engine, of those that state what a log prints."""
    chosen = [row for row in ROWS if row["engine"] == engine and states(row)]
    assert chosen
    return pytest.mark.parametrize("row", chosen, ids=[row["id"] for row in chosen])


def vllm(row: dict[str, Any]) -> Iterator[str]:
    """The lines of log_lines.txt and of vLLM's sources, with the figures of the row."""
    facts, length = row["facts"], row.get("max_model_len") or 8192
    at = "(EngineCore_DP0 pid=4242) INFO 09-20 10:33:02"
    if "weights_gib" in facts:
        yield f"{at} [gpu_model_runner.py:2602] Model loading took {facts['weights_gib']} GiB and 23.1 seconds"
    if "activation_peak_gib" in facts:
        yield (
            f"{at} [gpu_worker.py:391] Free memory on device (78.66/79.19 GiB) on startup. Desired GPU memory utilization "
            f"is (0.95, {facts['requested_gib']} GiB). Actual usage is {facts['weights_gib']} GiB for weight, "
            f"{facts['activation_peak_gib']} GiB for peak activation, {facts['non_torch_gib']} GiB for non-torch memory, "
            f"and {facts['cuda_graph_actual_gib']} GiB for CUDAGraph memory. Replace gpu_memory_utilization config"
        )
    if "needed_gib" in facts:
        yield (
            f"ValueError: To serve at least one request with the model's max seq len ({length}), "
            f"({facts['needed_gib']} GiB KV cache is needed, which is larger than the available KV cache memory "
            f"({facts['available_kv_gib']} GiB). Based on the available memory, the estimated maximum model length is "
            f"{facts['est_max_len']}."
        )
    elif "available_kv_gib" in facts:
        yield f"{at} [gpu_worker.py:298] Available KV cache memory: {facts['available_kv_gib']} GiB"
    if "num_gpu_blocks" in facts:
        yield f"{at} [executor_base.py:112] # cuda blocks: {facts['num_gpu_blocks']}, # CPU blocks: {facts.get('num_cpu_blocks', 0)}"
    if "kv_tokens" in facts:
        yield f"{at} [kv_cache_utils.py:864] GPU KV cache size: {facts['kv_tokens']:,} tokens"
    if "max_concurrency" in facts:
        yield f"{at} [kv_cache_utils.py:868] Maximum concurrency for {length:,} tokens per request: {facts['max_concurrency']}x"


@rows("vllm", lambda row: any(vllm(row)))  # five rows state counters, not a log
def test_vllm_figures_are_read_back(row):
    facts = row["facts"]
    seen = logs.parse("\n".join(vllm(row)))
    assert seen.engine == "vllm"
    expected = {
        "kv_tokens": facts.get("kv_tokens"),
        "max_concurrency": facts.get("max_concurrency"),
        "blocks": facts.get("num_gpu_blocks"),
        "fitting_tokens": facts.get("est_max_len"),
    }
    assert {name: getattr(seen, name) for name in expected} == expected
    sizes = {
        "available_kv_bytes": "available_kv_gib",
        "weights_bytes": "weights_gib",
        "activation_bytes": "activation_peak_gib",
        "non_torch_bytes": "non_torch_gib",
        "graphs_bytes": "cuda_graph_actual_gib",
        "requested_bytes": "requested_gib",
        "needed_bytes": "needed_gib",
    }
    for name, fact in sizes.items():
        stated = facts.get(fact)
        assert getattr(seen, name) == (None if stated is None else pytest.approx(stated * GIB)), name


def test_the_rows_that_say_what_vllm_counted_are_recognised():
    """`print_definition_old_hybrid`: blocks x block size / groups, which is not concurrency x length."""
    old = [
        row for row in ROWS if row.get("mismatch_reason") == "print_definition_old_hybrid" and row.get("max_model_len")
    ]
    assert len(old) >= 4
    for row in old:
        if "kv_tokens" in row["facts"]:
            assert logs.parse("\n".join(vllm(row))).kv_tokens_meaning == "blocks", row["id"]


@rows("sglang")
def test_sglang_figures_are_read_back(row):
    facts = row["facts"]
    at, lines = "[2026-03-11 13:53:23 TP0]", []
    if "weights_gb" in facts:
        lines.append(
            f"{at} Load weight end. elapsed=23.18 s, type=X, dtype=torch.bfloat16, avail mem=61.98 GB, "
            f"mem usage={facts['weights_gb']} GB."
        )
    if "ssm_state_gb" in facts:
        lines.append(
            f"{at} Mamba Cache is allocated. max_mamba_cache_size: {facts['mamba_slots']}, conv_state size: "
            f"{facts.get('conv_state_gb', 0)}GB, ssm_state size: {facts['ssm_state_gb']}GB "
        )
    size = facts.get("kv_size_gb", facts.get("kv_gb"))
    if size is not None:
        lines.append(f"{at} KV Cache is allocated. #tokens: {facts['kv_tokens']}, KV size: {size} GB")
    elif "k_size_gb" in facts:
        lines.append(
            f"{at} KV Cache is allocated. #tokens: {facts['kv_tokens']}, K size: {facts['k_size_gb']} GB, "
            f"V size: {facts['v_size_gb']} GB"
        )
    total = facts.get("max_total_num_tokens", facts.get("max_total_num_tokens_after"))
    if total is not None:
        lines.append(f"{at} max_total_num_tokens={total}, chunked_prefill_size=8192, context_len=131072")
    host = facts.get("host_pool_gb_per_rank")
    if host is not None:
        lines.append(f"{at} Allocating {host:.2f} GB host memory for hierarchical KV cache.")
    seen = logs.parse("\n".join(lines))
    assert seen.engine == "sglang"
    assert seen.kv_tokens == facts.get("kv_tokens", total)
    if "k_size_gb" in facts or size is not None:
        pool = size if size is not None else facts["k_size_gb"] + facts["v_size_gb"]
        assert seen.available_kv_bytes == pytest.approx(pool * GIB)
    assert seen.host_pool_bytes == (None if host is None else pytest.approx(host * 1e9))
    states = [pool for pool in seen.pools if pool.kind == "state"]
    assert [pool.slots for pool in states] == ([facts["mamba_slots"]] if "ssm_state_gb" in facts else [])


@rows("tensorrt-llm")
def test_tensorrt_llm_figures_are_read_back(row):
    facts = row["facts"]
    lines = []
    if "kv_bytes" in facts:
        lines.append(f"[TensorRT-LLM][INFO] Allocate {facts['kv_bytes']} bytes for k/v cache. ")
        lines.append(f"[TensorRT-LLM][INFO] Using {facts['kv_tokens']} tokens in paged KV cache.")
    if "available_gib" in facts:
        lines.append(
            "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 79.10 GiB, "
            f"available: {facts['available_gib']} GiB"
        )
    if "num_blocks" in facts:
        lines.append(f"[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: {facts['num_blocks']}")
    if "tokens_per_block" in facts:
        lines.append(f"[TensorRT-LLM][INFO] Number of tokens per block: {facts['tokens_per_block']}.")
    if "kv_gib" in facts:
        lines.append(
            f"[TensorRT-LLM][INFO] [MemUsageChange] Allocated {facts['kv_gib']} GiB for max tokens in paged KV cache "
            f"({facts['kv_tokens']})."
        )
    seen = logs.parse("\n".join(lines))
    assert seen.engine == "trtllm"
    size = facts.get("kv_bytes", facts["kv_gib"] * GIB if "kv_gib" in facts else None)
    assert seen.available_kv_bytes == (None if size is None else pytest.approx(size))
    assert seen.kv_tokens == facts.get("kv_tokens", facts.get("num_blocks", 0) * facts.get("tokens_per_block", 0))
    assert seen.block_tokens == facts.get("tokens_per_block")


@rows("lmcache", lambda row: "size_gb" in row["facts"])  # two rows state no transfer
def test_lmcache_figures_are_read_back(row):
    facts, lines = row["facts"], []
    if "stored_tokens" in facts:
        tokens = facts["stored_tokens"]
        lines.append(
            f"[2026-05-02 12:00:00,123] LMCache INFO: Stored {tokens} out of total {tokens} tokens. size: "
            f"{facts['size_gb']:.4f} gb, cost {facts['cost_ms']:.4f} ms, throughput: {facts['throughput_gb_s']} GB/s; "
            "offload_time: 1.0 ms, put_time: 1.0 ms (cache_engine.py:253:lmcache.v1.cache_engine)"
        )
    else:
        tokens = facts["retrieved_tokens"]
        lines.append(
            f"[2026-05-02 12:00:05,456] LMCache INFO: Retrieved {tokens} out of {tokens} required tokens (from {tokens} "
            f"total tokens). size: {facts['size_gb']} gb, cost {facts['cost_ms']} ms, throughput: 1 GB/s;"
        )
    (moved,) = logs.parse("\n".join(lines)).traffic.transfers
    assert moved.tokens == tokens
    assert moved.bytes == pytest.approx(facts["size_gb"] * GIB)
    if facts["cost_ms"] > 5:  # shorter costs are printed too coarsely to compare
        assert moved.bytes_per_s == pytest.approx(facts["throughput_gb_s"] * GIB, rel=0.001)  # its "GB/s" is 2^30 too


def test_llama_cpp_figures_are_read_back():
    facts = next(row["facts"] for row in ROWS if row["id"] == "lcpp-qwen25")
    text = (
        f"llama_context: KV self size  =  {facts['kv_self_mib']:.2f} MiB, K (f16):   {facts['k_mib']:.2f} MiB, "
        f"V (f16):   {facts['v_mib']:.2f} MiB"
    )
    seen = logs.parse(text)
    assert (seen.k_bytes, seen.v_bytes) == (facts["k_mib"] * 2**20, facts["v_mib"] * 2**20)
    assert (seen.k_format, seen.kv_dtype) == ("fp16", "fp16")


def test_latent_keys_of_ik_llama_are_read_without_values():
    facts = next(row["facts"] for row in ROWS if row["id"] == "ik-259")
    size = facts["kv_self_mib"]
    seen = logs.parse(
        f"llama_new_context_with_model: KV self size  = {size} MiB, c^KV (q8_0): {size} MiB, kv^T: not used"
    )
    assert seen.available_kv_bytes == pytest.approx(size * 2**20)
    assert (seen.k_format, seen.v_bytes) == ("q8_0", None)


def test_an_engine_that_is_not_read_is_refused_not_guessed():
    with pytest.raises(UserError, match="looked for vLLM"):
        logs.parse("xinfer: 8192 blocks, pool 32.00 GB, 524288 tokens")
