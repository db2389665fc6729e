"""Links as queues: the wait by Pollaczek and Khinchine, and when a link is full."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.physics import queueing
from kvcalc.physics.queueing import Flow


@pytest.mark.parametrize(("busy", "waits"), [(0.0, 0.0), (0.5, 0.5), (0.8, 2.0), (0.9, 4.5)])
def test_transfers_of_one_size_wait_as_an_md1_queue(busy, waits):
    """Kleinrock, Queueing Systems I, section 5.6: rho/(2(1 - rho)) service times, half of M/M/1's."""
    assert queueing.wait((Flow(busy / 0.06, 0.06),), 1) == pytest.approx(waits * 0.06)


def test_two_sizes_wait_longer_than_one_of_their_mean():
    """By hand: 1 and 3 s, each 0.1 a second: 0.4 busy, (0.1 + 0.9)/(2 x 0.6) = 0.833 s; all of 2 s: 0.667."""
    assert queueing.wait((Flow(0.1, 1.0), Flow(0.1, 3.0)), 1) == pytest.approx(0.8333, abs=1e-4)
    assert queueing.wait((Flow(0.2, 2.0),), 1) == pytest.approx(0.6667, abs=1e-4)


def test_full_link_never_ends_its_queue():
    assert queueing.wait((Flow(10, 0.1),), 1) is None
    assert queueing.wait((Flow(10, 0.1),), 2) is not None


def test_wait_is_that_of_a_simulated_queue():
    """Random arrivals at a link of two sizes of transfers, seed fixed; 200,000 of them."""
    chance, now, free, waited = random.Random(7), 0.0, 0.0, 0.0
    for _ in range(200_000):
        now += chance.expovariate(0.5)
        waited += max(0.0, free - now)
        free = max(free, now) + (0.5 if chance.random() < 0.6 else 2.0)
    expected = queueing.wait((Flow(0.3, 0.5), Flow(0.2, 2.0)), 1)
    assert waited / 200_000 == pytest.approx(expected, rel=0.03)


@given(service=st.floats(1e-6, 1e3), servers=st.integers(1, 1000))
def test_saturation_rate_times_service_is_the_number_of_servers(service, servers):
    rate = queueing.saturation(service, servers)
    assert rate * service == pytest.approx(servers, rel=1e-12)
    assert queueing.utilisation((Flow(rate, service),), servers) == pytest.approx(1, rel=1e-12)


@given(st.floats(1e-3, 10), st.integers(1, 64), st.integers(1, 64), st.integers(0, 64))
def test_more_at_once_never_end_sooner(service, servers, concurrent, more):
    one, both = (queueing.together(service, servers, count) for count in (concurrent, concurrent + more))
    assert service <= one <= both
    assert queueing.together(service, servers, servers) == service


@pytest.mark.parametrize(("hit_rate", "measured"), [(0.5, 73_761), (0.8, 158_404)])
def test_mean_of_hits_and_misses_saturates_as_measured(hit_rate, measured):
    """vLLM blog 2026-01-08, figure 2, Llama-3.1-8B on H100: 41,354 tok/s without hits, 389,117 with nothing else."""
    token = (1 - hit_rate) / 41_354 + hit_rate / 389_117
    assert queueing.saturation(token, 1) == pytest.approx(measured, rel=0.10)
