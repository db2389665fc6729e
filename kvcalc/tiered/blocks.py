"""What is known of one block: where its data can be read, who refers to it, and the copy of it that is under way."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

GPU = 0  # the tier that requests run in; the tiers below it are 1, 2, ...


class Address(NamedTuple):
    """A place for one block."""

    tier: int
    slot: int


class State(Enum):
    """What is happening to a block."""

    RESIDENT = "resident"
    MOVING_DOWN = "moving down"
    MOVING_UP = "moving up"


class Move(NamedTuple):
    """A copy under way. Both slots are taken until it has ended, however long that takes."""

    source: Address
    target: Address

    @property
    def up(self) -> bool:
        """Does it go to the GPU?"""
        return self.target.tier == GPU


@dataclass(slots=True, eq=False)
class Block:
    """One block of the directory."""

    key: Hashable
    copies: dict[int, int]  # tier: slot, only where the data has arrived
    references: int = 0
    move: Move | None = None
    leaving: int | None = None  # the tier whose slot becomes free when the move ends
    rising: bool = False  # a slot of the GPU is asked for, or taken, for it
    reserved: int | None = None  # that slot, while another move must end first
    late: bool = False  # its move takes too long
    failures: int = 0  # moves in a row
    want: Want | None = None
    waiters: list[tuple[Lease, int]] = field(default_factory=list)  # leases that its arrival serves, and where in them

    @property
    def address(self) -> Address:
        """The one place to read it from: the highest."""
        tier = min(self.copies)
        return Address(tier, self.copies[tier])

    @property
    def state(self) -> State:
        """What is happening to it."""
        if self.move is None:
            return State.RESIDENT
        return State.MOVING_UP if self.move.up else State.MOVING_DOWN


@dataclass(slots=True, eq=False)
class Want:
    """A GPU slot that is waited for: by a block on its way up, or by a lease for a block that it will compute."""

    block: Block | None = None
    lease: Lease | None = None
    index: int = 0
    live: bool = True


@dataclass(slots=True, eq=False)
class Lease:
    """The GPU blocks of one request: the first `cached` of them are found, the rest must be computed.

    `slots` holds a GPU slot for each block once `ready`. `cached` can shrink before that, when a block that was found
    can't be fetched. A lease that has `failed` has lost its slots: the request must be asked for again.
    """

    keys: tuple[Hashable, ...]
    cached: int
    found: tuple[int, ...]  # blocks found, by tier
    slots: list[int | None]
    blocks: list[Block | None]  # those of the directory; None for what the lease has for itself
    wants: list[Want] = field(default_factory=list)
    pending: int = 0  # slots and arrivals that are still waited for
    failed: bool = False
    released: bool = False

    @property
    def arrived(self) -> bool:
        """Has the data of all blocks that were found arrived? Slots for the others may still be waited for."""
        return not self.pending or None not in self.slots[: self.cached]

    @property
    def ready(self) -> bool:
        """Are all slots given and has all data arrived?"""
        return not self.pending and not self.failed
