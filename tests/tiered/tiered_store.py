"""Tiers whose slots hold data, copied by a mover that does what a test tells it."""

from collections.abc import Hashable

from kvcalc.tiered.blocks import Address, Lease
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.movers import Ended

HALF = "half a block"


def data(key: Hashable) -> str:
    return f"data of {key!r}"


class Store:
    """A mover over slots of text. A copy reads its source when it ends, so a source that was given away shows."""

    def __init__(self) -> None:
        self.slots: dict[Address, str] = {}
        self.under_way: dict[int, tuple[Address, Address]] = {}
        self.started: list[tuple[Hashable, Address, Address]] = []
        self.clock = 0.0
        self._ended: list[Ended] = []

    def start(self, key: Hashable, source: Address, target: Address) -> int:
        self.started.append((key, source, target))
        number = len(self.started)
        self.under_way[number] = (source, target)
        self.slots[target] = HALF
        return number

    def poll(self) -> list[Ended]:
        ended, self._ended = self._ended, []
        return ended

    def now(self) -> float:
        return self.clock

    def end(self, number: int, arrived: bool = True) -> None:
        source, target = self.under_way.pop(number)
        if arrived:
            self.slots[target] = self.slots[source]
        self._ended.append(Ended(number, arrived))

    def end_all(self, arrived: bool = True) -> None:
        for number in list(self.under_way):
            self.end(number, arrived)


def settle(manager: BlockManager, store: Store, arrived: bool = True) -> None:
    """End all transfers, those too that begin when others end."""
    manager.poll()
    while store.under_way:
        store.end_all(arrived)
        manager.poll()


def write(store: Store, lease: Lease) -> None:
    """Compute what was not found."""
    for index in range(lease.cached, len(lease.keys)):
        slot = lease.slots[index]
        if lease.blocks[index] is None and slot is not None:
            store.slots[Address(0, slot)] = data(lease.keys[index])


def serve(manager: BlockManager, store: Store, keys: list[Hashable]) -> int:
    """A whole request with transfers that arrive; the blocks it found."""
    lease = manager.acquire(keys)
    assert lease is not None
    settle(manager, store)
    write(store, lease)
    manager.publish(lease)
    settle(manager, store)
    manager.release(lease)
    return sum(lease.found)
