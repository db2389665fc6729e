"""Which tiers hold a block: copies are made, moved and dropped here, and no request is known.

The rules that keep data whole: a slot is free only after every copy from it or to it has ended; a block's address
changes only when its data has arrived; a block has one move at a time; what somebody refers to is no victim.
"""

from collections import deque
from collections.abc import Hashable, Sequence

from kvcalc.tiered.admission import Admission
from kvcalc.tiered.blocks import GPU, Address, Block, Move
from kvcalc.tiered.movers import Mover
from kvcalc.tiered.pools import Pool

TRIES = 2  # moves of a block that may fail in a row before it is dropped


class Placement:
    """The directory of blocks over pools, the GPU's first. Exclusive: a block is in one tier. Inclusive: also below."""

    def __init__(
        self, pools: Sequence[Pool], mover: Mover, admission: Admission, inclusive: bool, patience_s: float | None
    ) -> None:
        self.blocks: dict[Hashable, Block] = {}
        self.pools = pools
        self.gpu = pools[GPU]
        self.dropped = 0
        self.evicted = [0] * len(pools)
        self._mover = mover
        self._admission = admission
        self._inclusive = inclusive
        self._patience_s = patience_s
        self._moves: dict[int, Block] = {}
        self._started: deque[tuple[float, int]] = deque()

    def hold(self, block: Block) -> None:
        """One more refers to the block. If it was leaving it stays."""
        self._admission.use(block.key)
        block.references += 1
        if block.references == 1:
            for tier in block.copies:
                self.pools[tier].order.hold(block.key)
            if not block.rising:
                self._stay(block)

    def let_go(self, block: Block) -> None:
        """One fewer refers to it; after the last it is the most recently used and may go."""
        block.references -= 1
        if block.references:
            return
        if block.rising and not (block.move and block.move.up):
            self._stop_rising(block)
        self._line_up(block)
        if block.failures >= TRIES and not block.move:
            self._discard(block)

    def expect(self, block: Block) -> None:
        """A GPU slot will be had for the block, so its place below will be free."""
        block.rising = True
        if not self._inclusive:
            self._leave(block, block.address.tier)

    def rise(self, block: Block, slot: int) -> None:
        """Bring the block to a GPU slot, now or when its present move has ended."""
        if block.move:
            block.reserved = slot
        else:
            self._start(block, block.address, Address(GPU, slot))

    def publish(self, key: Hashable, slot: int) -> Block | None:
        """The data in a GPU slot is this block from now on, and is held. None if the block has, or gets, another."""
        block = self.blocks.get(key)
        if block is None:
            block = self.blocks[key] = Block(key, {})
        elif GPU in block.copies or block.move or block.rising:
            return None
        block.copies[GPU] = slot
        self.hold(block)
        if not self._inclusive:
            for tier in [tier for tier in block.copies if tier != GPU]:
                self._drop(block, tier)
        self.write_through(block)
        return block

    def write_through(self, block: Block) -> None:
        """Inclusive tiers: begin a copy below the lowest one, where it is admitted and there is room."""
        lowest = max(block.copies)
        if not self._inclusive or block.move or block.rising or not self._may_go_down(block, lowest):
            return
        slot = self._room(lowest + 1)
        if slot is not None:
            self._start(block, Address(lowest, block.copies[lowest]), Address(lowest + 1, slot))

    def evict(self, tier: int = GPU) -> bool:
        """Make the next unreferenced block of a tier leave; False if there is none."""
        key = self.pools[tier].order.choose()
        if key is None:
            return False
        self._demote(self.blocks[key], tier)
        return True

    def poll(self) -> list[Block]:
        """End what has ended; the blocks whose move is over, whether or not their data has arrived."""
        return [self._end(self._moves.pop(transfer), arrived) for transfer, arrived in self._mover.poll()]

    def overdue(self) -> list[Block]:
        """Blocks whose move has now run out of patience: nothing counts on it any more, and its slots stay taken."""
        if self._patience_s is None:
            return []
        found, before = [], self._mover.now() - self._patience_s
        while self._started and self._started[0][0] < before:
            block = self._moves.get(self._started.popleft()[1])
            if block is not None and block.move is not None:
                block.late = True
                if not block.move.up:
                    self._stop_rising(block)
                found.append(block)
        return found

    def _may_go_down(self, block: Block, tier: int) -> bool:
        last = tier + 1 == len(self.pools)
        return not last and block.failures < TRIES and self._admission.admits(block.key)

    def _demote(self, block: Block, tier: int) -> None:
        move = block.move
        if move and move.source.tier == tier:
            if not block.late:
                self._leave(block, tier)  # the copy is being made already
            return
        slot = None
        if not move and tier == max(block.copies) and self._may_go_down(block, tier):
            slot = self._room(tier + 1)
        if slot is None:
            self._drop(block, tier)
            self.evicted[tier] += 1
        else:
            self._leave(block, tier)
            self._start(block, Address(tier, block.copies[tier]), Address(tier + 1, slot))

    def _room(self, tier: int) -> int | None:
        pool = self.pools[tier]
        while pool.settled >= pool.capacity and self.evict(tier):
            pass
        return pool.take() if pool.settled < pool.capacity else None

    def _start(self, block: Block, source: Address, target: Address) -> None:
        block.move = Move(source, target)
        transfer = self._mover.start(block.key, source, target)
        self._moves[transfer] = block
        if self._patience_s is not None:
            self._started.append((self._mover.now(), transfer))

    def _end(self, block: Block, arrived: bool) -> Block:
        assert block.move is not None
        (source, target), up, late = block.move, block.move.up, block.late
        block.move, block.late = None, False
        block.failures = 0 if arrived else block.failures + 1
        goes = block.leaving is not None and not block.rising  # a demotion that nobody stopped
        if up:
            block.rising = False
        if arrived and (up or goes or self._inclusive):
            self._arrive(block, source, target)
        else:
            self.pools[target.tier].give(target.slot)
            self._remain(block, source)
        if late and not block.references:
            self._line_up(block)
        if block.reserved is not None:
            slot, block.reserved = block.reserved, None
            self.rise(block, slot)
        elif arrived and not up:
            self.write_through(block)
        return block

    def _arrive(self, block: Block, source: Address, target: Address) -> None:
        block.copies[target.tier] = target.slot
        if block.leaving == source.tier:
            self._drop(block, source.tier)
            self.evicted[source.tier] += target.tier > source.tier
        if not block.references:
            self.pools[target.tier].order.add(block.key)

    def _remain(self, block: Block, source: Address) -> None:
        """The block is where it was."""
        if block.leaving is not None and not block.rising:
            self._stay(block)
            if not block.references:
                self.pools[source.tier].order.put_back(block.key)

    def _stop_rising(self, block: Block) -> None:
        block.rising = False
        if block.reserved is not None:
            self.gpu.give(block.reserved)
            block.reserved = None
        self._stay(block)

    def _line_up(self, block: Block) -> None:
        if block.late:
            return  # its slot can't be had before its move ends
        for tier in block.copies:
            if tier != block.leaving:
                self.pools[tier].order.add(block.key)

    def _leave(self, block: Block, tier: int) -> None:
        block.leaving = tier
        self.pools[tier].leaving += 1

    def _stay(self, block: Block) -> None:
        if block.leaving is not None:
            self.pools[block.leaving].leaving -= 1
            block.leaving = None

    def _discard(self, block: Block) -> None:
        for tier in list(block.copies):
            self._drop(block, tier)

    def _drop(self, block: Block, tier: int) -> None:
        pool = self.pools[tier]
        if block.leaving == tier:
            self._stay(block)
        pool.order.forget(block.key)
        pool.give(block.copies.pop(tier))
        if not block.copies:
            self.dropped += 1
            del self.blocks[block.key]
