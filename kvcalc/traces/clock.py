"""When requests arrive: the unit of a file's times, and one clock for sessions that each count from their own start."""

from heapq import heapreplace
from typing import TYPE_CHECKING, Literal

from kvcalc import units
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Unit = Literal["s", "ms", "us", "ns"]
SECONDS: dict[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
PLAUSIBLE = (1e-4, 1000.0)  # requests/s of one service, seen from far
ENOUGH = 20  # requests that have a rate


@frozen
class Arrival:
    """How sessions without a common clock are laid on one."""

    way: Literal["recorded", "stagger", "concurrency"] = "recorded"
    every_s: float = 0.0  # stagger: one session begins so long after the one before
    sessions: int = 0  # concurrency: so many at once, the next begins where one ends


def arrival(text: str) -> Arrival:
    """In texts like "recorded", "stagger=60s", "concurrency=8"."""
    way, separator, value = text.partition("=")
    if text == "recorded":
        return Arrival()
    if way == "stagger" and separator:
        return Arrival("stagger", every_s=units.seconds(value))
    if way == "concurrency" and value.isascii() and value.isdecimal() and int(value) > 0:
        return Arrival("concurrency", sessions=int(value))
    raise UserError(f"--arrival: {shown(text)} is none of 'recorded', 'stagger=60s', 'concurrency=8'")


def unit(times: "NDArray[np.float64]", usual: Unit, asked: Unit | None) -> tuple[Unit, tuple[str, ...]]:
    """The unit of times, and what is odd about it: the format's usual one, unless no service has such a rate."""
    spread = float(times.max() - times.min()) if len(times) else 0.0
    if len(times) < ENOUGH or spread == 0:
        return asked or usual, ()

    def rate(each: str) -> float:
        return len(times) / (spread * SECONDS[each])

    used = asked or usual
    if PLAUSIBLE[0] <= rate(used) <= PLAUSIBLE[1]:
        return used, ()
    odd = f"read as {NAMES[used]} its times give {rate(used):,.2g} requests/s"
    others: list[Unit] = [each for each in SECONDS if PLAUSIBLE[0] <= rate(each) <= PLAUSIBLE[1]]  # type: ignore[misc]
    if not others:
        return used, (f"{odd}, and no other unit gives a likelier rate",)
    if asked:
        return used, (f"{odd}; --time-unit {others[0]} would give {rate(others[0]):,.2g}",)
    return others[0], (f"{odd}, so they were read as {NAMES[others[0]]}; --time-unit {usual} overrides",)


def overlay(times: "NDArray[np.float64]", session: "NDArray[np.int32]", way: Arrival) -> "NDArray[np.float64]":
    """Times on one clock, for sessions numbered in the order of the file, each with times from its own start."""
    import numpy as np

    if way.way == "recorded" or not len(times):
        return times
    begins = np.zeros(int(session.max()) + 1)
    if way.way == "stagger":
        begins += np.arange(len(begins)) * way.every_s
    else:
        lasts = np.zeros(len(begins))
        np.maximum.at(lasts, session, times)
        free = [0.0] * way.sessions
        for each, last in enumerate(lasts):
            begins[each] = free[0]
            heapreplace(free, free[0] + float(last))
    return times + begins[session]
