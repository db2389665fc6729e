"""A disk: reads and writes of KV-sized blocks past the page cache, one request under way and many."""

import math
import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.measure import direct, fio
from kvcalc.measure.direct import Load, Rate
from kvcalc.measure.results import Part, Reading, TierFound
from kvcalc.measure.samples import Budget, Spread

CHUNK = 16 * 1024 * 1024  # files are whole multiples of it
LEAST = 4 * CHUNK
SMALL = 4096  # a request that costs latency alone
BLOCKS = (128 * 1024, 2 * 1024 * 1024)  # of one layer, and of all layers of a page together
DEPTHS = (1, 4, 16)
MEMORY_FILESYSTEMS = ("tmpfs", "ramfs", "devtmpfs")

Progress = Callable[[str], None]
Runner = Callable[[Load, Budget], Rate]


READS = (
    Load("randread", SMALL, 1),
    Load("randread", BLOCKS[0], 1),
    Load("randread", BLOCKS[1], DEPTHS[-1]),
    Load("read", BLOCKS[1], DEPTHS[-1]),
)  # what a profile needs
WRITES = (
    Load("randwrite", BLOCKS[1], 1),
    Load("randwrite", BLOCKS[1], DEPTHS[-1]),
    Load("write", BLOCKS[1], DEPTHS[-1]),
)
LEAST_S = 0.05  # of a load by kvcalc's own reader


def loads(most: float = math.inf) -> list[Load]:
    """The loads that are run, the most telling first: all, or where `most` is less the needed, or reads alone."""
    needed = [*READS, *WRITES]
    every = [Load("randread", block, depth) for depth in reversed(DEPTHS) for block in reversed(BLOCKS)]
    every += [Load("read", BLOCKS[1], 1), Load("write", BLOCKS[1], 1)]
    rest = [load for load in every if load not in needed]
    if most >= len(needed) + len(rest):
        return needed + rest
    return needed if most >= len(needed) else list(READS)


def least_s() -> float:
    """Seconds that the fewest loads take, the file apart."""
    return len(READS) * _load_s()


def _load_s() -> float:
    return fio.START_S + fio.LEAST_S if fio.installed() else LEAST_S


def check(folder: Path, size: int) -> None:
    """Refuse a folder that can't take a file of `size` bytes, or that is no disk. Raises UserError."""
    where = f"--path {str(folder)!r}"
    if not folder.is_dir():
        raise UserError(f"{where} is no folder; name one on the disk to measure")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{where} can't be written; name another folder on that disk")
    kind = filesystem(folder)
    if kind in MEMORY_FILESYSTEMS:
        raise UserError(f"{where} is in memory ({kind}), no disk; name a folder on a disk")
    free = shutil.disk_usage(folder).free
    if size < LEAST:
        raise UserError(f"--size must be at least {units.both(LEAST)}")
    if free < 2 * size:
        need, room = units.short(2 * size, "B"), units.short(free, "B")
        raise UserError(f"{where} has {room} free and twice the file, {need}, is asked for; give a smaller --size")


def filesystem(folder: Path) -> str:
    """The kind of filesystem that a folder is in, as Linux calls it; "unknown" elsewhere."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    mounts = {fields[1].replace("\\040", " "): fields[2] for fields in map(str.split, lines)}
    here = folder.resolve()
    return next((mounts[str(each)] for each in (here, *here.parents) if str(each) in mounts), "unknown")


def measure(folder: Path, size: int, budget: Budget, progress: Progress) -> Part:
    """Rates and times of requests, with fio where it is installed. Raises UserError as `check` does.

    Where the budget is small the file is, and loads are fewer.
    """
    size = size // CHUNK * CHUNK
    check(folder, size)
    progress(f"filling {units.short(size, 'B')}")
    by, run = ("fio", fio.run) if fio.installed() else ("kvcalc's own reader", direct.run)
    with direct.scratch(folder, size, budget.share(4), LEAST) as handle:
        size = os.fstat(handle).st_size
        found = _all(partial(run, handle, size), budget, progress)
        cached = direct.cached_share(handle, size)
    return _part(folder, found, by, cached)


def _all(run: Runner, budget: Budget, progress: Progress) -> dict[Load, Rate]:
    found, chosen = {}, loads(budget.left_s / _load_s())
    for number, load in enumerate(chosen):
        progress(f"{load.text}, {units.both(load.block)}")
        found[load] = run(load, budget.share(len(chosen) - number))
    return found


def _part(folder: Path, found: dict[Load, Rate], by: str, cached: float) -> Part:
    readings = []
    for load, rate in found.items():
        what = f"{load.text}, {units.both(load.block)}"
        if load.block > SMALL:
            same = Spread(rate.bytes_per_s, rate.bytes_per_s, rate.bytes_per_s, rate.requests)
            readings.append(Reading(what, "B/s", same))
        readings.append(Reading(f"{what}, p50 to p99", "s", Spread(rate.p50_s, rate.p50_s, rate.p99_s, rate.requests)))
    if cached > 0.01:
        return Part(
            "storage",
            tuple(readings),
            warnings=(
                f"the page cache holds {cached:.0%} of the file: these are no figures of the disk, none is kept",
            ),
        )
    return Part("storage", tuple(readings), tier=_tier(folder, found, by))


def _tier(folder: Path, found: dict[Load, Rate], by: str) -> TierFound:
    """Usual: blocks of all layers at random places, many under way. Lowest: of one layer, one under way."""
    large, deep = BLOCKS[-1], DEPTHS[-1]

    def rates(loads: Sequence[Load]) -> tuple[float, float, float]:
        low, usual, high = (found[load].bytes_per_s for load in loads)
        return _ordered((low, usual, high))

    note = (
        f"{by}, direct I/O on {filesystem(folder)}, {units.both(large)} blocks at random, {deep} under way; "
        f"low: one request of {units.both(BLOCKS[0])} at a time; high: sequential. Latency: 4 KiB, one at a time. "
        "Writes end with an fsync."
    )
    return TierFound(
        name="nvme",
        medium="nvme",
        title=f"Disk of this machine ({filesystem(folder)})",
        path="direct I/O",
        read=rates(READS[1:]),
        write=rates(WRITES) if WRITES[-1] in found else None,
        latency_s=found[READS[0]].p50_s,
        per_copy_s=None,
        note=note,
    )


def _ordered(rates: tuple[float, float, float]) -> tuple[float, float, float]:
    """The usual rate within the others, though a busy disk may have swapped them."""
    low, usual, high = rates
    return min(low, usual), usual, max(usual, high)
