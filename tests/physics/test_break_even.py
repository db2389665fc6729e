"""The least bandwidth of a link: put back in, the restore takes exactly as long as it may."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kvcalc.physics.break_even import break_even, with_link
from kvcalc.physics.transfer import Hop, Load, Overhead, Part, Route

GB = 1_000_000_000


def load(shards: int = 8) -> Load:
    return Load(1000, (Part(8 * GB, 1, shards),), contiguous=True, ranks=8)


def over(*hops: Hop, latency: float = 0.0, pipelined: bool = True) -> Route:
    return Route(hops, latency, Overhead(), pipelined)


def test_one_link_needs_all_bytes_in_what_latency_leaves():
    """8 GB in 2 s of which 1 ms is latency: 8 / 1.999 GB/s."""
    found = break_even(over(Hop(50e9, 0.0, None, 1, True), latency=1e-3), load(), 2.0)
    assert found is not None
    assert found.link == found.together == pytest.approx(8e9 / 1.999)


def test_eight_links_need_an_eighth_each():
    found = break_even(over(Hop(50e9, 0.0, None, 8, True)), load(), 2.0)
    assert found is not None
    assert (found.link, found.links, found.together) == (pytest.approx(0.5e9), 8, pytest.approx(4e9))


def test_what_takes_too_long_without_moving_a_byte_needs_no_bandwidth():
    assert break_even(over(Hop(50e9, 0.0, None, 1, True), latency=3.0), load(), 2.0) is None
    assert break_even(over(Hop(50e9, 3.0, None, 1, True)), load(), 2.0) is None


def test_links_that_their_ceiling_holds_up_are_never_enough():
    """8 GB under 3 GB/s take 2.7 s; one link is not held to the ceiling."""
    assert break_even(over(Hop(50e9, 0.0, 3e9, 8, True)), load(), 2.0) is None
    single = break_even(over(Hop(50e9, 0.0, 3e9, 1, True)), load(), 2.0)
    assert single is not None
    assert single.link == pytest.approx(4e9)


def test_another_hop_on_the_way_may_take_too_long_itself():
    slow = Hop(1e9, 0.0, None, 1, True)
    assert break_even(over(Hop(50e9, 0.0, None, 1, True), slow), load(), 2.0) is None
    in_turn = break_even(over(Hop(50e9, 0.0, None, 1, True), Hop(8e9, 0.0, None, 1, True), pipelined=False), load(), 2)
    assert in_turn is not None
    assert in_turn.link == pytest.approx(8e9)  # 1 s of the 2 is left


@given(
    shards=st.integers(1, 8),
    links=st.integers(1, 8),
    per_copy=st.floats(0, 1e-3),
    latency=st.floats(0, 1e-2),
    ceiling=st.none() | st.floats(1e9, 1e12),
    broadcast=st.booleans(),
    seconds=st.floats(1e-2, 100),
)
def test_put_back_in_it_takes_as_long_as_it_may(shards, links, per_copy, latency, ceiling, broadcast, seconds):
    route = over(Hop(50e9, per_copy, ceiling, links, broadcast), latency=latency)
    found = break_even(route, load(shards), seconds)
    assume(found is not None)
    assert with_link(route, found.link).seconds(load(shards)) == pytest.approx(seconds, rel=1e-9)
    assert with_link(route, 0.99 * found.link).seconds(load(shards)) > seconds
