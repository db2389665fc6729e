"""One copy for all replicas against a copy in each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.physics import sharing

seconds = st.floats(1e-3, 1e3)


def test_by_hand():
    """4 replicas, 10 ms here, 50 ms there: (10 + 3 x 50)/4 = 40; h2/h1 = (400 - 10)/(400 - 40) = 1.083."""
    assert sharing.pooled(10, 50, 4) == 40
    assert sharing.hit_rate_ratio(400, 10, 40) == pytest.approx(1.0833, abs=1e-4)


def test_measured_pool_gains_more_than_it_has_to():
    """PegaFlow (vLLM blog 2026-05-18): one pool for 8 instances hits 52.35 %, eight pools 11.77 %: 4.4 times.

    Even a fetch four times as slow as the own one, 1/2 of recomputing, would ask for less than twice.
    """
    assert sharing.hit_rate_ratio(1.0, 0.125, 0.5) < 52.35 / 11.77


@given(recompute=seconds, local=seconds, pooled=seconds)
def test_at_the_ratio_both_take_equally_long(recompute, local, pooled):
    ratio = sharing.hit_rate_ratio(recompute, local, pooled)
    if recompute <= pooled:
        assert ratio is None
    elif local < recompute and recompute - pooled > 1e-6 * recompute:
        hits = 0.5 / max(1.0, ratio)
        own = hits * local + (1 - hits) * recompute
        assert hits * ratio * pooled + (1 - hits * ratio) * recompute == pytest.approx(own, rel=1e-6)


@given(local=seconds, remote=seconds, replicas=st.integers(2, 1000))
def test_mean_fetch_is_between_both(local, remote, replicas):
    found = sharing.pooled(local, remote, replicas)
    assert min(local, remote) * (1 - 1e-9) <= found <= max(local, remote) * (1 + 1e-9)
