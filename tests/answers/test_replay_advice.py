"""What a replay recommends, from its own figures."""

from dataclasses import replace

from kvcalc.answers.curve_result import CurvePoint
from kvcalc.answers.playing import Playing, played
from kvcalc.answers.replay_advice import advice
from kvcalc.answers.replay_assumptions import replayed
from kvcalc.answers.simulate_result import Run, TierUse
from kvcalc.simulate.service import Rules

ALONE = Run("HBM alone", 0.3, 0.3, 2.0, 1.0, 7.0, 13.0, 1000.0, 0.0, 0.8, 100.0, 5, 1.0, 0, 0)
HBM, DRAM, NVME = (TierUse(tier, "nvme", 1, 1, 1, 0.1, 0, 0.0, None) for tier in ("HBM", "dram", "nvme"))
IDLE = replace(NVME, hit_rate=0.001)


def point(rate):
    return CurvePoint("", 10_000_000, 1, None, rate, rate, rate, rate, 1 / (1 - rate), 0.0)


def said(fetch_if=0.0, ceiling=0.6, replicas=1, tiers=(HBM, NVME), **tiered):
    with_tiers = replace(ALONE, name="with tiers", **tiered)
    playing = Playing(Rules(least_margin=fetch_if), replicas=replicas)
    return advice((ALONE, with_tiers), tiers, played(playing, "fp8"), point(ceiling - 0.1), point(ceiling))


FETCHED = {"token_rate": 0.5, "prefill_gpu_s": 800.0, "fetched_requests": 100}


def test_fetching_that_loses_each_time_and_lowers_the_time_to_first_token_is_not_advised_against():
    text = said(**FETCHED, lost_requests=100, ttft_mean_s=1.0)
    assert "nvme takes that to 50.0 % and saves 20.0 % of the GPUs' prefill" in text
    assert "fetching loses for 100.0 % of the requests that fetch and yet frees the GPUs" in text
    assert "goes from 2 s to 1 s: keep it at this load" in text
    assert "recompute" not in text


def test_fetching_that_raises_the_time_to_first_token_is_advised_against():
    assert "with --fetch-if 'margin>1', or recompute" in said(**FETCHED, lost_requests=90, ttft_mean_s=3.0)
    assert said(1.0, **FETCHED, lost_requests=90, ttft_mean_s=3.0).count("--fetch-if") == 0


def test_fetching_that_wins_is_advised():
    text = said(**FETCHED, lost_requests=5, ttft_mean_s=1.0)
    assert "fetching beats recomputing for 95.0 % of the requests that fetch" in text
    assert "goes from 2 s to 1 s: offload" in text


def test_hits_are_those_of_the_replay():
    assert "nvme takes that to 50.0 %" in said(**FETCHED)
    assert "dram takes that to 50.0 %" in said(tiers=(HBM, DRAM, IDLE), **FETCHED)
    assert "; nvme adds next to nothing" in said(tiers=(HBM, DRAM, IDLE), **FETCHED)
    assert said(token_rate=0.3, replicas=3).startswith("Each replica sees few of its own prompts again: HBM alone")


def test_hbm_that_hits_what_any_cache_would_needs_no_tier():
    assert said(ceiling=0.3001).startswith("Capacity is not the limit: HBM alone hits 30.0 %")


def test_assumptions_follow_the_rules(data):
    from kvcalc.answers.curve import curve
    from kvcalc.answers.options import Options
    from kvcalc.answers.placement import Placing
    from kvcalc.profiles import catalog

    placing = Placing(catalog.model("llama3-70b"), catalog.machine("h100-pcie5"), Options(), kv_dtypes=("fp8",))
    drawn = curve(data / "mooncake_arxiv_excerpt_1178625ms.jsonl", placing)
    plain = " ".join(each.text for each in replayed(drawn.assumptions, Playing()))
    assert "One cache; the least recently used block goes first" in plain
    assert "Each tier holds only what the tiers above it have evicted" in plain
    other = Playing(Rules(policy="fifo", admission="second-use", inclusive=True), replicas=3)
    changed = " ".join(each.text for each in replayed(drawn.assumptions, other))
    assert "3 replicas, each with its own cache; the block that came first goes first" in changed
    assert "Each tier keeps a copy of what is above it" in changed
    assert "only once it was used twice" in changed
    assert "least-recently-used" not in changed
