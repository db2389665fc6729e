"""Repeated times and what they say: a median and its spread, within a budget of seconds."""

from collections.abc import Callable, Sequence
from time import perf_counter

from kvcalc.frozen import frozen

Clock = Callable[[], float]


class Budget:
    """Seconds that may be spent, from now on."""

    def __init__(self, seconds: float, clock: Clock = perf_counter) -> None:
        self.clock = clock
        self._end = clock() + seconds

    @property
    def left_s(self) -> float:
        """Seconds left; not below zero."""
        return max(0.0, self._end - self.clock())

    @property
    def over_s(self) -> float:
        """Seconds spent beyond it."""
        return max(0.0, self.clock() - self._end)

    def share(self, parts: float) -> "Budget":
        """A budget of one of so many equal parts of what is left."""
        return Budget(self.left_s / parts, self.clock)


@frozen
class Spread:
    """The middle of some values, and between which values nine of ten lie."""

    median: float
    low: float
    high: float
    count: int

    def map(self, change: Callable[[float], float]) -> "Spread":
        """The same of changed values, as seconds become bytes a second."""
        low, high = sorted((change(self.low), change(self.high)))
        return Spread(change(self.median), low, high, self.count)


def spread(values: Sequence[float]) -> Spread:
    """Of one value or more."""
    return Spread(quantile(values, 0.5), quantile(values, 0.05), quantile(values, 0.95), len(values))


def quantile(values: Sequence[float], fraction: float) -> float:
    """The value below which this fraction lies, between neighbours in proportion."""
    ordered = sorted(values)
    place = fraction * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def repeat(run: Callable[[], float], budget: Budget, least: int = 3, most: int = 50) -> Spread:
    """The seconds that `run` says it took, after one run to warm up; at least `least` times, however long they take."""
    return repeat_each(lambda: [run()], budget, least, most)[0]


def repeat_each(run: Callable[[], Sequence[float]], budget: Budget, least: int = 3, most: int = 50) -> list[Spread]:
    """The same of works that are done together and timed apart."""
    run()
    times: list[Sequence[float]] = []
    while len(times) < least or (len(times) < most and budget.left_s > 0):
        times.append(run())
    return [spread(each) for each in zip(*times, strict=True)]


def timed(work: Callable[[], object], clock: Clock = perf_counter) -> float:
    """Seconds that some work takes."""
    began = clock()
    work()
    return clock() - began
