"""A decode step: what it reads of weights and KV."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.physics import decode, kv, work
from kvcalc.profiles import catalog


def test_dense_step_reads_every_weight_but_the_embedding():
    """Llama-3-70B has 70.55e9 parameters; its embedding is 128,256 x 8,192 = 1.05e9, its LM head as much again."""
    dense, experts = decode.weights(catalog.model("llama3-70b"), 1)
    assert dense == pytest.approx(70.55e9 - 1.05e9, rel=1e-3)
    assert experts == 0


def test_experts_met_by_hand(model_of):
    """4 experts, 2 a token: two tokens meet 4 x (1 - (1/2)^2) = 3 of them as a mean, one meets 2."""
    full = {"kind": "full", "layers": 1, "heads": 1, "kv_heads": 1, "key_width": 8, "value_width": 8}
    model = model_of(full, feed_forward=({"layers": 1, "width": 10, "experts": 4, "top_k": 2},))
    expert = 3 * 64 * 10
    assert decode.weights(model, 1)[1] == pytest.approx(2 * expert)
    assert decode.weights(model, 2)[1] == pytest.approx(3 * expert)


@pytest.mark.parametrize("name", ["deepseek-v3", "qwen3-235b-a22b", "gpt-oss-120b"])
def test_one_token_meets_the_active_experts(name):
    """The publishers' active parameters are counted so: `work.parameters` is checked against them."""
    model = catalog.model(name)
    assert decode.weights(model, 1)[1] == pytest.approx(work.parameters(model).routed)


@given(batch=st.integers(1, 500), more=st.integers(0, 500))
def test_more_sequences_never_read_fewer_weights(batch, more):
    model = catalog.model("deepseek-v3")
    few, many = (sum(decode.weights(model, count)) for count in (batch, batch + more))
    assert few <= many <= work.parameters(model).total


def test_dense_attention_reads_all_of_the_cache():
    model = catalog.model("llama3-70b")
    assert decode.read_bytes(model, 20_000, "fp8") == kv.logical(model, 20_000, "fp8") == 20_000 * 163_840


def test_sparse_attention_reads_its_index_and_what_it_picked():
    """DeepSeek-V3.2 (DSA): 61 layers of 656 B for 2,048 tokens, 61 index keys of 132 B for all."""
    model = catalog.model("deepseek-v3.2")
    assert decode.read_bytes(model, 100_000, "fp8_ds_mla") == 61 * (656 * 2048 + 132 * 100_000)
    assert decode.read_bytes(model, 2_000, "fp8_ds_mla") == kv.logical(model, 2_000, "fp8_ds_mla")


def test_compressed_attention_reads_only_the_entries_that_it_picked():
    """DeepSeek-V4-Pro: 30 layers pick 1,024 of 100,000/4 entries of 584 B; the other 31 read theirs."""
    model = catalog.model("deepseek-v4-pro")
    left = 30 * (25_000 - 1024) * 584
    assert decode.read_bytes(model, 100_000, "fp8_ds_mla") == kv.logical(model, 100_000, "fp8_ds_mla") - left


def test_slower_of_both_decides():
    assert decode.step(2.0, 3.0) == 3.0
    assert decode.step(2.0, 1.0) == 2.0
