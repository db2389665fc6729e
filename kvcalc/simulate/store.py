"""A store that replicas share: what they have put there, and a link of each replica to it, each way."""

import heapq
from collections.abc import Sequence

from kvcalc.frozen import frozen
from kvcalc.tiered.blocks import Lease
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.movers import Link, TimedMover
from kvcalc.tiered.orders import LeastRecentlyUsed
from kvcalc.tiered.pools import Pool


class Line:
    """One direction of a link, which carries one block after another."""

    def __init__(self, link: Link, block_bytes: float) -> None:
        self.copy_s = link.per_copy_s + block_bytes / link.bytes_per_s
        self.latency_s = link.latency_s
        self.copies = 0
        self.free_at = 0.0

    def carry(self, blocks: int, now: float) -> float:
        """When the last of so many blocks arrives."""
        self.copies += blocks
        self.free_at = max(self.free_at, now) + blocks * self.copy_s
        return self.free_at + self.latency_s

    def seconds(self, blocks: int) -> float:
        """The same of a link that is free, from now on."""
        return blocks * self.copy_s + self.latency_s


@frozen
class Ordered:
    """Blocks on their way from the store: a hold on them there, how many a request has with them, when they arrive."""

    lease: Lease
    blocks: int
    arrives_s: float


class Store:
    """A least-recently-used directory of blocks without a GPU's tier of its own: what is put arrives after a while."""

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks
        pool = Pool(blocks, LeastRecentlyUsed())
        self._directory = BlockManager([pool], TimedMover(0.0, {}, lambda: 0.0))  # one tier: nothing moves
        self._coming: list[tuple[float, int, Sequence[int]]] = []
        self._put = 0

    def cached(self, keys: Sequence[int], now: float) -> int:
        """How many blocks from the first on are there by now."""
        while self._coming and self._coming[0][0] <= now:
            self._take_in(heapq.heappop(self._coming)[2])
        return self._directory.cached(keys)

    def hold(self, keys: Sequence[int]) -> Lease | None:
        """Keep blocks that are there; None if there is no room for a hold on them."""
        return self._directory.acquire(keys)

    def let_go(self, lease: Lease) -> None:
        """They may leave."""
        self._directory.release(lease)

    def put(self, keys: Sequence[int], line: Line, now: float) -> None:
        """Write over the line what of a request is not there yet."""
        keys = keys[: self._blocks]
        missing = len(keys) - self.cached(keys, now)
        self._put += 1
        heapq.heappush(self._coming, (line.carry(missing, now) if missing else now, self._put, keys))

    def _take_in(self, keys: Sequence[int]) -> None:
        lease = self._directory.acquire(keys)
        if lease is not None:
            self._directory.publish(lease)
            self._directory.release(lease)
