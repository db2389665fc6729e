"""The link between the host's memory and a device: both directions, alone and at once, pinned and pageable."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import truediv
from typing import Any, Literal

from kvcalc import units
from kvcalc.measure import fits
from kvcalc.measure.device import Stopwatch, refusals
from kvcalc.measure.results import Law, Part, Reading, TierFound
from kvcalc.measure.samples import Budget, Spread, repeat, repeat_each

SIZES = tuple(4096 * 4**step for step in range(10))  # 4 KiB to 1 GiB
Direction = Literal["to the device", "from the device"]
DIRECTIONS: tuple[Direction, ...] = ("to the device", "from the device")


def measure(
    devices: Sequence[str],
    nodes: Mapping[str, frozenset[int]],
    budget: Budget,
    sizes: Sequence[int] = SIZES,
    near: str | None = None,
) -> Part:
    """Every device alone, the first in full; then all at once, and memory of each NUMA node (its CPUs by its name).

    `near` is the node that the first device hangs from, if it is known. Rates are of one
    direction, never a sum. Raises UserError where memory is short.
    """
    with refusals(devices[0], f"free {units.both(sizes[-1])} there and on the host, or leave link out by --only"):
        return _measure(devices, _named(nodes, near), budget, sizes)


def _measure(devices: Sequence[str], nodes: Mapping[str, frozenset[int]], budget: Budget, sizes: Sequence[int]) -> Part:
    pinned = devices[0].startswith("cuda")
    kinds = (True, False) if pinned else (False,)
    readings: list[Reading] = []
    found: dict[tuple[Direction, bool], list[tuple[int, Spread]]] = {}
    cases = [(direction, kind) for kind in kinds for direction in DIRECTIONS]
    for number, (direction, kind) in enumerate(cases):
        share = budget.share(len(cases) + 4 - number)
        found[direction, kind] = alone(devices[0], direction, kind, share, sizes)
        readings += _readings(direction, kind, found[direction, kind])
        readings += blocking(devices[0], direction, kind, sizes[-1])
    large = sizes[-2]  # several of the largest at once would take most of a small host's memory
    readings += opposed(devices[0], pinned, large, budget.share(4))
    readings += others(devices[1:], pinned, large, budget.share(3))
    readings += by_node(devices[0], nodes, large, budget.share(2))
    readings += together(devices, pinned, large, budget)
    laws = {key: fits.line([(size, spread.median) for size, spread in each]) for key, each in found.items()}
    named = tuple(Law(f"{_kind(kind)}, {direction}", law) for (direction, kind), law in laws.items())
    return Part("link", tuple(readings), named, tier=_tier(found, laws, pinned))


def _named(nodes: Mapping[str, frozenset[int]], near: str | None) -> dict[str, frozenset[int]]:
    """Nodes by their names, with how far they are from the device."""
    if near is None:
        return dict(nodes)
    return {f"{node} ({'near' if node == near else 'far'})": cpus for node, cpus in nodes.items()}


def _kind(pinned: bool) -> str:
    return "pinned" if pinned else "pageable"


def alone(
    device: str, direction: Direction, pinned: bool, budget: Budget, sizes: Sequence[int]
) -> list[tuple[int, Spread]]:
    """Seconds of copies of each size, after warming up."""
    watch, found = Stopwatch(device), []
    for number, size in enumerate(sizes):
        copy = _copy(device, direction, pinned, size)
        found.append((size, repeat(partial(watch, copy), budget.share(len(sizes) - number))))
    return found


def blocking(device: str, direction: Direction, pinned: bool, size: int) -> list[Reading]:
    """The time to return as a share of the time to completion: near 1 where the call waits for the copy."""
    watch, copy = Stopwatch(device), _copy(device, direction, pinned, size)
    watch(copy)
    shares = [returned / done for returned, done in (watch.both(copy) for _ in range(5))]
    ordered = sorted(shares)
    what = f"{_kind(pinned)}, {direction}, {units.both(size)}: share of the copy's time before the call returns"
    return [Reading(what, "", Spread(ordered[2], ordered[0], ordered[-1], 5))]


def opposed(device: str, pinned: bool, size: int, budget: Budget) -> list[Reading]:
    """Both directions at once, each direction's rate while the other is busy too."""
    copies = [_copy(device, direction, pinned, size) for direction in DIRECTIONS]
    seconds = repeat_each(partial(_at_once, [device] * len(copies), copies), budget)
    return [
        each
        for direction, own in zip(DIRECTIONS, seconds, strict=True)
        for each in _readings(direction, pinned, [(size, own)], ", both directions at once")
    ]


def others(devices: Sequence[str], pinned: bool, size: int, budget: Budget) -> list[Reading]:
    """Each further device alone."""
    readings = []
    for number, device in enumerate(devices):
        for direction in DIRECTIONS:
            share = budget.share(len(DIRECTIONS) * (len(devices) - number))
            found = alone(device, direction, pinned, share, [size])
            readings += _readings(direction, pinned, found, f", {device} alone")
    return readings


def by_node(device: str, nodes: Mapping[str, frozenset[int]], size: int, budget: Budget) -> list[Reading]:
    """From memory of each NUMA node: a thread's memory is that of the node it runs on when it first touches it."""
    if len(nodes) < 2:
        return []
    home, readings = os.sched_getaffinity(0), list[Reading]()
    pinned = device.startswith("cuda")
    try:
        for number, (node, cpus) in enumerate(nodes.items()):
            os.sched_setaffinity(0, cpus)
            if pinned:
                _forget_pinned()
            share = budget.share(len(nodes) - number)
            found = alone(device, DIRECTIONS[0], pinned, share, [size])
            readings += _readings(DIRECTIONS[0], pinned, found, f", memory of {node}")
    finally:
        os.sched_setaffinity(0, home)
    return readings


def _forget_pinned() -> None:
    """Give pinned memory back, which torch would else use again wherever it lies."""
    import torch

    torch.accelerator.empty_host_cache()


def together(devices: Sequence[str], pinned: bool, size: int, budget: Budget) -> list[Reading]:
    """All devices at once, really at the same time: the rate of each, one direction."""
    readings: list[Reading] = []
    for number, direction in enumerate(DIRECTIONS):
        copies = [_copy(device, direction, pinned, size) for device in devices]
        seconds = repeat_each(partial(_at_once, devices, copies), budget.share(len(DIRECTIONS) - number))
        for device, own in zip(devices, seconds, strict=True):
            which = f", {device}, all {len(devices)} devices at once"
            readings += _readings(direction, pinned, [(size, own)], which)
    return readings


def _copy(device: str, direction: Direction, pinned: bool, size: int) -> Callable[[], object]:
    import torch

    host = torch.randint(0, 256, (size,), dtype=torch.uint8)
    if pinned:
        host = host.pin_memory()
    there = host.to(device, copy=True)
    source, target = (host, there) if direction == DIRECTIONS[0] else (there, host)
    return partial(target.copy_, source, non_blocking=True)


def _at_once(devices: Sequence[str], copies: Sequence[Callable[[], object]]) -> list[float]:
    """Seconds of each copy by its own device's events, each on a stream of its own; on the CPU by its own thread."""
    import torch

    if not devices[0].startswith("cuda"):
        with ThreadPoolExecutor(len(copies)) as threads:
            return list(threads.map(Stopwatch("cpu"), copies))
    streams: list[Any] = [torch.cuda.Stream(device=home) for home in devices]
    ends: list[Any] = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in copies]
    for home in set(devices):
        torch.cuda.synchronize(home)
    for copy, stream, (first, last) in zip(copies, streams, ends, strict=True):
        with torch.cuda.stream(stream):
            first.record(stream)
            copy()
            last.record(stream)
    for _, last in ends:
        last.synchronize()
    return [first.elapsed_time(last) * 1e-3 for first, last in ends]  # it says milliseconds


def _readings(direction: str, pinned: bool, found: Sequence[tuple[int, Spread]], which: str = "") -> list[Reading]:
    return [
        Reading(f"{_kind(pinned)}, {direction}, {units.both(size)}{which}", "B/s", seconds.map(partial(truediv, size)))
        for size, seconds in found
    ]


def _tier(
    found: dict[tuple[Direction, bool], list[tuple[int, Spread]]],
    laws: dict[tuple[Direction, bool], fits.Line],
    pinned: bool,
) -> TierFound:
    """The host's memory over this link, by its largest copies."""
    ends = []
    for direction in DIRECTIONS:
        size, seconds = found[direction, pinned][-1]
        rate = seconds.map(partial(truediv, size))
        ends.append((rate.low, rate.median, rate.high))
    law = laws[DIRECTIONS[0], pinned]
    note = (
        f"{_kind(pinned)} memory, copies of {units.both(size)}, one device alone, one direction. Cost of a copy: "
        f"fitted, mean error {law.mean_error:.1%}, worst {law.worst_error:.1%}."
    )
    title = "CPU DRAM over this machine's link"
    return TierFound("dram", "dram", title, "host link", ends[0], ends[1], None, law.fixed_s, note)
