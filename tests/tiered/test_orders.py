"""Which block goes next, against a plain list."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.tiered.orders import ORDERS, FirstInFirstOut, LeastRecentlyUsed, Order

EVERY = pytest.mark.parametrize("make", ORDERS.values(), ids=ORDERS)


@EVERY
def test_an_empty_order_has_no_victim(make: Callable[[], Order]):
    assert make().choose() is None


@EVERY
def test_a_held_block_is_passed_over_until_it_is_let_go(make: Callable[[], Order]):
    order = make()
    for key in "ab":
        order.add(key)
    order.hold("a")
    assert (len(order), order.choose(), order.choose()) == (1, "b", None)
    order.add("a")
    assert order.choose() == "a"


@EVERY
def test_a_block_put_back_is_the_next_victim(make: Callable[[], Order]):
    order = make()
    for key in "abc":
        order.add(key)
    first = order.choose()
    assert first is not None
    order.put_back(first)
    assert (len(order), order.choose()) == (3, first)


@EVERY
def test_a_block_that_left_is_no_victim(make: Callable[[], Order]):
    order = make()
    for key in "ab":
        order.add(key)
    order.forget("a")
    order.forget("a")
    assert (order.choose(), order.choose(), len(order)) == ("b", None, 0)


def test_use_makes_a_block_last_for_lru_alone():
    lru, fifo = LeastRecentlyUsed(), FirstInFirstOut()
    for order in (lru, fifo):
        for key in "abca":
            order.hold(key)
            order.add(key)
    assert [lru.choose() for _ in "abc"] == ["b", "c", "a"]
    assert [fifo.choose() for _ in "abc"] == ["a", "b", "c"]


def test_a_block_that_comes_again_is_new_for_fifo():
    fifo = FirstInFirstOut()
    for key in "ab":
        fifo.add(key)
    fifo.forget("a")
    fifo.add("a")
    assert [fifo.choose() for _ in "ab"] == ["b", "a"]


@given(st.lists(st.tuples(st.sampled_from(("add", "hold", "forget", "choose")), st.sampled_from("abcd")), max_size=60))
def test_fifo_goes_by_arrival_whatever_was_held(steps: list[tuple[str, str]]):
    fifo, arrived, evictable = FirstInFirstOut(), list[str](), set[str]()
    for step, key in steps:
        if step == "choose":
            expected = next((each for each in arrived if each in evictable), None)
            assert fifo.choose() == expected
            key = expected or ""
        else:
            getattr(fifo, step)(key)
        if step == "add":
            evictable.add(key)
            arrived += [] if key in arrived else [key]
        else:
            evictable.discard(key)
        if step in ("forget", "choose") and key in arrived:
            arrived.remove(key)
        assert len(fifo) == len(evictable)
