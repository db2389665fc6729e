"""Medians, spreads and budgets, on a clock that the test turns."""

import pytest

from kvcalc.measure.samples import Budget, quantile, repeat, spread, timed


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_quantile_lies_between_its_neighbours():
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert quantile([1.0], 0.95) == 1.0


def test_a_spread_holds_nine_of_ten():
    found = spread([float(n) for n in range(101)])
    assert (found.low, found.median, found.high, found.count) == (5, 50, 95, 101)


def test_seconds_become_rates_with_their_ends_swapped():
    found = spread([1.0, 2.0, 4.0]).map(lambda seconds: 8 / seconds)
    assert found.median == 4
    assert found.low < found.median < found.high


def test_a_budget_runs_out_and_is_shared_out():
    clock = Clock()
    budget = Budget(10, clock)
    clock.seconds = 4.0
    assert (budget.left_s, budget.share(3).left_s) == (6, 2)
    clock.seconds = 11.0
    assert (budget.left_s, budget.over_s) == (0, 1)


@pytest.mark.parametrize(("seconds", "runs"), [(0.0, 4), (5.5, 6), (1000.0, 51)])
def test_a_run_is_repeated_while_there_is_time(seconds: float, runs: int):
    """One run warms up; three count however late it is, and fifty are enough."""
    clock, done = Clock(), []

    def run() -> float:
        clock.seconds += 1.0
        done.append(1)
        return 1.0

    assert repeat(run, Budget(seconds, clock)).count == len(done) - 1
    assert len(done) == runs


def test_work_is_timed():
    clock = Clock()

    def work() -> None:
        clock.seconds = 3.0

    assert timed(work, clock) == 3.0
