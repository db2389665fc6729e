"""When requests arrive: the unit of a file's times, and one clock for sessions that each count from their own start."""

from collections.abc import Iterator
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
RARE = 1 / 120  # requests/s below which another unit is as likely; RAGPulse, the sparsest known trace, has 0.012
IDLE_S = 3e5  # between two turns of a session; the longest session of the WEKA corpus spans 297,115 s
ENOUGH = 20  # requests that have a rate
JUMP = 100.0  # times all other gaps together: a time that stands apart


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
    """The unit of times, and what is odd about it: the format's usual one, unless no service has such a rate.

    The rate is that of the median gap, which a few times that stand apart don't change.
    """
    import numpy as np

    used = asked or usual
    gaps = np.diff(np.unique(times))
    if len(times) < ENOUGH or not len(gaps):
        return used, ()
    together = len(times) / (len(gaps) + 1)  # requests at the same time

    def rate(each: str) -> float:
        return together / (float(np.median(gaps)) * SECONDS[each])

    others: list[Unit] = [each for each in SECONDS if RARE <= rate(each) <= PLAUSIBLE[1]]  # type: ignore[misc]
    odd = f"read as {NAMES[used]} its times give {rate(used):,.2g} requests/s"
    if RARE <= rate(used) <= PLAUSIBLE[1]:
        return used, tuple(_apart(gaps * SECONDS[used]))
    if not others:
        return used, (f"{odd}, and no other unit gives a likelier rate",)
    if asked or PLAUSIBLE[0] <= rate(used) < RARE:
        return used, (f"{odd}; --time-unit {others[0]} would give {rate(others[0]):,.2g}",)
    return others[0], (f"{odd}, so they were read as {NAMES[others[0]]}; --time-unit {usual} overrides",)


def _apart(gaps: "NDArray[np.float64]") -> Iterator[str]:
    """A time that stands apart from all others makes the trace longer than it is."""
    largest = float(gaps.max())
    if largest > JUMP * (float(gaps.sum()) - largest) > 0:
        yield f"nothing arrives for {largest:,.3g} s, {JUMP:g} times as long as all else: a time may be wrong"


def idle(times: "NDArray[np.float64]", session: "NDArray[np.int32]", used: Unit) -> tuple[str, ...]:
    """What is odd about times by each session's own clock, in the unit used: turns that are days apart."""
    import numpy as np

    order = np.lexsort((times, session))
    gaps = np.diff(times[order])[np.diff(session[order]) == 0] * SECONDS[used]
    if not len(gaps) or np.median(gaps) <= IDLE_S:
        return ()
    return (
        f"read as {NAMES[used]} half of the turns come {float(np.median(gaps)):,.3g} s or more after the one before; "
        "--time-unit ms would make a thousandth of that",
    )


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
