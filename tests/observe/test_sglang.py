"""SGLang's start-up log."""

import pytest

from kvcalc.observe import logs

GIB = 2**30
ARGS = (
    "[2026-03-21 03:31:56] INFO engine.py:177: server_args=ServerArgs(model_path='zai-org/GLM-5-FP8', tokenizer_path='x', "
    "context_length=None, tp_size=8, pp_size=1, dp_size=1, mem_fraction_static=0.88, kv_cache_dtype='fp8_e4m3', page_size=64)"
)
POOL = "[2026-03-11 13:53:23 TP0] KV Cache is allocated. #tokens: 442128, K size: 26.99 GB, V size: 26.99 GB"
END = (
    "[2026-03-11 13:53:24 TP0] max_total_num_tokens=442128, chunked_prefill_size=8192, max_prefill_tokens=16384, "
    "max_running_requests=2048, context_len=131072, available_gpu_mem=7.11 GB"
)


def parse(*lines: str):
    return logs.parse("\n".join(lines))


def test_the_device_pool_counts_in_gib_and_the_host_pool_in_gb():
    seen = parse(POOL, END, "[2026-03-11 TP0] Allocating 108.00 GB host memory for hierarchical KV cache.")
    assert (seen.k_bytes, seen.v_bytes) == pytest.approx((26.99 * GIB, 26.99 * GIB))
    assert seen.available_kv_bytes == pytest.approx(53.98 * GIB)
    assert seen.host_pool_bytes == pytest.approx(108e9)
    assert (seen.kv_tokens, seen.max_model_len, seen.pools) == (442128, 131072, ())


def test_the_server_arguments_are_read_in_both_forms():
    later = ARGS.replace("ServerArgs(", "{").replace("model_path=", "'model_path': ").replace("tp_size=", "'tp_size': ")
    for line in (ARGS, later):
        seen = parse(line, POOL)
        assert (seen.model, seen.tp, seen.kv_dtype) == ("zai-org/GLM-5-FP8", 8, "fp8")
        assert (seen.memory_utilization, seen.block_tokens) == (0.88, 64)


def test_auto_is_the_models_own_format():
    load = (
        "[TP0] Load weight end. elapsed=23.18 s, type=X, dtype=torch.bfloat16, avail mem=61.98 GB, mem usage=15.08 GB."
    )
    seen = parse(ARGS.replace("fp8_e4m3", "auto"), load, POOL)
    assert (seen.weight_dtype, seen.kv_dtype) == ("bf16", "bf16")
    assert seen.weights_bytes == pytest.approx(15.08 * GIB)


def test_the_pools_own_format_counts():
    line = "[TP0] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 162943, K size: 2.49 GB, V size: 2.49 GB"
    assert parse(line).kv_dtype == "fp8"


def test_windowed_layers_have_a_pool_of_their_own():
    """MiMo-V2-Flash at TP 4, sgl-project/sglang#18039: the windowed pool is printed first."""
    seen = parse(
        "[2026-01-31 13:50:39 TP2] Use sliding window memory pool. full_layer_tokens=375360, swa_layer_tokens=300288",
        "[2026-01-31 13:50:39 TP2] KV Cache is allocated. #tokens: 300288, K size: 8.38 GB, V size: 5.59 GB",
        "[2026-01-31 13:50:39 TP2] KV Cache is allocated. #tokens: 375360, K size: 1.21 GB, V size: 0.81 GB",
        "[2026-01-31 13:50:39 TP2] SWAKVPool mem usage: 15.99 GB, swa size: 300288, full size: 375360",
    )
    assert [(pool.kind, pool.tokens) for pool in seen.pools] == [("window", 300288), ("full", 375360)]
    assert seen.kv_tokens == 375360
    assert seen.pools[0].bytes == pytest.approx(13.97 * GIB)
    assert seen.available_kv_bytes == pytest.approx(15.99 * GIB)


def test_recurrent_states_have_a_pool_of_their_own():
    state = (
        "[TP0] Mamba Cache is allocated. max_mamba_cache_size: 124, conv_state size: 0.34GB, ssm_state size: 17.58GB "
    )
    seen = parse(state, POOL)
    assert [(pool.kind, pool.slots) for pool in seen.pools] == [("full", None), ("state", 124)]
    assert seen.pools[1].bytes == pytest.approx(17.92 * GIB)
    assert seen.available_kv_bytes == pytest.approx(53.98 * GIB)  # states aren't KV of tokens


def test_a_draft_models_pool_is_not_the_models():
    draft = "[2026-03-11 13:53:29 TP0] KV Cache is allocated. #tokens: 442128, K size: 0.84 GB, V size: 0.84 GB"
    seen = parse(POOL, draft)
    assert seen.available_kv_bytes == pytest.approx(53.98 * GIB)
    assert [pool.kind for pool in seen.pools] == ["full", "draft"]


def test_the_rank_with_the_fewest_tokens_counts():
    other = POOL.replace("TP0", "TP1").replace("442128", "440000")
    seen = parse(POOL, other, END, END.replace("TP0", "TP1").replace("442128", "440000"))
    assert seen.kv_tokens == 440000
    assert any("the least" in note for note in seen.notes)


def test_graphs_of_a_worker_add_up():
    line = "[TP{0}] Capture cuda graph end. Time elapsed: 18.07 s. mem usage={1} GB. avail mem=0.83 GB."
    seen = parse(POOL, line.format(0, 0.5), line.format(0, 0.25), line.format(1, 0.6))
    assert seen.graphs_bytes == pytest.approx(0.75 * GIB)


def test_the_line_of_a_latent_cache_has_one_size():
    line = "[2026-03-11 13:53:23 DP0 TP0 EP0] KV Cache is allocated. #tokens: 524288, KV size: 17.16 GB"
    seen = parse(line)
    assert (seen.available_kv_bytes, seen.k_bytes) == (pytest.approx(17.16 * GIB), None)
    assert seen.findings[0].worker == "DP0 TP0 EP0"


def test_a_pool_below_zero_is_no_pool():
    seen = parse(POOL.replace("26.99", "-1"), END)
    assert (seen.available_kv_bytes, seen.k_bytes, seen.v_bytes, seen.no_kv_memory) == (None, None, None, True)
    assert any("no memory is left for KV: line 1" in note for note in seen.notes)
