"""Discrete-event replay: requests against replicas, with time."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter

from kvcalc.frozen import frozen
from kvcalc.simulate.arrivals import Arrival
from kvcalc.simulate.outcome import Outcome, collect
from kvcalc.simulate.replica import Clock, Replica
from kvcalc.simulate.routing import RoundRobin, Router, Routing
from kvcalc.simulate.service import Rules, Service
from kvcalc.simulate.store import Line, Store
from kvcalc.tiered.movers import Link

RARE = 1_000_000  # objects more before the next collection
OFTEN = 100  # requests between two reports of progress


@frozen
class Shared:
    """A store behind the replicas, and the link that each of them has to it."""

    blocks: int
    read: Link
    write: Link


@frozen
class Fleet:
    """Equal replicas, how they keep blocks, and what they share."""

    service: Service
    rules: Rules = Rules()
    replicas: int = 1
    shared: Shared | None = None


def replay(
    arrivals: Iterable[Arrival],
    fleet: Fleet,
    router: Router | None = None,
    progress: Callable[[int], None] | None = None,
) -> Outcome:
    """Serve all requests, and say how that went. `arrivals` are by time; `progress` is told how many have come."""
    clock, router = Clock(), router or RoundRobin(fleet.replicas, Routing())
    replicas, lines = _replicas(fleet, clock)
    with _rare_collection():
        for arrival in arrivals:
            _advance(replicas, clock, arrival.at_s)
            clock.now_s = arrival.at_s
            chosen = 0 if len(replicas) == 1 else router.choose(arrival, replicas)
            replicas[chosen].admit(arrival)
            if progress and arrival.number % OFTEN == 0:
                progress(arrival.number)
        _advance(replicas, clock, float("inf"))
    return collect(fleet.service, replicas, lines)


def _replicas(fleet: Fleet, clock: Clock) -> tuple[list[Replica], list[tuple[Line, ...]]]:
    size, shared = fleet.service.block_bytes, fleet.shared
    store = Store(shared.blocks) if shared else None
    lines = [(Line(shared.read, size), Line(shared.write, size)) if shared else () for _ in range(fleet.replicas)]
    return [Replica(fleet.service, fleet.rules, clock, store, each) for each in lines], list(lines)


def _advance(replicas: Sequence[Replica], clock: Clock, until_s: float) -> None:
    """Whatever happens up to a time, in its order; what ends then ends before what begins then."""
    while True:
        first = min(replicas, key=attrgetter("next_s"))
        if first.next_s > until_s or first.next_s == float("inf"):
            return
        clock.now_s = first.next_s
        first.step()


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Millions of blocks live on; looking through them for cycles again and again would take half of the time."""
    before = gc.get_threshold()
    gc.set_threshold(RARE)
    try:
        yield
    finally:
        gc.set_threshold(*before)
