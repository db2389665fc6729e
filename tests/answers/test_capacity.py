"""What fits where: published pools, and the rules of tiers, of host memory and of what can't be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.answers.capacity import capacity
from kvcalc.answers.capacity_options import CapacityOptions
from kvcalc.answers.capacity_result import Capacity, TierSize
from kvcalc.errors import UserError
from kvcalc.tables.capacity import page
from kvcalc.tables.page import Table

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
    assert dram.prefixes_low == dram.prefixes_high == int(2e12 // (131_072 * 20_000))
    assert dram.adds_prefixes_low == (dram.prefixes_low or 0) - found.fits.prefixes
    assert disk.adds_prefixes_low == (disk.prefixes_low or 0) - (dram.prefixes_low or 0)
    assert dram.tokens_low == (dram.prefixes_low or 0) * 20_000


def test_low_counts_are_weighed_with_low_ones_and_high_with_high():
    """Qwen3.5-27B under vLLM: 5.34 GB a prefix with a state a block, 1.46 GB with one; HBM counts its own blocks."""
    found = ask("qwen3.5-27b")
    dram, disk = tier_of(found, "dram"), tier_of(found, "nvme")
    assert (dram.prefixes_low, dram.prefixes_high) == (374, 1365)
    assert dram.adds_prefixes_low == 374 - found.fits.prefixes
    assert dram.adds_prefixes_high == 1365 - found.fits.prefixes
    assert disk.adds_prefixes_low == (disk.prefixes_low or 0) - 374
    assert disk.adds_prefixes_high == (disk.prefixes_high or 0) - 1365


@pytest.mark.parametrize("engine", ["sglang", "trtllm"])
def test_states_whose_interval_is_not_known_are_counted_once_and_said_to_be(engine: str):
    found = ask("qwen3.5-27b", engine=engine, memory_utilization=0.85)
    assert tier_of(found, "dram").prefixes_low == pytest.approx(1365, rel=0.01)  # 2 TB / 1.46 GB
    assert any("is not known here: the least is counted" in each.text for each in found.assumptions)


def test_a_tier_no_larger_than_the_one_above_adds_nothing():
    """64 GiB of host memory held 1.12 million tokens and HBM 1.207 million: no hit in it was ever seen."""
    found = ask("qwen3-next-80b-a3b", tp=8, kv_dtype="fp8", tiers={"dram": 16 * GIB})
    assert tier_of(found, "dram").adds_prefixes_low == 0
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
    assert (found.tiers, found.host, found.instead) == ((), (), ())


@pytest.mark.parametrize(("options", "said"), [
    ({"model": "llama3.1-70b", "tp": 1}, "--tp 2 leaves"),
    ({"model": "llama3.1-70b", "tp": 1}, "--weights fp8 leaves"),  # 76.5 - 72.7 - 2.1 - 0.3 GB
    ({"model": "llama3.1-405b", "tp": 8}, "--weights fp8 leaves"),  # 405 GB over 8 x 85 GB
    ({"model": "llama3.1-405b", "tp": 1}, "--tp 8 --weights fp8 leaves"),
    ({"model": "llama3.1-405b", "tp": 1, "hardware": "l40s-pcie4"}, "--tp 8 --weights nvfp4 leaves"),
    ({"model": "kimi-k2", "tp": 8, "hardware": "l40s-pcie4"}, "nothing known here fits on l40s-pcie4"),
    ({"reserve": 70e9}, "without --reserve"),
    ({"weights_bytes": 80e9}, "the weights are as given"),
])  # fmt: skip
def test_what_would_make_the_weights_fit_is_said(options: dict[str, Any], said: str):
    found = ask(**options)
    assert any(said in each for each in found.remedies)
    assert set(found.remedies) <= set(found.warnings)


def test_a_reserve_that_leaves_nothing_is_named_as_the_cause():
    assert "beside --reserve" in ask(reserve=70e9).warnings[0]


def test_gpus_that_stand_idle_are_said():
    found = ask(tp=2)
    assert found.idle_gpus == 6
    assert any("6 of 8 GPUs are idle" in each and "--dp 4 would use all" in each for each in found.warnings)
    assert not any("idle" in each for each in ask(tp=2, dp=4).warnings)


def test_a_default_prefix_that_is_cut_is_said():
    assert any("not of the usual 20,000" in each for each in ask(max_model_len=8192).warnings)
    assert not any("usual" in each for each in ask(max_model_len=8192, prefix=8192).warnings)


@pytest.mark.parametrize("spelling", ["fp8_e4m3", "fp8_e5m2", "float8_e4m3fn"])
def test_engines_spellings_of_formats_serve(spelling: str):
    assert ask(kv_dtype=spelling).fits == ask(kv_dtype="fp8").fits


def test_a_draft_without_layers_of_its_own_is_a_stated_assumption():
    found = ask(draft=2)
    (full,) = found.segments
    assert (full.layers, full.draft_layers) == (33, 1)
    assert any("has no draft layers" in each.text for each in found.assumptions)


def test_layers_that_draft_and_index_keys_are_told_apart():
    """DeepSeek-V3.2: 61 latent layers with an indexer each, and one that drafts."""
    (latent,) = ask("deepseek-v3.2", "h200-pcie5", tp=8, weights="fp8", draft=1).segments
    assert (latent.layers, latent.draft_layers, latent.index_layers) == (62, 1, 62)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmcache", "trtllm"])
@pytest.mark.parametrize("model", ["llama3.1-8b", "deepseek-v2-lite"])
def test_what_is_asked_for_is_used_and_stays_in_the_host(engine: str, model: str):
    for each in ask(model, tp=2, engine=engine, memory_utilization=0.85).host:
        assert each.asked_bytes <= each.used_bytes <= 2e12
        assert each.used_bytes < 1.07 * each.asked_bytes  # 2**k bytes written as whole GB, two ranks


def test_the_first_rank_alone_asks_for_a_latent_cache_of_lmcache():
    found = ask("deepseek-v2-lite", tp=4, engine="lmcache")
    (one,) = found.host
    assert (one.asked, one.unit, one.used_bytes) == ("1862", "GiB", 1862 * GIB)
    assert one.prefixes_low == int(1862 * GIB // found.prefix.stored_whole)


def test_no_one_is_told_to_ask_for_more_than_can_be_pinned():
    """Releases 0.26 and 0.27 register in one call, which fails from 512 GiB on."""
    later, once, before = ask("llama3.1-70b", tp=8).host
    assert (once.asked, once.unit) == ("511", "GiB")
    assert [each.option.split("(")[1] for each in (later, once, before)] == [
        "0.28 and later)",
        "0.26 and 0.27)",
        "before 0.26)",
    ]


@pytest.mark.parametrize(("hardware", "gib"), [
    ("rtx-4090-pcie4", 23.64),  # DeepSeek-V3 issue 205
    ("b200-pcie5", 178.35),  # pytorch/ao pull request 4002
    ("gh200-nvlink-c2c", 94.88),  # litgpt issue 1892
])  # fmt: skip
def test_a_device_has_what_it_reports(hardware: str, gib: float):
    """Sold as 24, 180 and 96 GB of 10^9, which is less."""
    assert ask("qwen3-1.7b", hardware).hbm.device_bytes == pytest.approx(gib * GIB)


def test_a_device_that_is_known_as_sold_is_a_lower_bound():
    (first, *_) = ask(hardware="mi300x-pcie5").assumptions
    assert "a lower bound" in first.text


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
    ("vllm", "1862", 1862 * GIB, 2e12),  # one region for all ranks
    ("lmcache", "232", 8 * 232 * GIB, 2e12),
])  # fmt: skip
def test_what_to_ask_for_and_what_is_used(engine: str, asked: str, used: float, whole: float):
    """2 TB of host memory, TP 8."""
    (ask_for, *_) = ask("llama3.1-70b", tp=8, engine=engine, memory_utilization=0.9).host
    assert (ask_for.asked, ask_for.used_bytes, ask_for.whole_takes_bytes) == (asked, used, whole)


def test_before_0_26_vllm_rounds_each_rank_s_part():
    before = ask("llama3.1-70b", tp=8).host[-1]
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
    ("0.31", "0.28 and later", False), ("0.26.0", "0.26 and 0.27", True), ("0.19", "before 0.26", False),
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
    ({"prefix": 9000, "max_model_len": 8192}, "--prefix: 9000 tokens are more than the longest request has"),
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
    used = found.weights_bytes + found.non_torch_bytes + (0 if engine == "sglang" else found.activation_bytes)
    left = found.device_bytes - used
    assert found.withheld_bytes == pytest.approx(0.1 * (left if engine == "trtllm" else found.device_bytes))
    assert found.free_bytes == (pytest.approx(left) if engine == "trtllm" else None)
    assert found.pool_bytes == pytest.approx(left - found.withheld_bytes)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_the_lines_of_the_page_add_up(engine: str):
    """From the device to the pool; what is taken after it stands below, and a subtotal is told by its name."""
    (budget, *_) = page(ask(engine=engine, memory_utilization=0.85, reserve=2e9)).blocks
    assert isinstance(budget, Table)
    lines = {row[0].text: row[1].value for row in budget.rows}
    names = list(lines)
    above = [lines[name] for name in names[: names.index("KV pool")] if name != "free before the pool"]
    assert sum(float(each or 0) for each in above) == pytest.approx(lines["KV pool"])


@pytest.mark.parametrize("engine", ["vllm", "trtllm"])
def test_what_is_lacking_is_what_the_lines_come_to(engine: str):
    hbm = ask("llama3.1-405b", tp=8, engine=engine).hbm
    used = hbm.weights_bytes + hbm.non_torch_bytes + hbm.activation_bytes + hbm.withheld_bytes
    assert hbm.pool_bytes - hbm.short_bytes == pytest.approx(hbm.device_bytes - used)


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
