"""A prompt whose head is cached: layers that load while others are computed, and when the link decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.physics import suffix

seconds = st.floats(1e-9, 1e4)


def schedule(fixed, moving, computing, layers):
    """When the last layer is computed if each is computed once it is there and the one before it is done."""
    there = done = fixed
    for _ in range(layers):
        there += moving / layers
        done = max(there, done) + computing / layers
    return done


def test_first_layer_is_not_hidden():
    """By hand: 3 layers, 6 s of loading and 3 of computing. Loaded at 2, 4, 6; the last is computed from 6 to 7."""
    assert suffix.layered(0, 6, 3, 3) == 7
    assert suffix.layered(0, 3, 6, 3) == 7  # loaded at 1, 2, 3; computed from 1 to 7
    assert suffix.layered(5, 6, 3, 3) == 12


@given(fixed=seconds, moving=seconds, computing=seconds, layers=st.integers(1, 128))
def test_layered_time_is_that_of_the_schedule(fixed, moving, computing, layers):
    assert suffix.layered(fixed, moving, computing, layers) == pytest.approx(
        schedule(fixed, moving, computing, layers), rel=1e-9
    )


@given(fixed=seconds, moving=seconds, computing=seconds, layers=st.integers(1, 128))
def test_overlap_is_between_the_larger_and_the_sum(fixed, moving, computing, layers):
    found = suffix.layered(fixed, moving, computing, layers)
    assert max(fixed + moving, computing) <= found * (1 + 1e-12)
    assert found <= (fixed + moving + computing) * (1 + 1e-12)


def test_ratio_by_hand():
    """20 us a new token, 3 us a cached one, 1 ns a pair: at N = 1,000 C/N = 20/(3 - 1) = 10."""
    assert suffix.link_bound_ratio(20e-6, 3e-6, 1e-9, 1000) == pytest.approx(10)


def test_ratio_of_the_chapter():
    """50,000 tok/s are 20 us; 163,840 B at 55 GB/s are 2.98 us; a rate knows no attention: 6.71."""
    assert suffix.link_bound_ratio(1 / 50_000, 163_840 / 55e9, 0.0, 2000) == pytest.approx(6.71, abs=0.005)


@given(recompute=seconds, fetch=seconds, pair=st.floats(0, 1), new=st.integers(1, 10**6))
def test_at_the_ratio_loading_and_computing_take_equally_long(recompute, fetch, pair, new):
    ratio = suffix.link_bound_ratio(recompute, fetch, pair, new)
    if fetch <= new * pair:
        assert ratio is None
    elif fetch - new * pair > 1e-6 * fetch:  # otherwise the difference is all rounding
        cached = ratio * new
        assert cached * fetch == pytest.approx(new * recompute + pair * new * cached, rel=1e-6)
