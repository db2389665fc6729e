"""Transfers that only take time."""

from itertools import count

import pytest

from kvcalc.tiered.blocks import Address
from kvcalc.tiered.movers import Ended, Link, TimedMover


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def mover(clock: Clock, **link: float) -> TimedMover:
    """Blocks of 100 B."""
    return TimedMover(100, {(0, 1): Link(50, **link), (1, 0): Link(100, **link)}, clock)


def up(timed: TimedMover, slot: int = 0) -> int:
    return timed.start("key", Address(1, slot), Address(0, slot))


def down(timed: TimedMover) -> int:
    return timed.start("key", Address(0, 0), Address(1, 0))


def test_a_copy_takes_its_cost_its_bytes_and_the_latency(clock: Clock):
    """0.5 s + 100 B / 100 B/s + 0.25 s = 1.75 s."""
    timed = mover(clock, latency_s=0.25, per_copy_s=0.5)
    transfer = up(timed)
    assert timed.next_end() == 1.75
    clock.seconds = 1.7
    assert timed.poll() == []
    clock.seconds = 1.75
    assert timed.poll() == [Ended(transfer, True)]
    assert timed.poll() == []
    assert timed.next_end() is None


def test_copies_one_way_follow_one_another_and_their_latencies_overlap(clock: Clock):
    timed = mover(clock, latency_s=5.0)
    first, second = up(timed), up(timed)
    clock.seconds = 6.0
    assert timed.poll() == [Ended(first, True)]
    clock.seconds = 7.0
    assert timed.poll() == [Ended(second, True)]


def test_the_two_ways_do_not_wait_for_each_other(clock: Clock):
    timed = mover(clock)
    transfers = [down(timed), up(timed)]
    clock.seconds = 2.0
    assert sorted(timed.poll()) == [Ended(transfer, True) for transfer in transfers]


def test_an_idle_link_starts_from_now(clock: Clock):
    timed = mover(clock)
    clock.seconds = 10.0
    up(timed)
    assert timed.next_end() == 11.0


def test_every_transfer_has_a_number_of_its_own(clock: Clock):
    timed = mover(clock)
    assert len({transfer for transfer, _ in zip((up(timed, slot) for slot in count()), range(9), strict=False)}) == 9


def test_a_buffered_copy_has_ended_at_once_and_one_that_finds_the_buffer_full_never_arrives(clock: Clock):
    """A copy takes 2 s and the buffer holds 4 s of them: two go in, the third does not, nor before one is written."""
    timed = TimedMover(100, {(0, 1): Link(50, buffer_s=4.0)}, clock)
    first, second, third = down(timed), down(timed), down(timed)
    assert timed.poll() == [Ended(first, True), Ended(second, True), Ended(third, False)]
    assert timed.copies == {(0, 1): 2}
    clock.seconds = 1.9
    fourth = down(timed)
    clock.seconds = 2.0
    fifth = down(timed)
    assert timed.poll() == [Ended(fourth, False), Ended(fifth, True)]
