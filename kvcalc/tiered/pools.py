"""The slots of one tier, and the order in which its blocks go."""

from kvcalc.tiered.orders import Order


class Pool:
    """A tier that keeps `capacity` blocks, and has `staging` more slots for blocks on their way in or out.

    A slot is taken until the copy from it or to it has ended; `staging` lets a full tier take a block in while another
    is still leaving. Without it such a block is dropped.
    """

    def __init__(self, capacity: int, order: Order, staging: int = 0) -> None:
        self.capacity = capacity
        self.order = order
        self.slots = capacity + staging
        self.leaving = 0  # slots that become free when the moves from them end
        self._used = 0  # slots that were ever taken: memory follows use, not the size of the tier
        self._given_back: list[int] = []
        self._taken = bytearray()

    @property
    def free(self) -> int:
        """Slots that nothing is in."""
        return self.slots - self._used + len(self._given_back)

    @property
    def settled(self) -> int:
        """Slots that something is in and stays in."""
        return self._used - len(self._given_back) - self.leaving

    @property
    def obtainable(self) -> int:
        """Slots that can be had without waiting for anyone to let go of a block."""
        return self.free + len(self.order) + self.leaving

    def take(self) -> int | None:
        """A free slot, or None."""
        if self._given_back:
            slot = self._given_back.pop()
            self._taken[slot] = 1
            return slot
        if self._used == self.slots:
            return None
        self._used += 1
        self._taken.append(1)
        return self._used - 1

    def give(self, slot: int) -> None:
        """The slot is free again."""
        assert self._taken[slot], f"slot {slot} is given back twice"
        self._taken[slot] = 0
        self._given_back.append(slot)
