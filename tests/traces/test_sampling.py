"""Which blocks are in a sample."""

import numpy as np
import pytest

from kvcalc.traces import sampling

IDS = np.arange(100_000)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_a_sample_has_its_share_of_ids(rate):
    assert sampling.chosen(IDS, 0, rate).mean() == pytest.approx(rate, rel=0.1)


def test_an_id_is_in_the_sample_wherever_it_appears():
    assert (sampling.chosen(IDS[::-1].copy(), 3, 0.1) == sampling.chosen(IDS, 3, 0.1)[::-1]).all()


def test_sessions_have_samples_of_their_own():
    both = sampling.chosen(IDS, 1, 0.1) & sampling.chosen(IDS, 2, 0.1)
    assert both.mean() == pytest.approx(0.01, rel=0.2)


def test_a_larger_sample_holds_the_smaller_one():
    assert not (sampling.chosen(IDS, 0, 0.1) & ~sampling.chosen(IDS, 0, 0.2)).any()


def test_text_is_hashed_alike_in_every_run():
    """blake2b of "a", 8 bytes, from Python's hashlib."""
    import hashlib

    expected = int.from_bytes(hashlib.blake2b(b"a", digest_size=8).digest(), "little", signed=True)
    assert sampling.text_keys(["a", "a", 5]).tolist()[:2] == [expected, expected]
