"""The requests of a trace, on a clock of their own."""

import numpy as np
import pytest

from kvcalc.errors import UserError
from kvcalc.simulate.arrivals import Pace, arrivals
from kvcalc.traces.read import read
from kvcalc.traces.reader import Reading


@pytest.fixture(scope="module")
def conversation(mooncake):
    return mooncake("fixture_conversation_first500")


def times(trace, **pace):
    return np.array([each.at_s for each in arrivals(trace, Pace(**pace))])


def test_the_first_arrives_at_zero_and_the_others_as_recorded(conversation):
    expected = conversation.arrival_s[conversation.order]
    assert times(conversation) == pytest.approx(expected - expected[0])


def test_speed_shortens_all_gaps(conversation):
    assert times(conversation, speed=4.0) == pytest.approx(times(conversation) / 4)


def test_requests_of_equal_time_are_spread_up_to_the_next(conversation):
    """The trace counts in steps of 3 s: 1,180 distinct times of 12,031 requests."""
    recorded, spread = times(conversation), times(conversation, spacing="spread")
    assert len(np.unique(recorded)) < len(recorded) / 5
    assert len(np.unique(spread)) == len(spread)
    assert (np.diff(spread) > 0).all()
    assert (spread >= recorded).all()
    later = np.searchsorted(np.unique(recorded), recorded, side="right")
    ends = np.append(np.unique(recorded), np.inf)[later]
    assert (spread < ends).all()


def test_poisson_arrivals_have_the_mean_rate_of_the_trace(conversation):
    gaps = np.diff(times(conversation, spacing="poisson"))
    assert gaps.mean() == pytest.approx(np.ptp(conversation.arrival_s) / 499, rel=0.15)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.15)  # of an exponential distribution


def test_a_seed_is_a_sequence(conversation):
    first, again, other = (times(conversation, spacing="poisson", seed=seed).tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_blocks_cover_the_prompt(conversation):
    for each in arrivals(conversation, Pace()):
        assert each.covered(0) == 0
        assert each.covered(1) == min(512, each.tokens)
        assert each.covered(len(each.keys)) == each.tokens  # Mooncake's last block is partial


def test_blocks_of_different_length_cover_what_they_say(tmp_path):
    row = '{"timestamp": 0, "input_length": 17, "hash_ids": [1, 2, 3], "block_tokens": [4, 6, 5], "block_size": 8}'
    (tmp_path / "trace.jsonl").write_text(row)
    (only,) = arrivals(read(tmp_path / "trace.jsonl"), Pace())
    assert [only.covered(blocks) for blocks in range(4)] == [0, 4, 10, 15]


def test_a_sample_is_refused(data):
    sample = read(data / "mooncake_conversation.jsonl.gz", Reading(rate=0.1))
    with pytest.raises(UserError, match="no whole requests"):
        next(arrivals(sample, Pace()))
