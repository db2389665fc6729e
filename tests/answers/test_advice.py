"""The one sentence of advice."""

import pytest

from kvcalc.answers.advice import recommendation
from kvcalc.answers.curve_result import CurvePoint, TierPlace


def point(rate, tokens=10_000_000):
    return CurvePoint("", tokens, tokens // 512, None, rate, rate, rate, rate, 1 / (1 - rate), 0.0)


def place(tier, rate, added, margin=None, verdict=None, reach=1_000_000):
    return TierPlace("fp8", tier, "dram", 1, 1, reach, rate, added, 1 / (1 - rate), margin, verdict)


KNEE, CEILING = point(0.55), point(0.6, 20_000_000)


def test_a_low_ceiling_ends_the_matter():
    said = recommendation([place("HBM", 0.01, 0.01)], point(0.01), point(0.02))
    assert said == "No cache helps much: at most 2.0 % of the prompt tokens were seen before."


def test_without_tiers_it_names_the_knee():
    assert (
        recommendation([], KNEE, CEILING)
        == "The knee is at 10 M tokens, which hit 55.0 % of at most 60.0 % of any cache."
    )


def test_hbm_that_holds_the_working_set_makes_offloading_pointless():
    said = recommendation([place("HBM", 0.6, 0.6), place("dram", 0.6, 0.0, 20.0, "restore")], KNEE, CEILING)
    assert said.startswith("Capacity is not the limit")
    assert said.endswith("so offloading adds nothing.")


def test_the_first_tier_that_is_faster_than_recomputing_comes_first():
    places = [
        place("HBM", 0.1, 0.1),
        place("dram", 0.5, 0.4, 20.0, "restore"),
        place("nvme", 0.6, 0.1, 0.5, "recompute", reach=30_000_000),
    ]
    assert recommendation(places, KNEE, CEILING) == (
        "Capacity is the limit: HBM's 1 M tokens hit 10.0 % of at most 60.0 % of any cache; dram takes that to 50.0 %, "
        "and fetching from it beats recomputing 20x: offload to it first; nvme would add 10.0 points, but fetching "
        "from it takes 2x as long as recomputing."
    )


@pytest.mark.parametrize("added", [0.0, 0.005])
def test_a_tier_that_adds_next_to_nothing_is_not_recommended(added):
    said = recommendation([place("HBM", 0.1, 0.1), place("dram", 0.1, added, 20.0, "restore")], KNEE, CEILING)
    assert "offload" not in said
    assert "the knee is at 10 M tokens, which would hit 55.0 %" in said
