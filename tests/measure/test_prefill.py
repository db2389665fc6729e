"""Kernels of a small model on the CPU, and the arithmetic that scales them."""

from collections.abc import Callable
from typing import Any

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import prefill
from kvcalc.measure.samples import Budget
from kvcalc.physics import work
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model

GROUP = {"kind": "full", "layers": 4, "heads": 4, "kv_heads": 2, "key_width": 16, "value_width": 16}
BLOCK = {"layers": 4, "width": 128}


@pytest.fixture
def small(model_of: Callable[..., Model]) -> Model:
    return model_of(GROUP, feed_forward=(BLOCK,))


def test_a_shard_is_a_rank_s_part_of_a_layer():
    """Llama-3-70B: 64 heads, 8 KV heads, width 28,672; KV heads that don't go round are repeated."""
    model = catalog.model("llama3-70b")
    assert prefill.shard(model, 8) == prefill.Shard(80, 8192, 8, 1, 128, 3584)
    assert prefill.shard(model, 16).kv_heads == 1


def test_the_gemms_are_those_of_the_model():
    """2 FLOP a weight and token, all layers together."""
    model = catalog.model("llama3-8b")
    shard = prefill.shard(model, 1)
    assert shard.layers * shard.gemm_flops(1000) == pytest.approx(2000 * work.parameters(model).active)


def test_causal_attention_is_half_a_square():
    """Llama-3-8B at 1,000 tokens: 2 x 2 x 32 heads x 128 x 10^6 / 2 = 8.192e9 a layer."""
    assert prefill.shard(catalog.model("llama3-8b"), 1).attention_flops(1000) == pytest.approx(8.192e9)


@pytest.mark.parametrize("name", ["deepseek-v3", "gemma3-27b", "qwen3-30b-a3b"])
def test_a_model_of_other_layers_is_refused(name: str):
    with pytest.raises(UserError, match="can't be measured: only"):
        prefill.shard(catalog.model(name), 1)


def test_prefill_is_measured_from_the_shortest_length_on(small: Model):
    pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    part = prefill.measure(small, 1, "cpu", Budget(60), (16, 32, 64, 8192))
    assert part.curve is not None
    assert [tokens for tokens, _ in part.curve.points] == [16, 32, 64]  # the model's context is 4,096
    assert all(seconds > 0 for _, seconds in part.curve.points)
    assert part.achieved is not None
    assert part.achieved.gemm_flops > 0
    assert len(part.laws) == 1
    rates = [reading.value.median for reading in part.readings if reading.unit == "FLOP/s"]
    assert part.achieved.peak_flops == max(rates)
    assert [reading.value.count for reading in part.readings if reading.what.startswith("prefill")] == [10] * 3


def test_what_does_not_fit_the_budget_is_left_out_and_said(small: Model):
    pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    part = prefill.measure(small, 1, "cpu", Budget(0), (16, 32))
    assert part.curve is not None
    assert [tokens for tokens, _ in part.curve.points] == [16]
    far = "Beyond 64 tokens, 4 times the longest prompt measured, it is extrapolated far."
    assert part.warnings == (
        "prefill stops at 16 tokens: longer ones do not fit the budget",
        f"the curve ends at 16 tokens. {far}",
    )
    assert part.curve.note.endswith(far)
    assert part.laws == ()
    assert {reading.value.count for reading in part.readings} == {1}  # once, after warming up


def test_a_curve_as_long_as_the_context_is_not_extrapolated(small: Model):
    pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    part = prefill.measure(small, 1, "cpu", Budget(60), (1024,))
    assert part.warnings == ()  # the model's context is 4,096


def test_a_device_that_is_too_small_gets_one_layer_and_shorter_prompts(
    small: Model, monkeypatch: pytest.MonkeyPatch, torch_out_of_memory: type[Exception]
):
    made, attention = prefill._Kernels.__init__, prefill._Kernels._attention

    def make(self: Any, one: Any, device: str, layers: int) -> None:
        if layers > 1:
            raise torch_out_of_memory
        made(self, one, device, layers)

    def attend(self: Any, tokens: int) -> Any:
        if tokens > 32:
            raise torch_out_of_memory
        return attention(self, tokens)

    monkeypatch.setattr(prefill._Kernels, "__init__", make)
    monkeypatch.setattr(prefill._Kernels, "_attention", attend)
    part = prefill.measure(small, 1, "cpu", Budget(60), (16, 32, 64))
    assert part.warnings[:2] == (
        "2 layers do not fit the memory of cpu: one is measured",
        "prefill stops before 64 tokens: they do not fit the memory of cpu",
    )
    assert part.curve is not None
    assert part.curve.note.startswith("1 of 4 layers")
    with pytest.raises(UserError, match="does not fit cpu; raise --tp"):
        prefill.measure(small, 1, "cpu", Budget(60), (64,))


@pytest.fixture
def torch_out_of_memory() -> type[Exception]:
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    found: type[Exception] = torch.OutOfMemoryError
    return found


def test_on_cuda_the_same_kernels_are_timed_by_events(small: Model, fake_cuda: Any):
    part = prefill.measure(small, 1, "cuda:0", Budget(0), (16,))
    assert part.curve is not None
    assert fake_cuda.synchronized > 0
