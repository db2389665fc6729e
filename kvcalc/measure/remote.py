"""A shared store: blocks put and got back, with more and more requests at once."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from uuid import uuid4

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.measure import stores
from kvcalc.measure.results import Part, Reading, TierFound
from kvcalc.measure.samples import Budget, Spread, spread, timed
from kvcalc.measure.stores import Store

BLOCK = 2 * 1024 * 1024
BLOCKS = 32  # that are put and got
WORKERS = (1, 2, 4, 8, 16)


def measure(url: str, budget: Budget, progress: Callable[[str], None]) -> Part:
    """First byte and bytes a second, by requests at once. What was put is removed. Raises UserError."""
    mark = f"kvcalc-{uuid4().hex}"
    names = [f"{mark}-{number}" for number in range(BLOCKS)]
    with stores.store(url) as store:
        try:
            first, puts, gets = _run(store, names, budget, progress)
        finally:
            for name in names:
                store.remove(name)
    readings = [Reading("first byte, one request", "s", first)]
    for what, rates in (("put", puts), ("get", gets)):
        readings += [
            Reading(f"{what}, {units.both(BLOCK)} blocks, {workers} at once", "B/s", rate)
            for workers, rate in rates.items()
        ]
    return Part("remote", tuple(readings), tier=_tier(url, first, puts, gets))


Rates = dict[int, Spread]


def _run(
    store: Store, names: list[str], budget: Budget, progress: Callable[[str], None]
) -> tuple[Spread, Rates, Rates]:
    block = os.urandom(BLOCK)
    for name in names:
        store.put(name, block)
    first = spread([timed(partial(store.first, name)) for name in names])
    puts, gets = {}, {}
    for number, workers in enumerate(WORKERS):
        progress(f"{workers} at once")
        share = budget.share(len(WORKERS) - number)
        puts[workers] = _rate(lambda name: store.put(name, block), names, workers, share.share(2))
        gets[workers] = _rate(lambda name: _whole(store.get(name)), names, workers, share)
    return first, puts, gets


def _whole(length: int) -> None:
    if length != BLOCK:
        raise UserError(f"the store gave back {length} of {BLOCK} bytes")


def _rate(work: Callable[[str], None], names: list[str], workers: int, budget: Budget) -> Spread:
    """Bytes a second of rounds over all blocks."""
    rates: list[float] = []
    with ThreadPoolExecutor(workers) as threads:
        while not rates or (budget.left_s > 0 and len(rates) < 20):
            began = perf_counter()
            list(threads.map(work, names))
            rates.append(BLOCK * len(names) / (perf_counter() - began))
    return spread(rates)


def _tier(url: str, first: Spread, puts: Rates, gets: Rates) -> TierFound:
    """Usual and highest: with the requests at once that give most; lowest: one at a time."""
    ends = []
    for rates in (gets, puts):
        best = max(rates.values(), key=lambda rate: rate.median)
        ends.append((min(rates[1].low, best.median), best.median, best.high))
    scheme = url.partition("://")[0]
    note = f"{units.both(BLOCK)} blocks, 1 to {WORKERS[-1]} requests at once from one process; low: one at a time."
    return TierFound(
        "store", "store", f"Store at a {scheme}:// address", scheme, ends[0], ends[1], first.median, None, note
    )
