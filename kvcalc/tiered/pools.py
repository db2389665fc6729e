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
        self._free = list(range(self.slots - 1, -1, -1))
        self._taken = bytearray(self.slots)

    @property
    def free(self) -> int:
        """Slots that nothing is in."""
        return len(self._free)

    @property
    def settled(self) -> int:
        """Slots that something is in and stays in."""
        return self.slots - len(self._free) - self.leaving

    @property
    def obtainable(self) -> int:
        """Slots that can be had without waiting for anyone to let go of a block."""
        return len(self._free) + len(self.order) + self.leaving

    def take(self) -> int | None:
        """A free slot, or None."""
        if not self._free:
            return None
        slot = self._free.pop()
        self._taken[slot] = 1
        return slot

    def give(self, slot: int) -> None:
        """The slot is free again."""
        assert self._taken[slot], f"slot {slot} is given back twice"
        self._taken[slot] = 0
        self._free.append(slot)
