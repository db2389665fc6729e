"""Reads and writes of a file past the page cache, by threads, each with one request under way."""

import ctypes
import math
import mmap
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL, EISDIR, EOPNOTSUPP
from pathlib import Path
from tempfile import mkstemp
from threading import Event, Thread
from typing import Literal

from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.measure.samples import Budget, quantile

Way = Literal["read", "write", "randread", "randwrite"]
PAGE = mmap.PAGESIZE


@frozen
class Load:
    """A load on a file: which way, bytes a request, requests under way."""

    way: Way
    block: int
    depth: int

    @property
    def text(self) -> str:
        """What a table calls it, apart from the size."""
        order = "random" if self.way.startswith("rand") else "sequential"
        return f"{order} {self.way.removeprefix('rand')}, depth {self.depth}"


@frozen
class Rate:
    """What a load achieved."""

    bytes_per_s: float
    p50_s: float  # of one request
    p99_s: float
    requests: int


@contextmanager
def scratch(folder: Path, size: int, budget: Budget | None = None, least: int = 0) -> Iterator[int]:
    """A file of random bytes, as a descriptor past the page cache; it has no name, so nothing is left behind.

    It is smaller than `size`, but not than `least`, where filling it spends the budget.
    Raises UserError where the folder can't be written or the filesystem has no direct I/O.
    """
    try:
        handle = _nameless(folder)
    except OSError as error:
        reason = "it has no direct I/O" if error.errno == EINVAL else (error.strerror or "").lower()
        raise UserError(f"--path {str(folder)!r} can't be measured: {reason}; name a folder on the disk") from error
    try:
        _fill(handle, size, budget or Budget(math.inf), least)
        yield handle
    finally:
        os.close(handle)


def _nameless(folder: Path) -> int:
    flags = os.O_RDWR | os.O_DIRECT
    try:
        return os.open(folder, flags | os.O_TMPFILE, 0o600)
    except OSError as error:
        if error.errno not in (EOPNOTSUPP, EISDIR):  # a filesystem, or a kernel, that only has files with names
            raise
    named, path = mkstemp(prefix=".kvcalc-", dir=folder)
    try:
        return os.open(path, flags)
    finally:
        os.close(named)
        os.unlink(path)


def _fill(handle: int, size: int, budget: Budget, least: int) -> None:
    chunk = min(size, 16 * 1024 * 1024)
    with mmap.mmap(-1, chunk) as buffer:
        try:
            for offset in range(0, size, chunk):
                if offset >= least and budget.left_s <= 0:
                    break
                buffer[:] = os.urandom(chunk)  # new each time, or a disk that finds equal blocks keeps one of them
                _whole(os.pwritev(handle, [buffer], offset), chunk)
            os.fsync(handle)
        except OSError as error:
            raise UserError(f"the disk failed while it was filled: {error.strerror or error}") from error


def _whole(moved: int, wanted: int) -> None:
    if moved != wanted:
        raise OSError(f"only {moved} of {wanted} bytes of a request were moved")


def run(handle: int, size: int, load: Load, budget: Budget) -> Rate:
    """Requests until the budget is spent, at least one a thread; writes end with an fsync that counts."""
    times: list[list[float]] = [[] for _ in range(load.depth)]
    failures: list[OSError] = []
    stop = Event()
    path = f"/proc/self/fd/{handle}"
    shared = _Shared(path, size, load, budget, stop, failures)
    threads = [Thread(target=_work, args=(shared, number, times[number])) for number in range(load.depth)]
    began = budget.clock()
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if load.way.endswith("write"):
        os.fsync(handle)
    if failures:
        raise UserError(f"the disk failed: {(failures[0].strerror or str(failures[0])).lower()}")
    every = [each for found in times for each in found]
    elapsed = budget.clock() - began
    return Rate(len(every) * load.block / elapsed, quantile(every, 0.5), quantile(every, 0.99), len(every))


@frozen
class _Shared:
    path: str
    size: int
    load: Load
    budget: Budget
    stop: Event
    failures: list[OSError]


def _work(shared: _Shared, number: int, times: list[float]) -> None:
    load, budget = shared.load, shared.budget
    move = os.preadv if load.way.endswith("read") else os.pwritev
    try:
        handle = os.open(shared.path, os.O_RDWR | os.O_DIRECT)
        try:
            with mmap.mmap(-1, load.block) as buffer:
                buffer[:] = os.urandom(load.block)
                for offset in _offsets(number, shared.size, load):
                    began = budget.clock()
                    _whole(move(handle, [buffer], offset), load.block)
                    times.append(budget.clock() - began)
                    if shared.stop.is_set() or budget.left_s <= 0:
                        return
        finally:
            os.close(handle)
    except OSError as error:
        shared.failures.append(error)


def _offsets(number: int, size: int, load: Load) -> Iterator[int]:
    """Random places, or this thread's own stretch of the file from its beginning, again and again."""
    blocks = size // load.block
    if load.way.startswith("rand"):
        chosen = random.Random(number)
        while True:
            yield chosen.randrange(blocks) * load.block
    own = max(1, blocks // load.depth)
    while True:
        for block in range(own):
            yield (number * own + block) % blocks * load.block


def cached_share(handle: int, size: int) -> float:
    """The share of a file's pages that the page cache holds: 0 where direct I/O goes past it."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    place = library.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
    pages = -(-size // PAGE)
    held = ctypes.create_string_buffer(pages)
    failed = library.mincore(place, size, held)
    library.munmap(place, size)
    return 0.0 if failed else sum(byte & 1 for byte in held.raw) / pages
