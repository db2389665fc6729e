"""Ways to find the recompute time: which is used, which are printed beside it, and what each gives."""

from pathlib import Path

import pytest
import yaml

import kvcalc
from kvcalc import UserError
from kvcalc.profiles import places

ROWS = yaml.safe_load((Path(__file__).parents[1] / "data" / "prefill_reference.yaml").read_text())["rows"]
PLAIN_H100 = "azure-nd-h100-v5"  # eight H100 without the rate that the chapter states
HELD_OUT = 0.14  # the worst error that the issue allows the model on a dense row of Hopper


def measured(model, system, tp, engine, quant, tokens, cached=0):
    """Seconds in the kernel tables."""
    wanted = {"system": system, "tp": tp, "engine": engine, "quant": quant, "tokens": tokens, "cached": cached}
    (row,) = [row for row in ROWS if row["model"].endswith(model) and wanted.items() <= row.items()]
    return row["ttft_ms"] / 1000


def test_default_node_uses_the_rate_of_the_chapter_and_lists_the_measured_curve_first_beside_it(ask):
    found = ask().recompute
    assert (found.basis, found.tokens_per_s, found.seconds) == ("textbook", 50_000, 0.4)
    assert found.alternatives[0].basis == "measured"
    assert found.alternatives[0].seconds == pytest.approx(
        measured("70B", "h100_sxm", 8, "trtllm", "fp8", 20_000), rel=1e-6
    )
    assert {other.basis for other in found.alternatives} == {"measured", "fit", "textbook"}


def test_rate_of_the_chapter_is_stated_for_its_own_case_only(ask):
    for model in ("llama3-70b", "llama3.1-70b", "llama3.3-70b"):
        assert ask(model).recompute.basis == "textbook"
    for options in ({"tp": 4}, {"weights": "bf16"}, {"model": "qwen2.5-72b"}, {"hardware": "h200-pcie5"}):
        assert ask(**options).recompute.basis != "textbook"


def test_rate_says_what_it_leaves_out(ask):
    said = " ".join(each.text for each in ask().assumptions)
    assert "throughput of a node of replicas" in said
    assert "716 ms" in said  # the kernel tables, fp8, 20,000 tokens
    assert "throughput of a node of replicas" not in " ".join(each.text for each in ask(prefill="model").assumptions)


def test_model_answers_when_it_is_asked_for(ask):
    found = ask(prefill="model").recompute
    assert found.basis == "fit"
    assert found.seconds == pytest.approx(measured("70B", "h100_sxm", 8, "trtllm", "fp8", 20_000), rel=HELD_OUT)
    assert "textbook" in {other.basis for other in found.alternatives}
    assert sum(term.seconds for term in found.terms) == pytest.approx(found.seconds, rel=1e-9)


def test_profile_is_the_rate_of_the_node_or_its_first_curve(ask):
    assert ask(prefill="profile").recompute == ask().recompute
    curve = ask("llama3.1-70b", prefill="profile", tp=4).recompute
    assert curve.basis == "measured"
    assert curve.seconds == pytest.approx(measured("70B", "h100_sxm", 4, "trtllm", "fp8", 20_000), rel=1e-6)


def test_profile_is_refused_where_the_node_has_none_with_the_way_out(ask):
    with pytest.raises(UserError, match=r"'h100-pcie5'.*'qwen3-8b' at TP 4.*--prefill model"):
        ask("qwen3-8b", prefill="profile", tp=4)


def test_textbook_is_2ps_over_achieved_flops(ask):
    # a layer of Llama-3-70B: 2 x 8192 x 8192 + 2 x 8192 x 1024 + 3 x 8192 x 28672 = 855,638,016; times 80 layers
    flops = 2 * 68_451_041_280 * 20_000
    found = ask(prefill="textbook").recompute
    assert found.basis == "textbook"
    share = flops / found.seconds / (8 * 1978.9e12)
    assert 0.45 < share < 0.75  # REALITY.md: 0.45 to 0.5 measured in engines, .616 fitted to GEMM kernels alone
    assert ask(prefill="textbook", tokens=40_000).recompute.seconds == pytest.approx(2 * found.seconds, rel=1e-12)
    assert found.seconds < measured("70B", "h100_sxm", 8, "trtllm", "fp8", 20_000)  # it leaves attention out


def test_given_rate_is_taken_as_it_is(ask):
    found = ask(prefill=12_500.0).recompute
    assert (found.basis, found.seconds, found.low_s, found.high_s) == ("given", 1.6, 1.6, 1.6)
    assert "textbook" in {other.basis for other in found.alternatives}


def test_llama_8b_on_one_h100_is_answered_by_the_curve(ask):
    options = {"tp": 1, "weights": "bf16", "kv_dtype": "bf16"}
    for engine, rows in (("trtllm", "trtllm"), ("vllm", "vllm"), ("lmcache", "vllm")):
        found = ask("llama3.1-8b", engine=engine, **options).recompute
        assert found.basis == "measured"
        assert found.seconds == pytest.approx(measured("8B", "h100_sxm", 1, rows, "bf16", 20_000), rel=1e-6)


def test_curve_of_any_engine_serves_where_none_is_named_and_of_that_engine_where_one_is(ask):
    options = {"weights": "bf16", "kv_dtype": "bf16"}
    times = {engine: measured("70B", "h100_sxm", 8, engine, "bf16", 20_000) for engine in ("trtllm", "vllm", "sglang")}
    for engine, seconds in times.items():
        found = ask("llama3.1-70b", PLAIN_H100, engine=engine, **options).recompute
        assert found.seconds == pytest.approx(seconds, rel=1e-6)
    unnamed = ask("llama3.1-70b", PLAIN_H100, **options).recompute
    shown = [unnamed.seconds, *(other.seconds for other in unnamed.alternatives if other.basis == "measured")]
    assert sorted(shown) == pytest.approx(sorted(times.values()), rel=1e-6)


def test_curve_of_another_kv_width_or_weight_format_does_not_serve(ask):
    assert ask("llama3.1-8b", tp=1, weights="bf16", kv_dtype="fp8").recompute.basis == "fit"
    assert ask("llama3.1-70b", PLAIN_H100, weights="nvfp4").recompute.basis != "measured"


CURVES = [
    ("llama3.1-70b", "70B", PLAIN_H100, "h100_sxm", 8, "trtllm", "fp8", "fp8", (128, 1_000, 8_000, 20_000)),
    ("llama3.1-70b", "70B", PLAIN_H100, "h100_sxm", 8, "vllm", "fp8", "fp8", (1_000, 4_000, 20_000)),
    ("llama3.1-8b", "8B", PLAIN_H100, "h100_sxm", 1, "trtllm", "bf16", "bf16", (256, 2_000, 32_000)),
    ("llama3.1-70b", "70B", "b200-pcie5", "b200_sxm", 8, "trtllm", "nvfp4", "fp8", (1_000, 4_000, 20_000)),
    ("llama3.1-8b", "8B", "a100-pcie4", "a100_sxm", 1, "trtllm", "bf16", "bf16", (1_000, 4_000, 20_000)),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: "-".join(map(str, curve[2:7])))
def test_curve_passes_through_its_points(ask, curve):
    model, name, node, system, tp, engine, quant, kv_dtype, lengths = curve
    for tokens in lengths:
        found = ask(model, node, tokens, tp=tp, engine=engine, weights=quant, kv_dtype=kv_dtype).recompute
        assert found.basis == "measured"
        assert found.seconds == pytest.approx(measured(name, system, tp, engine, quant, tokens), rel=1e-5)


def test_between_its_points_a_curve_bends_as_the_model_does(ask, machine):
    # only the ends of the measured curve are given; a straight line between them, both axes logarithmic, is 44 % too
    # high at 20,000 tokens: 47.928 ms x 20^1.0238 = 1,029 ms, where 716 was measured
    points = "{1000: 47.928 ms, 100000: 5350.834 ms}"
    curve = f"{{models: [llama3.1-70b], tp: 8, weights: fp8, kv_bits: 8, source: made, points: {points}}}"
    node = machine("h100-sxm", 8, "10 GB/s", "1 ms", curve)
    for tokens in (2_000, 4_000, 8_000, 20_000, 50_000):
        found = ask("llama3.1-70b", node, tokens).recompute
        expected = measured("70B", "h100_sxm", 8, "trtllm", "fp8", tokens)
        assert found.basis == "measured"
        assert found.seconds == pytest.approx(expected, rel=HELD_OUT)


def test_curve_of_a_model_that_can_not_be_modelled_is_straight_in_logarithms(ask, machine):
    # Hunyuan's profile has no feed-forward fields; 100 ms at 1,000 and 400 ms at 4,000 make 200 ms at 2,000
    curve = (
        "{models: [hunyuan-a13b], tp: 1, weights: fp8, kv_bits: 8, source: made, points: {1000: 100 ms, 4000: 400 ms}}"
    )
    node = machine("h100-sxm", 1, "10 GB/s", "1 ms", curve)
    assert ask("hunyuan-a13b", node, 2_000).recompute.seconds == pytest.approx(0.2, rel=1e-9)
    assert ask("hunyuan-a13b", node, 8_000).recompute.seconds == pytest.approx(0.8, rel=1e-9)  # in proportion beyond


def test_curve_says_when_a_length_was_not_measured(ask):
    def said(tokens):
        return " ".join(each.text for each in ask("llama3.1-70b", PLAIN_H100, tokens).assumptions)

    assert "outside what was measured" in said(33_000)  # the tables are measured to 32,768 tokens
    assert "outside what was measured" not in said(20_000)


def test_model_without_feed_forward_fields_is_refused_a_modelled_prefill_and_nothing_else(ask):
    with pytest.raises(UserError, match=r"hunyuan-a13b.*feed-forward.*--prefill RATE"):
        ask("hunyuan-a13b")
    found = ask("hunyuan-a13b", prefill=10_000.0).recompute
    assert found.seconds == 2.0
    assert found.unavailable


def test_accelerator_without_constants_is_refused_with_the_way_out(ask, machine):
    node = machine("tpu-v6e", 1, "10 GB/s", "1 ms")
    for prefill in (None, "model", "textbook"):
        with pytest.raises(UserError, match=r"tpu-v6e.*--prefill RATE"):
            ask("llama3.1-8b", node, prefill=prefill)
    assert ask("llama3.1-8b", node, prefill=10_000.0).recompute.seconds == 2.0


def test_range_of_a_textbook_rate_reaches_what_was_measured(ask):
    found = ask().recompute
    assert found.low_s == 0.4
    assert found.high_s >= measured("70B", "h100_sxm", 8, "vllm", "fp8", 20_000)  # 730 ms, the slowest of the curves


def test_band_of_the_model_holds_what_was_measured(ask):
    for tokens in (1_000, 4_000, 20_000):
        found = ask("llama3.1-70b", tokens=tokens, prefill="model", engine="trtllm").recompute
        assert found.low_s < measured("70B", "h100_sxm", 8, "trtllm", "fp8", tokens) < found.high_s


@pytest.mark.parametrize(("prefix", "new"), [(19_000, 1_000), (10_000, 10_000), (16_000, 4_000)])
def test_fetched_prefix_saves_the_whole_prompt_less_what_follows_it(ask, prefix, new):
    # recompute = T(C + N) - T(N after C), both in the kernel tables; the first is a point of the curve, so the error
    # is that of the second, for which the issue allows 14 % on a dense row of Hopper
    whole = measured("70B", "h100_sxm", 8, "trtllm", "fp8", prefix + new)
    rest = measured("70B", "h100_sxm", 8, "trtllm", "fp8", prefix + new, cached=prefix)
    found = ask("llama3.1-70b", PLAIN_H100, prefix, new=new, engine="trtllm").recompute
    assert found.seconds == pytest.approx(whole - rest, abs=0.14 * rest)


def test_with_tokens_to_follow_a_prefix_saves_all_but_the_launches(ask):
    # on one GPU T(S after C) = launch + a*S + b*(S*C + S^2/2): T(C+N) - T(N after C) = T(C) - launch
    alone = ask("llama3.1-8b", tp=1, prefill="model").recompute
    (launch,) = [term.seconds for term in alone.terms if term.name == "launch"]
    followed = ask("llama3.1-8b", tp=1, prefill="model", new=5_000).recompute
    assert followed.seconds == pytest.approx(alone.seconds - launch, rel=1e-9)
    assert followed.seconds < alone.seconds


def test_rate_knows_no_attention_so_tokens_to_follow_change_nothing(ask):
    assert ask(new=5_000).recompute.seconds == pytest.approx(ask().recompute.seconds, rel=1e-9)


def test_a_changed_model_under_a_shipped_name_has_none_of_its_stated_rates_and_curves(tmp_path):
    text = (places.shipped() / "model_profiles" / "llama3-70b.yaml").read_text()
    assert text.count("layers: 80") == 2
    (tmp_path / "mine.yaml").write_text(text.replace("layers: 80", "layers: 8"))
    found = kvcalc.margin(str(tmp_path / "mine.yaml"), "h100-pcie5", 20_000).recompute
    assert found.basis == "fit"
    assert found.seconds < 0.4 / 4  # a tenth of the layers


def test_textbook_rate_of_which_nothing_is_measured_is_bounded_by_the_model(ask):
    """bf16 KV has no curve at TP 8: 400 ms by the chapter's rate, 763 ms by the model (its terms add up to it)."""
    found = ask(kv_dtype="bf16")
    modelled = ask(kv_dtype="bf16", prefill="model").recompute
    assert (found.recompute.basis, found.recompute.low_s) == ("textbook", 0.4)
    assert found.recompute.high_s == modelled.high_s > 0.7
    nvme = next(path for path in found.paths if path.tier == "nvme-gen4")
    assert (nvme.verdict, nvme.sure) == ("recompute", False)


def test_verdict_that_the_model_would_change_is_a_warning(ask):
    """DRAM over one link: 400 ms / 119 ms is marginal below 5x, 763 ms / 119 ms is not."""
    (said,) = [each for each in ask(kv_dtype="bf16", links=1, min_margin=5.0).warnings if "textbook's" in each]
    assert "by the prefill model" in said
    assert "dram-pcie5 is restore (6.4x)" in said
