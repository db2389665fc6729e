"""Weights on a rank, by hand and against what vLLM 0.19 printed."""

from collections.abc import Callable
from types import ModuleType

import pytest

from kvcalc.physics import weights
from kvcalc.profiles.model import Model


@pytest.fixture(scope="module")
def fit(script: Callable[[str], ModuleType]) -> ModuleType:
    script("log_rows")
    return script("fit_budget")


def test_weights_are_within_2_percent_of_what_vllm_printed_for_text_models(fit: ModuleType):
    """Not for models with a vision tower, nor for gpt-oss, whose experts vLLM pads to its kernels' tiles."""
    other = ("gemma-3", "Llama-4", "Kimi-VL", "Mistral-Small-3.1", "gpt-oss")
    rows = [row for row in fit.budgets() if not any(word in row.raw["model"] for word in other)]
    assert len(rows) == 24
    for row in rows:
        form = fit.WEIGHTS[row.raw["weight_dtype"]]
        size = weights.rank_bytes(row.model, form, row.raw["tp"], row.raw["pp"])
        assert size == pytest.approx(row.gib("weights_gib"), rel=0.022, abs=0.03 * 2**30), row.id


def test_kv_heads_are_copied_where_there_are_more_ranks(model_of: Callable[..., Model]):
    """2 KV heads over 4 ranks: 1,024 queries, 1,024 outputs, a whole head's 1,024, 6,144 and 3,200 of the rest."""
    group = {"kind": "full", "layers": 1, "heads": 8, "kv_heads": 2, "key_width": 8, "value_width": 8}
    model = model_of(group, feed_forward=({"layers": 1, "width": 128},))
    assert weights.rank_bytes(model, "bf16", 4) == pytest.approx(2 * (1024 + 1024 + 1024 + 6144 + 3200))


def test_experts_are_cut_over_all_replicas(model_of: Callable[..., Model]):
    """2 replicas at TP 1: half of 4 experts of 3 x 64 x 128 each, the rest whole."""
    group = {"kind": "full", "layers": 1, "heads": 8, "kv_heads": 8, "key_width": 8, "value_width": 8}
    model = model_of(group, feed_forward=({"layers": 1, "width": 128, "experts": 4, "top_k": 1},))
    one, two = (weights.rank_bytes(model, "bf16", 1, dp=replicas) for replicas in (1, 2))
    assert one - two == 2 * 2 * 3 * 64 * 128


def test_a_total_that_a_profile_gives_is_cut_evenly(model_of: Callable[..., Model]):
    group = {"kind": "full", "layers": 1, "heads": 8, "kv_heads": 8, "key_width": 8, "value_width": 8}
    assert weights.rank_bytes(model_of(group, total_parameters=8000), "fp8", 4, 2) == 1000
