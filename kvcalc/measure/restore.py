"""Restores by the tiered block manager: against the raw link, from pinned pools or not, ahead of need or at it."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from operator import truediv
from time import perf_counter
from typing import Any

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.measure.blocks import block_bytes
from kvcalc.measure.device import Stopwatch, refusals
from kvcalc.measure.mover import TensorMover
from kvcalc.measure.prefill import shard
from kvcalc.measure.results import Part, Reading
from kvcalc.measure.samples import Budget, Spread, repeat, spread
from kvcalc.profiles.model import Model
from kvcalc.tiered.blocks import Lease
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.orders import LeastRecentlyUsed
from kvcalc.tiered.pools import Pool

PAGE = 16  # tokens of a block, all layers together
BLOCKS = (8, 64, 512)  # of a prefix: 128 to 8,192 tokens


def measure(model: Model, tp: int, device: str, budget: Budget, counts: tuple[int, ...] = BLOCKS) -> Part:
    """Fetch times and rates by prefix length, and what prefetching saves of the longest.

    Raises UserError where memory is short.
    """
    size = block_bytes(shard(model, tp), PAGE, "cross-layer")
    with refusals(device, "free memory there and on the host, raise --tp, or leave restore out by --only"):
        return Part("restore", tuple(_readings(size, device, budget, counts)))


def _readings(size: int, device: str, budget: Budget, counts: tuple[int, ...]) -> list[Reading]:
    kinds = (True, False) if device.startswith("cuda") else (False,)
    readings: list[Reading] = []
    cases = [(count, pinned) for count in counts for pinned in kinds]
    for number, (count, pinned) in enumerate(cases):
        with closing(_Tiers(device, size, count, pinned)) as tiers:
            share = budget.share(len(cases) - number)
            readings += _against_raw(tiers, share.share(2))
            if pinned == kinds[0] and count == counts[-1]:
                readings += _ahead(tiers, share)
    return readings


class _Tiers:
    """Two prefixes of `count` blocks and room on the device for one: each fetch brings back the one that is away.

    The tiers are inclusive, so that making room copies nothing and a fetch is timed alone.
    """

    def __init__(self, device: str, size: int, count: int, pinned: bool) -> None:
        self.device, self.bytes, self.count = device, size * count, count
        self.kind = "pinned" if pinned else "pageable"
        self.mover = TensorMover(size, [count, 3 * count], device, pinned)
        pools = [Pool(count, LeastRecentlyUsed()), Pool(2 * count, LeastRecentlyUsed(), count)]
        self._manager = BlockManager(pools, self.mover, inclusive=True)
        self._turn = 0
        for _ in range(2):
            self._compute()

    def close(self) -> None:
        """Let go of the memory."""
        self.mover.close()

    def ask(self) -> Lease:
        """Begin to fetch the prefix that is away."""
        self._turn = 1 - self._turn
        lease = self._manager.acquire(range(self._turn * self.count, (self._turn + 1) * self.count))
        assert lease is not None
        return lease

    def wait(self, lease: Lease) -> None:
        """Until it is there; what came is what was computed."""
        while not lease.ready:
            self._manager.poll()

    def done(self, lease: Lease) -> None:
        """Check a block and let go of all."""
        key, slot = lease.keys[-1], lease.slots[-1]
        if lease.cached != self.count:
            raise UserError(f"{self.count - lease.cached} of {self.count} blocks did not come back: a copy failed")
        assert isinstance(key, int)
        if int(self.mover.pools[0][slot][-1]) != key % 256:
            raise UserError(f"a block came back from {self.device} changed: do not trust this machine's copies")
        self._manager.release(lease)

    def fetch(self) -> float:
        """Seconds from asking to having."""
        began = perf_counter()
        lease = self.ask()
        self.wait(lease)
        spent = perf_counter() - began
        self.done(lease)
        return spent

    def _compute(self) -> None:
        lease = self.ask()
        self.wait(lease)
        for key, slot in zip(lease.keys, lease.slots, strict=True):
            assert isinstance(key, int)
            self.mover.pools[0][slot] = key % 256
        self._manager.publish(lease)
        while self.mover.busy:  # until all of it is below, too
            self._manager.poll()
        self._manager.release(lease)


def _against_raw(tiers: _Tiers, budget: Budget) -> list[Reading]:
    fetched = repeat(tiers.fetch, budget.share(2), most=20)
    raw = repeat(partial(Stopwatch(tiers.device), _raw(tiers)), budget, most=20)
    what = f"{tiers.kind}, {units.count(tiers.count * PAGE)} tokens, {units.short(tiers.bytes, 'B')}"
    share = spread([raw.median / fetched.median])
    return [
        Reading(f"fetch, {what}", "s", fetched),
        Reading(f"fetch, {what}", "B/s", fetched.map(partial(truediv, tiers.bytes))),
        Reading(f"one raw copy, {what}", "B/s", raw.map(partial(truediv, tiers.bytes))),
        Reading(f"fetch as a share of the raw copy, {what}", "", share),
    ]


def _raw(tiers: _Tiers) -> Callable[[], object]:
    there, host = tiers.mover.pools[0], tiers.mover.pools[1][: tiers.count]
    return partial(there.clone().copy_, host.clone() if tiers.kind == "pageable" else host, non_blocking=True)


def _ahead(tiers: _Tiers, budget: Budget) -> list[Reading]:
    """Matrix work about as long as a fetch, then the fetch; and the fetch asked for before the work."""
    work = _work(tiers, tiers.fetch())
    lazy = repeat(partial(_run, tiers, work, False), budget.share(2), most=20)
    ahead = repeat(partial(_run, tiers, work, True), budget, most=20)
    saved = Spread(1 - ahead.median / lazy.median, 1 - ahead.high / lazy.low, 1 - ahead.low / lazy.high, ahead.count)
    return [
        Reading("lazy: work, then the fetch", "s", lazy),
        Reading("prefetch: the fetch asked for before the work", "s", ahead),
        Reading("share of the time that prefetching saves", "", saved),
    ]


def _run(tiers: _Tiers, work: Callable[[], object], ahead: bool) -> float:
    began = perf_counter()
    lease = tiers.ask() if ahead else None
    work()
    lease = lease or tiers.ask()
    tiers.wait(lease)
    Stopwatch(tiers.device)(lambda: None)  # the work is done too
    spent = perf_counter() - began
    tiers.done(lease)
    return spent


def _work(tiers: _Tiers, seconds: float) -> Callable[[], object]:
    """Products of matrices that take about so long."""
    import torch

    matrix: Any = torch.randn((1024, 1024), dtype=torch.bfloat16, device=tiers.device)
    one = repeat(partial(Stopwatch(tiers.device), partial(torch.mm, matrix, matrix)), Budget(0), least=5).median
    times = max(1, round(seconds / one))
    return lambda: [torch.mm(matrix, matrix) for _ in range(times)]
