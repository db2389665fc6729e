"""The slots of a tier."""

import pytest

from kvcalc.tiered.orders import LeastRecentlyUsed
from kvcalc.tiered.pools import Pool


def test_slots_are_given_once_until_they_are_free_again():
    pool = Pool(2, LeastRecentlyUsed(), staging=1)
    assert [pool.take() for _ in range(4)] == [0, 1, 2, None]
    pool.give(1)
    assert (pool.free, pool.take()) == (1, 1)


def test_a_slot_given_back_twice_is_a_bug():
    pool = Pool(1, LeastRecentlyUsed())
    pool.take()
    pool.give(0)
    with pytest.raises(AssertionError, match="given back twice"):
        pool.give(0)


def test_what_is_leaving_is_not_settled():
    pool = Pool(2, LeastRecentlyUsed())
    pool.take()
    pool.take()
    pool.leaving = 1
    assert pool.settled == 1


def test_memory_follows_the_slots_in_use_and_not_the_size_of_the_tier():
    pool = Pool(10**15, LeastRecentlyUsed(), staging=5)
    assert [pool.take(), pool.take()] == [0, 1]
    assert (pool.free, pool.settled) == (10**15 + 3, 2)
    pool.give(0)
    assert pool.take() == 0
