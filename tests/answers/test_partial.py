"""Partial hits: the time to the first token with a prefix cached and new tokens after it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kvcalc
from kvcalc import Options


def hit_of(result, tier, links=1):
    (found,) = [hit for hit in result.partial_hits if hit.tier.startswith(tier) and hit.links == links]
    return found


def test_without_new_tokens_there_is_no_partial_hit(ask):
    assert ask().partial_hits == ()


def test_chapter_by_hand(ask):
    """20,000 cached, 2,000 new at 50,000 tok/s: 40 ms; 59.6 ms to load; layered 59.6 + 40/80 layers = 60.1 ms."""
    result = ask(new=2000)
    hit = hit_of(result, "dram")
    assert result.recompute.whole_s == pytest.approx(0.440)
    assert hit.first_token_s == pytest.approx(0.0596 + 0.040, abs=1e-4)
    assert hit.first_token_layered_s == pytest.approx(0.0596 + 0.0005, abs=1e-4)
    assert (hit.bound_by, hit.cached_to_new) == ("link", 10)
    assert hit.link_bound_cached_to_new == pytest.approx(6.71, abs=0.01)  # tests/physics/test_suffix.py


@pytest.mark.parametrize("prefill", [50_000.0, "model"])
@pytest.mark.parametrize("new", [1, 500, 20_000])
def test_link_decides_just_beyond_the_ratio(ask, new, prefill):
    """The ratio is linear in the length; with a rate, that is the whole truth."""
    asked = {"new": new, "prefill": prefill, "tiers": ("dram",), "links": 1, "latency": {"dram": 0.0}}
    result = ask(model="llama3.1-70b", tokens=20_000, **asked)
    (hit,) = result.partial_hits
    bound = hit.link_bound_cached_to_new
    assert (hit.bound_by == "link") == (bound is not None and hit.cached_to_new > bound)


HYBRIDS = ("gemma3-27b", "llama4-scout", "qwen3-next-80b-a3b", "deepseek-v3.2", "gpt-oss-120b", "llama3.1-70b")


@pytest.mark.parametrize("model", HYBRIDS)
@given(tokens=st.integers(1, 1_000_000), new=st.sampled_from([1, 500, 5_000, 100_000]))
@settings(max_examples=10)
def test_what_a_request_waits_for_is_what_the_turning_lengths_say(ask, model, tokens, new):
    """Windows, chunks, states and top-k bend both times: one ratio from one length would contradict itself."""
    result = ask(model=model, hardware="h200-pcie5", tokens=tokens, new=new, prefill="model", kv_dtype="auto")
    for hit in result.partial_hits:
        bound = hit.link_bound_short ^ (sum(turn <= tokens for turn in hit.link_bound_turns) % 2 == 1)
        assert (hit.bound_by == "link") == bound
        if hit.linear and hit.link_bound_cached_to_new is not None and hit.link_bound_turns:
            assert hit.link_bound_turns[-1] == pytest.approx(hit.link_bound_cached_to_new * new, rel=1e-3, abs=2)


def test_ratio_is_of_models_whose_every_token_costs_the_same(ask):
    for model, linear in (
        ("llama3.1-70b", True),
        ("deepseek-v3", True),
        ("gemma3-27b", False),
        ("deepseek-v3.2", False),
    ):
        result = ask(model=model, hardware="h200-pcie5", new=500, prefill="model")
        assert {hit.linear for hit in result.partial_hits} == {linear}
        if not linear:
            assert {hit.link_bound_cached_to_new for hit in result.partial_hits} == {None}


@given(tokens=st.integers(1, 200_000), new=st.integers(1, 50_000), node=st.sampled_from(["h100-pcie5", "h200-pcie5"]))
def test_overlap_is_never_above_the_sum_nor_below_the_larger(tokens, new, node):
    result = kvcalc.margin("llama3.1-70b", node, tokens, Options(new=new, prefill="model"))
    for hit, path in zip(result.partial_hits, result.paths, strict=True):
        assert hit.first_token_layered_s <= hit.first_token_s * (1 + 1e-9)
        assert hit.first_token_layered_s >= max(path.fetch_s, result.recompute.rest_s) * (1 - 1e-9)
        assert hit.first_token_s == pytest.approx(path.fetch_s + result.recompute.rest_s)


def test_attention_to_the_prefix_can_keep_a_link_from_ever_deciding(ask):
    """Each new token attends to the whole prefix: with many of them computing outgrows any loading."""
    result = ask(model="llama3.1-70b", hardware="gh200-nvlink-c2c", tokens=50_000, new=50_000, prefill="model")
    (hit,) = [hit for hit in result.partial_hits if hit.tier.startswith("dram")]
    assert hit.link_bound_cached_to_new is None
    assert hit.bound_by == "compute"
