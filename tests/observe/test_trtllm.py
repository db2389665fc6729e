"""TensorRT-LLM's start-up log."""

import pytest

from kvcalc.observe import logs

GIB = 2**30


def parse(*lines: str):
    return logs.parse("\n".join(f"[TensorRT-LLM][INFO] {line}" for line in lines))


def test_the_paged_cache_is_read():
    """The memory page of TensorRT-LLM's documentation, two GPUs."""
    seen = parse(
        "[MemUsageChange] Allocated 928.77 MiB for execution context memory.",
        "Loaded engine size: 6214 MiB",
        "Memory usage when calculating max tokens in paged kv cache: total: 79.10 GiB, available: 70.48 GiB",
        "Number of blocks in KV cache primary pool: 4060",
        "Number of blocks in KV cache secondary pool: 0, onboard blocks to primary memory before reuse: true",
        "Max KV cache pages per sequence: 32",
        "Number of tokens per block: 64.",
        "[MemUsageChange] Allocated 63.44 GiB for max tokens in paged KV cache (259840).",
    )
    assert (seen.kv_tokens, seen.blocks, seen.block_tokens, seen.cpu_blocks) == (259840, 4060, 64, 0)
    assert seen.block_product == seen.kv_tokens
    assert seen.available_kv_bytes == pytest.approx(63.44 * GIB)
    assert seen.device_bytes == pytest.approx(79.10 * GIB)
    assert (seen.weights_bytes, seen.activation_bytes) == pytest.approx((6214 * 2**20, 928.77 * 2**20))


def test_the_trial_pool_is_not_the_pool():
    """The PyTorch backend allocates a small pool to measure with, then the real one."""
    seen = parse(
        "[MemUsageChange] Allocated 1.10 GiB for max tokens in paged KV cache (8224).",
        "[MemUsageChange] Allocated 43.87 GiB for max tokens in paged KV cache (229984).",
    )
    assert seen.kv_tokens == 229984
    assert any("trial" in note for note in seen.notes)


def test_the_form_of_0_8_is_read():
    seen = parse("Allocate 69524783104 bytes for k/v cache. ", "Using 132608 tokens in paged KV cache.")
    assert (seen.available_kv_bytes, seen.kv_tokens) == (69524783104, 132608)


def test_windows_have_pools_of_their_own():
    seen = parse(
        "Max KV cache blocks per sequence: 256 [window size=16384], tokens per block=64, primary blocks=4000, secondary "
        "blocks=0, max sequence length=16384",
        "Max KV cache blocks per sequence: 8 [window size=512], tokens per block=64, primary blocks=1000, secondary "
        "blocks=0, max sequence length=16384",
    )
    assert [(pool.kind, pool.tokens) for pool in seen.pools] == [("full", 256000), ("window", 64000)]
    assert seen.max_model_len == 16384


def test_the_version_ends_where_the_program_goes_on():
    """`version: 0.8.0Input [Text 0]`: no line break after it."""
    seen = logs.parse(
        "[TensorRT-LLM][INFO] Using 220800 tokens in paged KV cache.\n[TensorRT-LLM] TensorRT-LLM version: 0.8.0Input [Text"
    )
    assert seen.version == "0.8.0"


def test_a_fake_pool_has_no_size():
    seen = parse("[MemUsageChange] Allocated 0.00 GiB for max tokens in paged KV cache (3958272).")
    assert (seen.available_kv_bytes, seen.kv_tokens) == (None, 3958272)
