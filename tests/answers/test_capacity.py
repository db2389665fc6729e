"""What fits where: published pools, and the rules of tiers, of host memory and of what can't be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.answers.capacity import capacity
from kvcalc.answers.capacity_options import CapacityOptions
from kvcalc.answers.capacity_result import Capacity, TierSize
from kvcalc.errors import UserError

GIB = 2**30


def ask(model: str = "llama3.1-8b", hardware: str = "h100-pcie5", **options: Any) -> Capacity:
    return capacity(model, hardware, CapacityOptions(**({"tp": 1} | options)))


def tier_of(result: Capacity, name: str) -> TierSize:
    (found,) = [each for each in result.tiers if each.tier.startswith(name)]
    return found


# vLLM 0.19 on H100, 0.95 of 79.19 GiB, requests of 8,192 tokens: pool and tokens as printed (llm-d planner 205).
@pytest.mark.parametrize(("model", "tp", "kv", "pool_gib", "tokens"), [
    ("llama3.1-8b", 1, "bf16", 58.11, 476_000),
    ("llama3.1-8b", 1, "fp8", 58.11, 952_032),
    ("llama3.1-8b", 4, "bf16", 67.44, 2_209_792),
    ("qwen2.5-7b", 4, "bf16", 67.34, 5_043_280),
    ("qwen3-8b", 1, "bf16", 57.5, 418_688),
    ("qwen3-30b-a3b", 1, "bf16", 15.41, 168_288),
])  # fmt: skip
def test_pool_and_tokens_are_those_that_vllm_printed(model: str, tp: int, kv: str, pool_gib: float, tokens: int):
    found = ask(model, tp=tp, kv_dtype=kv, memory_utilization=0.95, max_model_len=8192)
    assert found.hbm.pool_bytes / GIB == pytest.approx(pool_gib, rel=0.03)
    assert found.fits.tokens == pytest.approx(tokens, rel=0.03)
    assert not found.hbm.extrapolated


def test_weights_as_printed_bring_the_pool_within_2_percent():
    found = ask(weights_bytes=14.99 * GIB, memory_utilization=0.95)
    assert found.hbm.weights_given
    assert found.hbm.pool_bytes / GIB == pytest.approx(58.11, rel=0.02)


def test_fp8_holds_twice_as_many_prefixes():
    (fp8,) = ask().instead
    assert fp8.kv_dtype == "fp8"
    assert fp8.gain == pytest.approx(2, rel=0.001)
    assert ask(kv_dtype="fp8").instead == ()


def test_a_state_does_not_shrink_with_the_kv_format():
    """Three states of each kind keep their size, so FP8 gives a hybrid less than twice: 1.72x was seen."""
    (fp8,) = ask("qwen3-next-80b-a3b", tp=4, kv_dtype="bf16").instead
    assert 1 < fp8.gain < 1.9


def test_a_tier_adds_what_it_holds_beyond_those_above_it():
    found = ask()
    dram, disk = tier_of(found, "dram"), tier_of(found, "nvme")
    assert dram.prefixes == int(2e12 // (131_072 * 20_000))
    assert dram.adds_prefixes == (dram.prefixes or 0) - found.fits.prefixes
    assert disk.adds_prefixes == (disk.prefixes or 0) - (dram.prefixes or 0)


def test_a_tier_no_larger_than_the_one_above_adds_nothing():
    """64 GiB of host memory held 1.12 million tokens and HBM 1.207 million: no hit in it was ever seen."""
    found = ask("qwen3-next-80b-a3b", tp=8, kv_dtype="fp8", tiers={"dram": 16 * GIB})
    assert tier_of(found, "dram").adds_prefixes == 0
    assert any("adds nothing" in warning for warning in found.warnings)


def test_a_size_that_is_not_known_is_said_to_be():
    found = ask()
    assert tier_of(found, "remote").capacity_bytes is None
    assert any("size not known of" in warning and "remote-store" in warning for warning in found.warnings)
    assert tier_of(ask(tiers={"remote": 1e15}), "remote").capacity_bytes == 1e15


def test_replicas_share_the_host_and_not_the_store():
    one, four = ask(tiers={"remote": 1e15}), ask(dp=4, tiers={"remote": 1e15})
    assert tier_of(four, "dram").capacity_bytes == (tier_of(one, "dram").capacity_bytes or 0) / 4
    assert tier_of(four, "remote").capacity_bytes == 1e15


def test_what_does_not_fit_is_said_and_counted_as_nothing():
    found = ask("llama3.1-405b", tp=8)
    assert found.hbm.pool_bytes == 0
    assert found.hbm.short_bytes > 0
    assert (found.fits.tokens, found.fits.prefixes) == (0, 0)
    assert found.warnings[0].startswith("nothing is left for KV cache")


def test_one_request_that_does_not_fit_is_said_with_the_longest_that_does():
    found = ask("qwen2.5-72b", tp=2, memory_utilization=0.95)
    assert found.fits.requests < 1
    assert "not one request of" in found.warnings[0]
    assert found.fits.longest == pytest.approx(19_920, rel=0.05)  # vLLM printed 19,920 tokens


def test_a_full_batch_that_does_not_fit_is_said():
    found = ask("qwen2.5-72b", tp=2, memory_utilization=0.92, max_model_len=2048)
    assert any("not one full batch fits" in warning for warning in found.warnings)


@pytest.mark.parametrize(("engine", "asked", "used", "whole"), [
    ("sglang", "137", 2**37 * 8, 2**38 * 8),  # 250 GB a rank: 137.4 GB stay inside, all of it is rounded to 274.9 GB
    ("vllm", "1862", 2e12, 2e12),  # one region for all ranks, 0.26 and later
    ("lmcache", "232", 2e12, 2e12),
])  # fmt: skip
def test_what_to_ask_for_and_what_is_used(engine: str, asked: str, used: float, whole: float):
    """2 TB of host memory, TP 8."""
    (ask_for, *_) = ask("llama3.1-70b", tp=8, engine=engine, memory_utilization=0.9).host
    assert (ask_for.asked, ask_for.used_bytes, ask_for.whole_takes_bytes) == (asked, used, whole)


def test_before_0_26_vllm_rounds_each_rank_s_part():
    before = ask("llama3.1-70b", tp=8).host[1]
    assert before.asked == "1024"  # 8 ranks of 128 GiB
    assert before.used_bytes == 1024 * GIB


@pytest.mark.parametrize(("options", "said"), [
    ({}, "512 GiB"),
    ({}, "ulimit -l"),
    ({"hardware": "rtx-5090-pcie5", "tiers": {"dram": 64e9}}, "WDDM"),
    ({"hardware": "mi300x-pcie5"}, "ROCm"),
    ({"engine_version": "0.31"}, "it extrapolates"),
    ({"engine_version": "0.12"}, "60 %"),
    ({"hardware": "h200-pcie5"}, "it extrapolates"),
    ({"memory_utilization": 0.999}, "taken after the pool"),
])  # fmt: skip
def test_known_limits_are_said(options: dict[str, Any], said: str):
    assert any(said in warning for warning in ask(**options).warnings)


def test_the_version_that_was_fitted_is_not_said_to_extrapolate():
    assert not any("extrapolates" in warning for warning in ask(engine_version="0.19.0").warnings)
    assert any("extrapolates" in warning for warning in ask(engine_version="0.190").warnings)


@pytest.mark.parametrize(("version", "option", "limit"), [
    ("0.31", "0.26 and later", False), ("0.26.0", "0.26 and later", True), ("0.19", "before 0.26", False),
])  # fmt: skip
def test_a_version_has_its_own_meaning_of_the_host_option(version: str, option: str, limit: bool):
    found = ask(engine_version=version)
    assert [option in each.option for each in found.host] == [True]
    assert any("512 GiB" in warning for warning in found.warnings) == limit


def test_what_is_not_modelled_is_said():
    found = ask("deepseek-v4-pro", tp=8, weights_bytes=60 * GIB)
    assert not found.plan_modelled
    assert any("not modelled" in warning for warning in found.warnings)


def test_a_pipeline_s_pool_is_that_of_its_smallest_stage():
    """PP 2 on H100: the first stage printed 66.54 GiB, and 1,075,312 tokens are 65.63 GiB of 16 layers."""
    found = ask(pp=2, memory_utilization=0.95, max_model_len=8192)
    assert found.hbm.pool_bytes / GIB == pytest.approx(65.63, rel=0.01)
    assert found.fits.tokens == pytest.approx(1_075_312, rel=0.01)


@pytest.mark.parametrize(("options", "said"), [
    ({"tp": 16}, "has 8 GPUs, not the 16 of TP 16 x PP 1 x DP 1"),
    ({"tp": 3}, "can't be split over 3 GPUs"),
    ({"dp": 9}, "has 8 GPUs"),
    ({"kv_dtype": "fp7"}, "no KV format 'fp7'"),
    ({"memory_utilization": 1.5}, "is not above 0 and at most 1"),
    ({"memory_utilization": float("nan")}, "is not above 0 and at most 1"),
    ({"engine": "sglang"}, "add --memory-utilization"),
    ({"engine": "tgi"}, "--engine: 'tgi' is none of"),
    ({"weights": "fp2"}, "--weights: 'fp2' is none of"),
    ({"store_replicas": "twice"}, "--store-replicas: 'twice' is none of"),
    ({"prefix": 0}, "--prefix: 0 is not a whole number from 1"),
    ({"prefix": 9000, "max_model_len": 8192}, "--prefix: 9000 tokens are more than the longest request has, 8192"),
    ({"batch_tokens": 0}, "--batch-tokens"),
    ({"max_model_len": -1}, "--max-model-len: -1 is not a whole number"),
    ({"draft": -1}, "--draft-tokens"),
    ({"tiers": {"dramm": 1e12}}, "no tier 'dramm'"),
    ({"weights_bytes": 0.0}, "--weights-gib"),
    ({"reserve": -1.0}, "--reserve"),
    ({"tiers": {"dram": 0.0}}, "--tier dram"),
    ({"engine_version": "latest"}, "--engine-version: 'latest' is not a version"),
])  # fmt: skip
def test_what_no_answer_can_be_asked_with_is_refused(options: dict[str, Any], said: str):
    with pytest.raises(UserError) as error:
        ask(**options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@given(st.floats(0.3, 1.0), st.floats(0, 20e9), st.integers(1, 100_000))
def test_less_to_use_never_fits_more(utilization: float, reserve: float, prefix: int):
    more = ask(memory_utilization=utilization, prefix=prefix)
    less = ask(memory_utilization=utilization * 0.9, prefix=prefix, reserve=reserve)
    assert less.fits.tokens <= more.fits.tokens
    assert less.fits.prefixes <= more.fits.prefixes


@pytest.mark.parametrize("engine", ["ideal", "vllm", "sglang", "trtllm", "lmcache"])
def test_budget_lines_add_up(engine: str):
    found = ask(engine=engine, memory_utilization=0.9, tp=1).hbm
    used = found.weights_bytes + found.non_torch_bytes
    free = {
        "ideal": found.requested_bytes - used,
        "vllm": found.requested_bytes - used - found.activation_bytes,
        "lmcache": found.requested_bytes - used - found.activation_bytes,
        "sglang": found.requested_bytes - used,
        "trtllm": 0.9 * (found.device_bytes - used - found.activation_bytes),
    }
    assert found.pool_bytes == pytest.approx(free[engine])


def test_a_larger_step_makes_running_windows_larger():
    """Gemma 3 27B: a window of 1,024 and the step's tokens run, so fewer requests fit; prefixes at rest are as many."""
    small, large = (ask("gemma3-27b", tp=2, batch_tokens=step) for step in (2048, 16_384))
    assert large.fits.requests < small.fits.requests
    assert large.fits.prefixes == small.fits.prefixes


def test_a_prefix_is_no_longer_than_a_request():
    assert ask(max_model_len=4096).prefix_tokens == 4096
    assert ask().prefix_tokens == 20_000


def test_a_small_gpu_has_a_smaller_step():
    """2,048 tokens and 256 sequences below 70 GiB and on an A100: a quarter of what grows with them."""
    large, small, a100 = (
        ask("qwen3-8b", hardware, max_model_len=8192).hbm.activation_bytes
        for hardware in ("h100-pcie5", "rtx-5090-pcie5", "a100-pcie4")
    )
    fixed = 129.5e6
    assert small == a100
    assert small - fixed == pytest.approx((large - fixed) / 4)
