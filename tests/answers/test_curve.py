"""`curve` as a library: what a trace is, its capacities, and the tiers on it."""

import pytest

from kvcalc.answers.curve import curve
from kvcalc.answers.options import Options
from kvcalc.answers.placement import Placing
from kvcalc.errors import UserError
from kvcalc.profiles import catalog
from kvcalc.simulate import curve as hits
from kvcalc.traces.read import read
from kvcalc.traces.reader import Reading


@pytest.fixture(scope="module")
def synthetic(data):
    return data / "mooncake_synthetic.jsonl.gz"


@pytest.fixture(scope="module")
def answer(synthetic):
    placing = Placing(catalog.model("llama3-70b"), catalog.machine("h100-pcie5"), Options())
    return curve(synthetic, placing)


def test_trace_is_described_as_its_paper_and_a_count_by_hand_do(answer):
    """3,993 requests, mean input 15,325 and output 149 tokens (FAST 2025, table 2); blocks from golden.json."""
    facts = answer.trace
    assert (facts.requests, round(facts.input_tokens_mean)) == (3993, 15_325)
    assert (facts.block_references, facts.distinct_blocks) == (121_877, 43_924)
    assert facts.input_tokens == 61_194_628
    assert facts.input_tokens_max == 191_378
    assert facts.duration_s == pytest.approx(1022, abs=1)
    assert facts.notes == ()


def test_points_rise_to_the_ceiling_and_one_is_the_knee(answer):
    points = answer.points
    assert [point.capacity_tokens for point in points] == sorted(point.capacity_tokens for point in points)
    assert points[-1].mark == "ceiling"
    assert [point.mark for point in points].count("knee") == 1
    assert points[-1].token_rate == pytest.approx(39_852_661 / 61_194_628)
    assert points[-1].work == pytest.approx(1 / (1 - 39_852_661 / 61_194_628))


def test_capacities_have_the_bytes_of_the_model(answer):
    """163,840 B a token: 80 layers x 8 heads x 256 elements of one byte."""
    assert all(point.capacity_bytes == 163_840 * point.capacity_tokens for point in answer.points)


def test_tiers_add_up_as_one_cache(answer, synthetic):
    """Two terabytes of DRAM are 12,207,031 tokens of 163,840 B, on top of what HBM holds."""
    hbm, dram, nvme = (place for place in answer.places if place.kv_dtype == "fp8")
    assert (hbm.tier, dram.tier, nvme.tier) == ("HBM", "dram-pcie5", "nvme-gen4")
    assert dram.tier_tokens == 12_207_031
    assert dram.reach_tokens == pytest.approx(hbm.tier_tokens + dram.tier_tokens, abs=1)
    alone = hits.curve(read(synthetic)).at(dram.reach_tokens / 512)
    assert dram.token_rate == alone.token_rate
    assert dram.added_rate == pytest.approx(dram.token_rate - hbm.token_rate)
    assert hbm.margin is None
    assert nvme.token_rate == answer.ceiling.token_rate


def test_sixteen_bits_hold_half_the_tokens(answer):
    by_format = {(place.kv_dtype, place.tier): place for place in answer.places}
    for tier in ("HBM", "dram-pcie5", "nvme-gen4"):
        assert by_format["fp8", tier].tier_tokens == pytest.approx(2 * by_format["bf16", tier].tier_tokens, abs=2)
        assert by_format["fp8", tier].token_rate >= by_format["bf16", tier].token_rate


def test_margins_are_those_of_the_mean_prompt(answer, ask, path_of):
    expected = ask(tokens=15_325, kv_dtype="fp8")
    place = next(place for place in answer.places if place.tier == "nvme-gen4")
    assert place.margin == path_of(expected, "nvme-gen4").margin
    assert place.verdict == "recompute"


def test_given_sizes_take_the_place_of_the_profile(synthetic):
    placing = Placing(
        catalog.model("llama3-70b"),
        catalog.machine("h100-pcie5"),
        Options(),
        hbm_bytes=163_840 * 512 * 1000,
        tier_bytes={"dram": 163_840 * 512 * 4859},
    )
    hbm, dram, *_ = curve(synthetic, placing).places
    assert (hbm.reach_tokens, dram.reach_tokens) == (512_000, 512 * 5859)
    assert (hbm.token_rate, dram.token_rate) == (5_245_479 / 61_194_628, 19_281_874 / 61_194_628)  # golden.json


def test_a_tier_whose_size_nobody_knows_is_left_out_and_named(answer):
    (warning,) = answer.warnings
    assert "remote-store" in warning
    assert "give one with --tier infiniband-400g=50TB" in warning


def test_weights_that_leave_no_room_are_refused(synthetic):
    placing = Placing(
        catalog.model("llama3-70b"), catalog.machine("h100-pcie5"), Options(tp=1, weights="bf16", prefill=1e4)
    )
    with pytest.raises(UserError, match="leave no room for KV on 1 x NVIDIA H100"):
        curve(synthetic, placing)


def test_a_tier_that_is_unknown_is_refused(synthetic):
    placing = Placing(catalog.model("llama3-70b"), catalog.machine("h100-pcie5"), Options(), tier_bytes={"tape": 1e12})
    with pytest.raises(UserError, match="'tape'"):
        curve(synthetic, placing)


def test_token_counts_alone_have_no_hit_rate(data):
    with pytest.raises(
        UserError, match="names no blocks, so it says nothing of reuse; assume some with --shared-prefix"
    ):
        curve(data / "azure_code_first49.csv")


def test_token_counts_have_the_hit_rate_of_their_shared_prefix(data):
    """1,000 tokens are 62 blocks of 16; the first prompt misses them, later ones hit as many as they have."""
    answer = curve(data / "azure_code_first49.csv", reading=Reading(shared_prefix=1000))
    trace = read(data / "azure_code_first49.csv")
    expected = sum(min(62, int(tokens) // 16) * 16 for tokens in trace.input_tokens[1:])
    assert answer.ceiling.token_rate == pytest.approx(expected / int(trace.input_tokens.sum()))


def test_a_sample_says_its_share_and_bounds(synthetic):
    answer = curve(synthetic, reading=Reading(rate=0.2))
    assert answer.trace.sampled == 0.2
    assert all(point.bound > 0 for point in answer.points)
    assert abs(answer.ceiling.block_rate - 77_953 / 121_877) < answer.ceiling.bound
    assert "A sample of 20 % of the distinct blocks" in "".join(each.text for each in answer.assumptions)
