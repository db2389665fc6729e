"""Eviction policies: which unreferenced block of a tier goes next.

All operations cost O(1), those of FIFO O(log n). "Leaf first" needs no policy of its own: the manager adds a request's
blocks from its tail to its head, so that for LRU a block is never older than what follows it in a prefix.
"""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol


class Order(Protocol):
    """The blocks of one tier that nobody refers to, in the order in which they go."""

    def __len__(self) -> int: ...

    def add(self, key: Hashable) -> None:
        """The block arrived, or its last reader let go of it: it may go from now on."""

    def put_back(self, key: Hashable) -> None:
        """The block was chosen but could not go: it is the next to be chosen again."""

    def hold(self, key: Hashable) -> None:
        """Somebody refers to the block: it may not go. Nothing happens if it could not go anyway."""

    def forget(self, key: Hashable) -> None:
        """The block has left the tier."""

    def choose(self) -> Hashable | None:
        """Take out the block that goes next; None if there is none."""


class LeastRecentlyUsed:
    """The block goes that has been unused for longest."""

    def __init__(self) -> None:
        self._order: OrderedDict[Hashable, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._order)

    def add(self, key: Hashable) -> None:
        """See Order."""
        self._order[key] = None
        self._order.move_to_end(key)

    def put_back(self, key: Hashable) -> None:
        """See Order."""
        self._order[key] = None
        self._order.move_to_end(key, last=False)

    def hold(self, key: Hashable) -> None:
        """See Order."""
        self._order.pop(key, None)

    forget = hold

    def choose(self) -> Hashable | None:
        """See Order."""
        return self._order.popitem(last=False)[0] if self._order else None


class FirstInFirstOut:
    """The block goes that arrived first, however often it was used since."""

    def __init__(self) -> None:
        self._arrival: dict[Hashable, int] = {}
        self._queue: list[tuple[int, Hashable]] = []  # held blocks may be in it, and ones that left
        self._queued: dict[Hashable, int] = {}
        self._evictable: set[Hashable] = set()
        self._last = self._first = 0

    def __len__(self) -> int:
        return len(self._evictable)

    def add(self, key: Hashable) -> None:
        """See Order."""
        if key not in self._arrival:
            self._last += 1
            self._arrival[key] = self._last
        self._allow(key)

    def put_back(self, key: Hashable) -> None:
        """See Order."""
        self._first -= 1
        self._arrival[key] = self._first
        self._allow(key)

    def _allow(self, key: Hashable) -> None:
        self._evictable.add(key)
        arrival = self._arrival[key]
        if self._queued.get(key) != arrival:
            self._queued[key] = arrival
            heapq.heappush(self._queue, (arrival, key))

    def hold(self, key: Hashable) -> None:
        """See Order."""
        self._evictable.discard(key)

    def forget(self, key: Hashable) -> None:
        """See Order."""
        self._evictable.discard(key)
        self._arrival.pop(key, None)

    def choose(self) -> Hashable | None:
        """See Order."""
        while self._queue:
            arrival, key = heapq.heappop(self._queue)
            if self._queued.get(key) == arrival:
                del self._queued[key]
            if key in self._evictable and self._arrival[key] == arrival:
                self.forget(key)
                return key
        return None


ORDERS: dict[str, Callable[[], Order]] = {"lru": LeastRecentlyUsed, "fifo": FirstInFirstOut}
