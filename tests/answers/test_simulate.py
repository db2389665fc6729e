"""`simulate` as a library: services from profiles, figures from a replay."""

import gzip
import json
from random import Random

import pytest

from kvcalc.answers.curve import curve
from kvcalc.answers.options import Options
from kvcalc.answers.placement import Placing
from kvcalc.answers.playing import Playing
from kvcalc.answers.simulate import simulate
from kvcalc.errors import UserError
from kvcalc.profiles import catalog
from kvcalc.simulate.arrivals import Pace
from kvcalc.simulate.service import Rules

BLOCK = 512 * 163_840  # bytes: Llama 3 70B keeps 163,840 B a token in fp8 (80 layers x 8 heads x 256 elements)


def placing(hbm: float | None = 60 * BLOCK, dram: float = 20 * BLOCK, tiers=("dram",), **options) -> Placing:
    """HBM of 60 blocks and 20 of DRAM, so that the small excerpt does not fit."""
    model, machine = catalog.model("llama3-70b"), catalog.machine("h100-pcie5")
    sizes = dict.fromkeys(tiers, dram)
    return Placing(model, machine, Options(**options), hbm, sizes, tiers, ("fp8",))


@pytest.fixture(scope="module")
def excerpt(data):
    return data / "mooncake_arxiv_excerpt_1178625ms.jsonl"


@pytest.fixture(scope="module")
def answer(excerpt):
    return simulate(excerpt, placing(hbm=300 * BLOCK, dram=2000 * BLOCK))


def test_bytes_moved_are_blocks_of_the_model(answer):
    assert answer.block_bytes == BLOCK
    assert all(link.moved_bytes == link.moved_blocks * BLOCK for link in answer.links)
    assert {(link.source, link.target) for link in answer.links} == {("dram-pcie5", "HBM"), ("HBM", "dram-pcie5")}


def test_links_carry_what_the_profile_says(answer):
    """Eight links of 55 GB/s under a ceiling of 213.6 (docs/equations.md), both ways."""
    assert [link.bytes_per_s for link in answer.links] == pytest.approx([213.6e9, 213.6e9], rel=1e-3)


def test_tiers_hold_what_they_were_given(answer):
    hbm, dram = answer.tiers
    assert (hbm.tier_blocks, dram.tier_blocks) == (300, 2000)
    assert hbm.drive_writes_per_day is None


def test_prefill_takes_the_time_of_the_profile(excerpt):
    """50,000 tokens a second: without any cache all prompt tokens over that, on 8 GPUs."""
    found = simulate(excerpt, placing(hbm=300 * BLOCK, dram=2000 * BLOCK))
    whole = 8 * found.trace.input_tokens / 50_000
    assert found.runs[1].prefill_gpu_s + found.saved_by_cache_gpu_s == pytest.approx(whole)
    assert found.saved_gpu_s == pytest.approx(found.runs[0].prefill_gpu_s - found.runs[1].prefill_gpu_s)


def test_hits_by_tier_add_up_to_the_rate(answer):
    assert sum(tier.hit_rate for tier in answer.tiers) == pytest.approx(answer.runs[1].block_rate)


def test_drives_wear_by_what_is_written(excerpt):
    found = simulate(excerpt, placing(hbm=300 * BLOCK, dram=4000 * BLOCK, tiers=("nvme",)))
    written = next(link.moved_bytes for link in found.links if link.target == "nvme-gen4")
    nvme = found.tiers[1]
    link = next(link for link in found.links if link.target == "nvme-gen4")
    assert written > 0
    assert nvme.drive_writes_per_day * nvme.tier_bytes <= 86_400 * link.bytes_per_s
    assert nvme.drive_writes_per_day * nvme.tier_bytes == pytest.approx(
        86_400 * link.bytes_per_s * link.link_utilisation, rel=1e-3
    )


def test_evictions_are_counted_by_the_hour(answer):
    run = answer.runs[0]
    assert run.evicted_blocks > 0
    assert run.evictions_per_hour == pytest.approx(run.evicted_blocks * 3600 / run.duration_s)


def test_twice_the_speed_is_more_load(excerpt):
    slow, fast = (
        simulate(excerpt, placing(hbm=300 * BLOCK), Playing(pace=Pace(speed=speed))).runs[0] for speed in (0.5, 1)
    )
    assert fast.utilisation > slow.utilisation
    assert fast.ttft_p50_s > slow.ttft_p50_s


def test_two_replicas_share_the_load(excerpt):
    one, two = (simulate(excerpt, placing(hbm=300 * BLOCK), Playing(replicas=replicas)).runs[0] for replicas in (1, 2))
    assert two.utilisation < one.utilisation
    assert two.ttft_p50_s < one.ttft_p50_s


def test_the_same_seed_gives_the_same_answer(excerpt):
    first, again, other = (
        simulate(excerpt, placing(hbm=300 * BLOCK), Playing(pace=Pace("poisson", seed=seed))) for seed in (1, 1, 2)
    )
    assert first == again
    assert first.runs != other.runs


def test_a_slow_drive_loses_unless_only_wins_are_fetched(data, tmp_path):
    """7 GB/s is 0.85x of recomputing at 50,000 tokens a second."""
    rows = gzip.decompress((data / "mooncake_conversation.jsonl.gz").read_bytes()).splitlines(keepends=True)
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(rows[:500]))
    drive = placing(hbm=500 * BLOCK, dram=30e12, tiers=("nvme",))
    always = simulate(path, drive, Playing(Rules(least_margin=0.0)))
    chosen = simulate(path, drive, Playing(Rules(least_margin=1.0)))
    assert always.runs[1].lost_requests > 0.9 * always.runs[1].fetched_requests > 20
    assert chosen.runs[1].fetched_requests == 0
    assert any("--fetch-if" in warning for warning in always.warnings)


def test_it_ends_in_a_sentence_of_its_own_figures(answer):
    """HBM alone hits 35.9 % of at most 36.1 %, so no tier is worth anything here."""
    rate = answer.runs[0].token_rate
    assert rate == pytest.approx(0.361, abs=0.01)
    assert answer.recommendation.startswith(f"Capacity is not the limit: HBM alone hits {100 * rate:.1f} %")


def test_a_textbooks_rate_is_doubted_first(excerpt):
    """50,000 tokens a second is a node's throughput; the measured curve of the profile is for one prompt."""
    assert "a textbook's rate of a node's throughput" in simulate(excerpt, placing(hbm=300 * BLOCK)).warnings[0]
    model = simulate(excerpt, placing(hbm=300 * BLOCK, prefill="model"))
    assert not [each for each in model.warnings if "textbook" in each]


@pytest.mark.parametrize(
    ("playing", "said"),
    [
        (Playing(replicas=0), "--replicas"),
        (Playing(pace=Pace(speed=0.0)), "--speed"),
        (Playing(pace=Pace(spacing="sometimes")), "--spacing"),
        (Playing(Rules(policy="lfu")), "--policy"),
        (Playing(Rules(admission="never")), "--admission"),
        (Playing(Rules(least_margin=-1)), "--fetch-if"),
    ],
)
def test_what_cannot_be_replayed_is_refused(excerpt, playing, said):
    with pytest.raises(UserError, match=said):
        simulate(excerpt, placing(), playing)


def test_hbm_smaller_than_a_prompt_is_refused(excerpt):
    with pytest.raises(UserError, match=r"the longest prompt has .* blocks and HBM holds 2"):
        simulate(excerpt, placing(hbm=2 * BLOCK))


def test_a_tier_that_the_node_lacks_is_taken_from_the_catalog(excerpt):
    found = simulate(excerpt, placing(hbm=300 * BLOCK, dram=4000 * BLOCK, tiers=("nvme-gen5",)))
    assert [tier.tier for tier in found.tiers] == ["HBM", "nvme-gen5"]


def sparse(path, longest):
    """300 prompts, one a minute, that share prefixes of up to so many blocks."""
    random = Random(5)
    families = [[family * 100 + place for place in range(random.randint(1, longest))] for family in range(12)]
    rows = []
    for number in range(300):
        family = random.choice(families)
        length = random.randint(1, len(family))
        rows.append({"timestamp": number * 60_000, "input_length": 512 * length, "hash_ids": family[:length]})
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_without_load_hits_are_those_of_the_curve_where_a_tier_holds_the_longest_prompt(tmp_path):
    trace = sparse(tmp_path / "trace.jsonl", 12)
    placed = placing(hbm=20 * BLOCK, dram=13 * BLOCK)
    found = simulate(trace, placed)
    assert [run.token_rate for run in found.runs] == [place.token_rate for place in curve(trace, placed).places]
    assert not [each for each in found.warnings if "the longest prompt has" in each]


def test_a_tier_below_the_longest_prompt_is_warned_of(tmp_path):
    found = simulate(sparse(tmp_path / "trace.jsonl", 12), placing(hbm=20 * BLOCK, dram=7 * BLOCK))
    assert [each for each in found.warnings if "dram-pcie5 holds 7 blocks and the longest prompt has 12" in each]
