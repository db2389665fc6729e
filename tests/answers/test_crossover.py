"""`crossover` against crossovers that others measured, and what holds at every one it finds."""

import itertools
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kvcalc
from kvcalc import Options, UserError
from kvcalc.answers.crossover import crossover, side_by_side
from kvcalc.answers.setting import settle
from kvcalc.physics import kv
from kvcalc.physics.crossover import LONGEST
from kvcalc.profiles import catalog

FILE = yaml.safe_load((Path(__file__).parents[1] / "data" / "measured_cases.yaml").read_text())
CASES = {case["id"]: case for case in FILE["cases"]}
QUARTER = 0.25


def points(times):
    return "{" + ", ".join(f"{tokens}: {seconds} s" for tokens, seconds in times.items()) + "}"


def path_of(result, tier, links=1):
    (found,) = [path for path in result.paths if path.tier.startswith(tier) and path.links == links]
    return found


# Measured crossovers, each within 25 %


def test_glm_pull_from_a_peer_meets_recomputing_where_it_was_seen_to(machine):
    (table,) = [curve for curve in FILE["curves"] if curve["id"] == "llmd-glm-5.2-h200-p2p"]
    recompute = points(dict(zip(table["tokens"], table["recompute_s"], strict=True)))
    # published: 1.66 s + 6.0 us a token, about 93 KB a token: 93 KB / 6.0 us = 15.5 GB/s
    curve = f"{{models: [glm-5.2], tp: 1, weights: fp8, kv_bits: 16, source: made, points: {recompute}}}"
    node = machine("h200-sxm", 1, "15.5 GB/s", "1.66 s", curve)
    wins = path_of(crossover("glm-5.2", node, [20_000], Options(kv_dtype="bf16")), "peer").wins
    assert not wins.holds_short
    assert wins.tokens == (pytest.approx(13_648, rel=QUARTER),)  # a tie was measured there


def test_gpt_oss_pull_between_pods_wins_from_below_two_thousand_tokens(machine):
    lengths = (2048, 8192, 16384, 32768, 49152)
    recompute = points({tokens: CASES[f"llmd-gptoss-recompute-{tokens}"]["value"] / 1000 for tokens in lengths})
    # 22 ms, docs of llm-d; 36,864 B a token in 4.25 us, the slope of the published fetch times (test_measured.py)
    curve = f"{{models: [gpt-oss-120b], tp: 1, weights: mxfp4, kv_bits: 16, source: made, points: {recompute}}}"
    node = machine("h200-sxm", 1, "8.67 GB/s", "22 ms", curve)
    wins = path_of(crossover("gpt-oss-120b", node, [2048], Options(kv_dtype="bf16")), "peer").wins
    assert all(tokens < 2048 for tokens in wins.tokens)
    assert wins.holds_short == (len(wins.tokens) % 2 == 0)  # it wins for all longer ones


@pytest.mark.parametrize(("tokens", "published"), [(1_000, 2), (100_000, 22)])
def test_cpu_load_of_llama_8b_by_vllm_wins_as_often_as_published(tokens, published):
    options = Options(engine="vllm", tp=1, kv_dtype="bf16", weights="bf16", links=1)
    (need,) = path_of(crossover("llama3.1-8b", "h100-pcie5", [tokens], options), "dram").by_length
    assert need.margin == pytest.approx(published, rel=QUARTER)
    # 10.2 ms + 2.97 us a token, 44 GB/s at 131,072 B a token: the fit of the published figure
    assert need.fetch_s == pytest.approx(10.2e-3 + 2.97e-6 * tokens, rel=QUARTER)


def test_cpu_load_of_llama_8b_by_vllm_meets_recomputing_where_its_fixed_cost_says():
    # recompute of a short prompt: 22.2 us a token, the fit of the same figure; 10.2 ms / (22.2 - 2.97 us) = 530 tokens
    options = Options(engine="vllm", tp=1, kv_dtype="bf16", weights="bf16", links=1)
    wins = path_of(crossover("llama3.1-8b", "h100-pcie5", [1_000], options), "dram").wins
    assert wins.tokens == (pytest.approx(530, rel=QUARTER),)


# Properties

MODELS = [
    "llama3-70b",
    "llama3.1-8b",
    "gpt-oss-120b",
    "deepseek-v3",
    "deepseek-v3.2",
    "gemma3-27b",
    "qwen3-next-80b-a3b",
]
NODES = ["h100-pcie5", "h200-pcie5", "gh200-nvlink-c2c", "b200-pcie5", "p5en.48xlarge", "a100-pcie4"]


@st.composite
def questions(draw):
    """A model, a node and options that go together."""
    model, node = draw(st.sampled_from(MODELS)), draw(st.sampled_from(NODES))
    gpus = catalog.machine(node).node.gpus
    splits = [tp for tp in (1, 2, 4, 8) if tp <= gpus and kv.splits(catalog.model(model), tp)]
    prefill = draw(st.none() | st.sampled_from(["model", "textbook"]) | st.floats(1e3, 1e6))
    options = Options(
        tp=draw(st.sampled_from(splits)), kv_dtype=draw(st.sampled_from(["fp8", "bf16"])), prefill=prefill
    )
    try:
        settle(model, node, 1000, options, [])
    except UserError:  # a GPU about whose prefill of this format nothing is known
        assume(False)
    return model, node, options


def times(setting, path, tokens):
    return setting.recompute(setting.ways.chosen, tokens), path.typical.seconds(setting.loads(tokens))


@settings(max_examples=15)
@given(question=questions(), inside=st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3))
def test_times_meet_at_every_crossover_and_the_winner_stays_between_neighbours(question, inside):
    model, node, options = question
    setting = settle(model, node, 20_000, options, [])
    for path, found in zip(setting.paths, crossover(model, node, [20_000], options, variants=False).paths, strict=True):
        wins = found.wins.holds_short
        for below, above in itertools.pairwise((1.0, *found.wins.tokens, float(LONGEST))):
            for part in inside:
                recompute, fetch = times(setting, path, below * (above / below) ** part)
                assert recompute == pytest.approx(fetch, rel=1e-9) or (recompute > fetch) == wins
            wins = not wins
        for tokens in found.wins.tokens:
            recompute, fetch = times(setting, path, tokens)
            assert recompute == pytest.approx(fetch, rel=1e-3)
        for tokens in found.restores.tokens:
            recompute, fetch = times(setting, path, tokens)
            assert recompute == pytest.approx(options.min_margin * fetch, rel=1e-3)


@settings(max_examples=15)
@given(question=questions(), tokens=st.integers(100, 1_000_000))
def test_break_even_bandwidth_put_back_in_gives_a_margin_of_one(question, tokens):
    model, node, options = question
    for path in crossover(model, node, [tokens], options, variants=False).paths:
        (need,) = path.by_length
        for rate, margin in ((need.break_even_link_bytes_per_s, 1.0), (need.min_margin_link_bytes_per_s, 3.0)):
            if rate is None:
                continue
            again = Options(
                tp=options.tp,
                kv_dtype=options.kv_dtype,
                prefill=options.prefill,
                tiers=(path.tier,),
                bandwidth={path.tier: rate},
                links=path.links,
            )
            (back,) = kvcalc.margin(model, node, tokens, again).paths
            assert back.margin == pytest.approx(margin, rel=1e-9)


@settings(max_examples=15)
@given(question=questions(), tokens=st.integers(1, 1_000_000))
def test_split_is_never_slower_than_fetching_or_recomputing(question, tokens):
    model, node, options = question
    result = kvcalc.margin(model, node, tokens, options)
    for path in result.paths:
        assert path.split_s <= min(path.fetch_s, result.recompute.seconds) * (1 + 1e-12)


# What is told


def test_break_even_of_the_chapter_is_the_bytes_over_the_recompute_time():
    """3.2768 GB in 400 ms, of which 10 us are latency and 3.5 us one copy: 8.19 GB/s; in a third of it 24.6."""
    (need,) = path_of(crossover("llama3-70b", "h100-pcie5", [20_000]), "dram").by_length
    assert need.break_even_link_bytes_per_s == pytest.approx(3.2768e9 / (0.4 - 13.5e-6))
    assert need.min_margin_link_bytes_per_s == pytest.approx(3.2768e9 / (0.4 / 3 - 13.5e-6))


def test_variants_are_every_split_format_and_rate_that_engines_allow():
    result = crossover("llama3-70b", "h100-pcie5", [20_000])
    found = {
        axis: [each.value for each in result.variants if each.axis == axis] for axis in ("tp", "kv_dtype", "prefill")
    }
    assert found["tp"] == ["1", "2", "4", "8"]
    assert found["kv_dtype"] == ["bf16", "fp8", "nvfp4"]
    assert found["prefill"][:3] == ["profile", "model", "textbook"]
    assert {"12,500 tok/s", "50,000 tok/s", "200,000 tok/s"} <= set(found["prefill"])
    half = {each.value: each.kv_bytes for each in result.variants if each.axis == "kv_dtype"}
    assert half["bf16"] == 2 * half["fp8"]


@pytest.mark.parametrize("prefill", [None, "model", 25_000.0])
def test_one_variant_of_each_kind_is_what_is_asked(prefill):
    result = crossover("llama3-70b", "h100-pcie5", [20_000], Options(prefill=prefill, tp=4, kv_dtype="bf16"))
    used = [(each.axis, each.value) for each in result.variants if each.used]
    assert used[:2] == [("tp", "4"), ("kv_dtype", "bf16")]
    assert [axis for axis, _ in used[2:]] == ["prefill"]


def test_a_format_that_engines_refuse_is_no_variant():
    result = crossover("deepseek-v4-pro", "h200-pcie5", [20_000])
    assert [each.value for each in result.variants if each.axis == "kv_dtype"] == ["bf16", "fp8"]


def test_another_format_or_another_node_stands_beside():

    def beside(other):
        found = side_by_side("llama3-70b", "h100-pcie5", other, [1000], Options(), variants=False)
        return [(each.hardware, each.kv_dtype) for each in found]

    asked = ("h100-pcie5", "fp8")
    assert beside(None) == [asked]
    assert beside("bf16") == [asked, ("h100-pcie5", "bf16")]
    assert beside("h200-pcie5") == [asked, ("h200-pcie5", "fp8")]
    with pytest.raises(UserError, match="h200-pcie5"):
        beside("h200-pcie")
