"""Which replica gets a request."""

from collections import Counter

import pytest

from kvcalc.simulate.arrivals import Arrival
from kvcalc.simulate.replay import Fleet, replay
from kvcalc.simulate.replica import Clock, Replica
from kvcalc.simulate.routing import ConsistentHash, LeastLoaded, LongestPrefix, RoundRobin, Routing
from kvcalc.simulate.service import Rules, Service


def arrival(keys: list[int], number: int = 0, at_s: float = 0.0) -> Arrival:
    return Arrival(number, at_s, 100 * len(keys), keys, 100)


@pytest.fixture
def three() -> list[Replica]:
    """Replicas that take a second a token."""
    clock = Clock()
    return [Replica(Service(lambda new, _: float(new), 1.0, 50), Rules(), clock, None, ()) for _ in range(3)]


def served(replica: Replica, keys: list[int]) -> None:
    lease = replica.manager.acquire(keys)
    assert lease is not None
    replica.manager.publish(lease)
    replica.manager.release(lease)


def test_round_robin_takes_turns(three):
    router = RoundRobin(3, Routing())
    assert [router.choose(arrival([1]), three) for _ in range(5)] == [0, 1, 2, 0, 1]


def test_the_least_loaded_has_the_fewest_outstanding_tokens(three):
    three[0].admit(arrival([1]))
    three[1].admit(arrival([2, 3]))
    three[2].admit(arrival([4, 5, 6]))
    assert LeastLoaded(3, Routing()).choose(arrival([7]), three) == 0


def test_equally_loaded_replicas_take_turns(three):
    """Or else one would get all that comes to idle replicas, and its cache all hits."""
    for router in (LeastLoaded(3, Routing()), LongestPrefix(3, Routing())):
        assert sorted(router.choose(arrival([prompt]), three) for prompt in range(3)) == [0, 1, 2]


def test_the_longest_prefix_wins_and_then_the_least_load(three):
    served(three[1], [1, 2])
    served(three[2], [1, 2, 3])
    router = LongestPrefix(3, Routing(load_cap=100))
    assert router.choose(arrival([1, 2, 3, 4]), three) == 2
    three[0].admit(arrival([9]))
    assert router.choose(arrival([7]), three) == 1


def test_a_replica_above_the_cap_gets_no_more_though_it_has_the_prefix(three):
    """With 4 blocks more it would have 500 outstanding tokens; the mean would be 200 and 2 times that 400."""
    served(three[2], [1, 2, 3])
    three[2].admit(arrival([8]))
    three[0].admit(arrival([9]))
    assert LongestPrefix(3, Routing(load_cap=2)).choose(arrival([1, 2, 3, 4]), three) != 2
    assert LongestPrefix(3, Routing(load_cap=3)).choose(arrival([1, 2, 3, 4]), three) == 2


def test_a_ring_sends_a_prefix_to_one_replica_and_others_evenly(three):
    router = ConsistentHash(3, Routing(load_cap=100, hash_blocks=2))
    assert len({router.choose(arrival([1, 2, other]), three) for other in range(3, 30)}) == 1
    spread = Counter(router.choose(arrival([first, first + 10_000]), three) for first in range(3000))
    assert min(spread.values()) > 600  # 64 places a replica: a third, give or take a third of it


def test_one_more_replica_moves_only_what_it_gets(three):
    """A ring of four: whatever is not on the new one stays where it was."""
    small, large = ConsistentHash(2, Routing(load_cap=100)), ConsistentHash(3, Routing(load_cap=100))
    for first in range(300):
        after = large.choose(arrival([first]), three)
        assert after in (2, small.choose(arrival([first]), three[:2]))


def test_another_seed_is_another_ring(three):
    rings = [ConsistentHash(3, Routing(load_cap=100, seed=seed)) for seed in (0, 1)]
    places = [[ring.choose(arrival([first]), three) for first in range(50)] for ring in rings]
    assert places[0] != places[1]


def test_prefix_routing_hits_what_round_robin_misses():
    """Three prompts in turn on two replicas whose HBM holds two of them: in turn each comes to both, and none stays."""
    paths = [[10 * prompt + block for block in range(4)] for prompt in range(3)] * 6
    requests = [arrival(keys, number, 10_000.0 * number) for number, keys in enumerate(paths)]
    fleet = Fleet(Service(lambda new, _: float(new), 1.0, 8), Rules(), 2)
    by_turn = replay(requests, fleet)
    by_prefix = replay(requests, fleet, LongestPrefix(2, Routing()))
    assert by_turn.hits[0] == 0
    assert by_prefix.hits[0] == 4 * 15  # all but the first sight of each
