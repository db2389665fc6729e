"""A store that replicas share."""

import pytest

from kvcalc.simulate.arrivals import Arrival
from kvcalc.simulate.replay import Fleet, Shared, replay
from kvcalc.simulate.service import Rules, Service
from kvcalc.simulate.store import Line, Store
from kvcalc.tiered.movers import Link


def test_a_line_carries_one_block_after_another():
    """2 B at 4 B/s and 0.5 s of latency, twice."""
    line = Line(Link(4.0, 0.5), 2.0)
    assert line.carry(3, 10.0) == 12.0
    assert line.carry(1, 10.0) == 12.5
    assert line.carry(1, 20.0) == 21.0
    assert line.copies == 5
    assert line.seconds(2) == 1.5


def test_what_is_put_is_there_when_it_has_arrived():
    store, line = Store(10), Line(Link(1.0), 1.0)
    store.put([1, 2], line, 0.0)
    assert [store.cached([1, 2, 3], at) for at in (1.9, 2.0)] == [0, 2]
    store.put([1, 2, 3], line, 2.0)  # one block more
    assert store.cached([1, 2, 3], 3.0) == 3
    assert line.copies == 3


def test_a_full_store_forgets_the_least_recently_used_leaf_first_but_not_what_is_held():
    store, line = Store(3), Line(Link(float("inf")), 1.0)
    store.put([1, 2], line, 0.0)
    store.put([8], line, 1.0)
    store.put([9], line, 2.0)
    assert [store.cached(keys, 3.0) for keys in ([1, 2], [8], [9])] == [1, 1, 1]
    held = store.hold([1])
    store.put([4, 5], line, 4.0)
    assert [store.cached(keys, 5.0) for keys in ([1], [8], [9], [4, 5])] == [1, 0, 0, 2]
    assert held is not None
    store.let_go(held)


@pytest.fixture
def shared():
    """A block takes 1 s to compute, and 0.25 s each way to the store."""
    requests = [Arrival(number, 100.0 * number, 400, [1, 2, 3, 4], 100) for number in range(3)]
    service = Service(lambda new, _: new / 100, 1.0, 50)
    return requests, Fleet(service, Rules(), 2, Shared(100, Link(4.0), Link(4.0)))


def test_a_replica_finds_what_another_has_computed(shared):
    requests, fleet = shared
    outcome = replay(requests, fleet)
    assert outcome.ttft_s == pytest.approx([4.0, 1.01, 0.01])  # computed; fetched by the other; in HBM
    assert outcome.hits == (4, 4)
    assert [(link.source, link.target, link.blocks) for link in outcome.links] == [
        ("store", "HBM", 4),
        ("HBM", "store", 4),
    ]


def test_without_a_store_each_replica_computes_it(shared):
    requests, fleet = shared
    outcome = replay(requests, Fleet(fleet.service, fleet.rules, 2))
    assert outcome.ttft_s == pytest.approx([4.0, 4.0, 0.01])


def test_a_store_slower_than_recomputing_is_left_out_where_only_wins_are_fetched(shared):
    requests, fleet = shared
    slow = Fleet(fleet.service, Rules(least_margin=1.0), 2, Shared(100, Link(0.5), Link(4.0)))
    outcome = replay(requests, slow)
    assert outcome.hits == (4, 0)
    assert outcome.ttft_s == pytest.approx([4.0, 4.0, 0.01])
