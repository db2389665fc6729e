"""Copies within the host's DRAM, by one thread and by all: what a tier in DRAM gives to a process on the CPU."""

import ctypes
import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import truediv
from time import perf_counter

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.measure import fits
from kvcalc.measure.results import Law, Part, Reading, TierFound
from kvcalc.measure.samples import Budget, Spread, repeat

SIZES = tuple(4096 * 4**step for step in range(9))  # 4 KiB to 256 MiB
POOL: int = 2 * SIZES[-1]  # copies walk through it, so that no cache of the CPU holds what is read


def least_s() -> float:
    """Seconds that it takes however small the budget is: to touch both pools, at 1 GB/s."""
    return POOL * 2e-9


def measure(budget: Budget) -> Part:
    """Bytes copied a second, counted once, and the law of copies by one thread."""
    workers = len(os.sched_getaffinity(0))
    with _Pool(POOL) as source, _Pool(POOL) as target, ThreadPoolExecutor(workers) as threads:
        share = []
        for at, size in enumerate(SIZES):
            share.append((size, repeat(partial(_copies, source, target, size), budget.share(len(SIZES) + 1 - at))))
        together = repeat(partial(_together, source, target, threads, workers), budget)
    readings = [
        Reading(f"DRAM copy, 1 thread, {units.both(size)}", "B/s", seconds.map(partial(truediv, size)))
        for size, seconds in share
    ]
    every = together.map(lambda t: POOL / t)
    readings.append(Reading(f"DRAM copy, {_threads(workers)} together, {units.both(POOL)}", "B/s", every))
    law = fits.line([(size, seconds.median) for size, seconds in share])
    return Part("memory", tuple(readings), (Law("DRAM copy by one thread", law),), tier=_tier(every, law, workers))


def _tier(every: Spread, law: fits.Line, workers: int) -> TierFound:
    rates = every.low, every.median, every.high
    note = (
        f"memmove by {_threads(workers)} between regions larger than the caches; bytes are counted once. Cost "
        f"of a copy: fitted to 4 KiB to 256 MiB by one thread, mean "
        f"error {law.mean_error:.1%}, worst {law.worst_error:.1%}."
    )
    return TierFound("dram", "dram", "DRAM of this machine", "DRAM copy", rates, rates, None, law.fixed_s, note)


def _threads(workers: int) -> str:
    return "1 thread" if workers == 1 else f"{workers} threads"


class _Pool:
    """Memory of its own, touched, at a known address."""

    def __init__(self, size: int) -> None:
        self.size = size
        try:
            self._map = mmap.mmap(-1, size)
        except OSError as error:
            raise UserError(f"the host has no {units.both(size)} of memory free; free some") from error
        for offset in range(0, size, mmap.PAGESIZE):
            self._map[offset] = 1
        self._view = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(self._view)

    def __enter__(self) -> "_Pool":
        return self

    def __exit__(self, *_: object) -> None:
        del self._view
        self._map.close()


def _copies(source: _Pool, target: _Pool, size: int) -> float:
    """Seconds of one copy, the mean of as many as walk through 16 MiB or the pool."""
    count = max(1, min(16 * 1024 * 1024, source.size) // size)
    move, stride = ctypes.memmove, source.size // count // mmap.PAGESIZE * mmap.PAGESIZE
    began = perf_counter()
    for number in range(count):
        move(target.address + number * stride, source.address + number * stride, size)
    return (perf_counter() - began) / count


def _together(source: _Pool, target: _Pool, threads: ThreadPoolExecutor, workers: int) -> float:
    part = source.size // workers
    began = perf_counter()
    parts = [(target.address + at * part, source.address + at * part, part) for at in range(workers)]
    list(threads.map(lambda each: ctypes.memmove(*each), parts))
    return perf_counter() - began
