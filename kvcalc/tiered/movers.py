"""Moving blocks between tiers: what a mover promises, and one that only accounts for the time."""

import heapq
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, Protocol

from kvcalc.frozen import frozen
from kvcalc.tiered.blocks import Address


class Ended(NamedTuple):
    """A transfer that is over, and whether the data has arrived."""

    transfer: int
    arrived: bool


class Mover(Protocol):
    """Copies blocks from slot to slot without waiting for them."""

    def start(self, key: Hashable, source: Address, target: Address) -> int:
        """Begin a copy; its number is new. A copy that can't begin is one that ends without arriving."""

    def poll(self) -> list[Ended]:
        """The transfers that ended since the last call: neither slot of them is touched again."""

    def now(self) -> float:
        """Seconds, of the clock that transfers are timed with."""


@frozen
class Link:
    """The way from one tier to another, as one direction of it carries one block after another.

    With a buffer a copy has ended when it is in there; one that finds the buffer full never arrives.
    """

    bytes_per_s: float
    latency_s: float = 0.0  # from the end of the copy to its arrival; those of several blocks overlap
    per_copy_s: float = 0.0
    buffer_s: float | None = None  # what it holds, in seconds of copies; None: there is none


class TimedMover:
    """Moves nothing: says when a copy of `block_bytes` would have ended.

    `links` holds a link for each (source tier, target tier). Each carries its copies one after another, independent of
    the other links. `now` is the caller's clock; `copies` counts the blocks that each link carries.
    """

    def __init__(self, block_bytes: float, links: Mapping[tuple[int, int], Link], now: Callable[[], float]) -> None:
        self.now = now
        self._links = {
            pair: (link.per_copy_s + block_bytes / link.bytes_per_s, link.latency_s, link.buffer_s)
            for pair, link in links.items()
        }
        self._free_at = dict.fromkeys(links, 0.0)
        self.copies = dict.fromkeys(links, 0)
        self._under_way: list[tuple[float, int, bool]] = []
        self._started = 0

    def start(self, key: Hashable, source: Address, target: Address) -> int:  # noqa: ARG002
        """See Mover."""
        pair, now = (source.tier, target.tier), self.now()
        copy_s, latency_s, buffer_s = self._links[pair]
        copied = max(self._free_at[pair], now) + copy_s
        arrives = buffer_s is None or copied - now <= buffer_s
        if arrives:
            self._free_at[pair] = copied
            self.copies[pair] += 1
        self._started += 1
        ends = copied + latency_s if buffer_s is None else now
        heapq.heappush(self._under_way, (ends, self._started, arrives))
        return self._started

    def poll(self) -> list[Ended]:
        """See Mover."""
        if not self._under_way:
            return []
        ended, now = [], self.now()
        while self._under_way and self._under_way[0][0] <= now:
            _, transfer, arrived = heapq.heappop(self._under_way)
            ended.append(Ended(transfer, arrived))
        return ended

    def free_at(self, pair: tuple[int, int]) -> float:
        """When the last copy over a link ends, or has ended."""
        return self._free_at[pair]

    def next_end(self) -> float | None:
        """When the next transfer ends, or None: how far a simulation may set its clock."""
        return self._under_way[0][0] if self._under_way else None
