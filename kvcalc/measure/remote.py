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
from kvcalc.measure.addresses import masked
from kvcalc.measure.results import Part, Reading, TierFound
from kvcalc.measure.samples import Budget, Spread, spread, timed
from kvcalc.measure.stores import Store

BLOCK = 2 * 1024 * 1024
BLOCKS = 32  # that are put and got
WORKERS = (1, 2, 4, 8, 16)
SHORTEST_S, LONGEST_S = 2.0, 10.0  # that a request may take, between them what is left of the budget


def measure(url: str, budget: Budget, progress: Callable[[str], None]) -> Part:
    """First byte and bytes a second, by requests at once. What was put is removed. Raises UserError."""
    mark = f"kvcalc-{uuid4().hex}"
    names = [f"{mark}-{number}" for number in range(BLOCKS)]
    with stores.store(url, min(LONGEST_S, max(SHORTEST_S, budget.left_s))) as store:
        try:
            first, puts, gets = _run(store, names, budget, progress)
        finally:
            left = _remove(store, names)
    readings = [Reading("first byte, one request", "s", first)]
    for what, rates in (("put", puts), ("get", gets)):
        readings += [
            Reading(f"{what}, {units.both(BLOCK)} blocks, {workers} at once", "B/s", rate)
            for workers, rate in rates.items()
        ]
    warnings = (f"{left} blocks named {mark}-… could not be removed from {masked(url)}; remove them",) if left else ()
    return Part("remote", tuple(readings), tier=_tier(url, first, puts, gets), warnings=warnings)


def _remove(store: Store, names: list[str]) -> int:
    """How many blocks could not be removed. All are asked for at once: a store that hangs costs one timeout."""

    def stays(name: str) -> bool:
        try:
            store.remove(name)
        except UserError:
            return True
        return False

    with ThreadPoolExecutor(len(names)) as threads:
        return sum(threads.map(stays, names))


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
    if scheme == "file":
        note += " Files are read and written through the page cache: these are no figures of the disk."
    return TierFound(
        "store", "store", f"Store at a {scheme}:// address", scheme, ends[0], ends[1], first.median, None, note
    )
