"""GPU blocks for requests: what is cached is fetched, room is made, and whatever fails becomes a miss."""

from collections import deque
from collections.abc import Hashable, Mapping, Sequence

from kvcalc.errors import UserError
from kvcalc.tiered.admission import Admission, Always
from kvcalc.tiered.blocks import GPU, Address, Block, Lease, State, Want
from kvcalc.tiered.movers import Mover
from kvcalc.tiered.placement import Placement
from kvcalc.tiered.pools import Pool


class BlockManager:
    """Blocks of KV over the tiers of `pools`, the GPU's first.

    A request takes a lease on its blocks, writes those that were not found once the lease is ready, publishes them, and
    lets go. A block is named by a hash of itself and all before it; a request's names are distinct. With `patience_s` a
    transfer that takes longer is no longer waited for.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        mover: Mover,
        admission: Admission | None = None,
        inclusive: bool = False,
        patience_s: float | None = None,
    ) -> None:
        self._place = Placement(pools, mover, admission or Always(), inclusive, patience_s)
        self._gpu = pools[GPU]
        self._tiers = len(pools)
        self._queue: deque[Want] = deque()
        self._promised = 0  # GPU slots that leases still wait for; never more than can be had

    def cached(self, keys: Sequence[Hashable]) -> int:
        """How many blocks from the first on are in some tier. Changes nothing."""
        return len(self._find(keys))

    def address(self, key: Hashable) -> Address | None:
        """The one place to read a block from; None for a miss."""
        block = self._place.blocks.get(key)
        return block.address if block else None

    def state(self, key: Hashable) -> State | None:
        """What is happening to a block; None for a miss."""
        block = self._place.blocks.get(key)
        return block.state if block else None

    @property
    def directory(self) -> Mapping[Hashable, Block]:
        """Every block that some tier has."""
        return self._place.blocks

    @property
    def dropped(self) -> int:
        """Blocks that have left the last tier that had them."""
        return self._place.dropped

    @property
    def evicted(self) -> Sequence[int]:
        """How many blocks have made room in each tier."""
        return self._place.evicted

    def acquire(self, keys: Sequence[Hashable], at_most: int | None = None) -> Lease | None:
        """Refer to a request's blocks, all or none, and begin to fetch what a lower tier has.

        The whole request is looked up before any block is touched; with `at_most` only so many of its first blocks are,
        and the others will be computed. None if the GPU has too few slots that nobody refers to: ask again when a lease
        is released. Raises UserError if the request can never fit.
        """
        if len(keys) > self._gpu.slots:
            raise UserError(f"a request of {len(keys)} blocks does not fit {self._gpu.slots} GPU blocks; give it more")
        blocks = self._find(keys if at_most is None else keys[:at_most])
        if not self._has_room(blocks, len(keys) - len(blocks)):
            return None
        lease = self._lease(keys, blocks)
        for block in blocks:
            self._place.hold(block)  # all of them, before anything makes room for one
        for index, block in enumerate(blocks):
            if GPU in block.copies:
                lease.slots[index] = block.copies[GPU]
                self._place.write_through(block)
            else:
                self._await(block, lease, index)
        for index in range(len(blocks), len(keys)):
            self._want_own(lease, index)
        self.poll()
        return lease

    def publish(self, lease: Lease) -> None:
        """The lease's own blocks are computed: from now on others find them. The lease must be ready."""
        assert lease.ready
        assert not lease.released
        for index in range(lease.cached, len(lease.keys)):
            slot = lease.slots[index]
            if lease.blocks[index] is None and slot is not None:
                lease.blocks[index] = self._place.publish(lease.keys[index], slot)
        self.poll()

    def release(self, lease: Lease) -> None:
        """Let go of all blocks, the tail first; what was not published is lost. Twice is as good as once."""
        self._give_up(lease)
        self.poll()

    def _give_up(self, lease: Lease) -> None:
        if lease.released:
            return
        lease.released = True
        for want in lease.wants:
            self._cancel(want)
        for index in range(len(lease.keys) - 1, -1, -1):
            block, slot = lease.blocks[index], lease.slots[index]
            if block is not None:
                self._let_go(block)
            elif slot is not None:
                self._gpu.give(slot)

    def poll(self) -> None:
        """Take note of transfers that ended or are overdue, and begin those that were waiting for them."""
        self._advance()
        changed = self._place.poll() or self._place.overdue()
        while changed:
            for block in changed:
                self._serve(block)
            self._keep_promises()
            self._advance()
            changed = self._place.poll() or self._place.overdue()

    def _find(self, keys: Sequence[Hashable]) -> list[Block]:
        found = []
        for key in keys:
            block = self._place.blocks.get(key)
            if block is None or (block.late and GPU not in block.copies):
                break
            found.append(block)
        return found

    def _has_room(self, blocks: list[Block], own: int) -> bool:
        """Can the slots be had, apart from those that are promised and those that the blocks themselves are in?"""
        needed = own + self._promised
        for block in blocks:
            if GPU not in block.copies:
                needed += not block.rising
            elif not block.references and not block.late:
                needed += 1
        return needed <= self._gpu.obtainable

    def _lease(self, keys: Sequence[Hashable], blocks: list[Block]) -> Lease:
        found = [0] * self._tiers
        for block in blocks:
            found[min(block.copies)] += 1
        own = len(keys) - len(blocks)
        nothing: list[None] = [None] * own
        return Lease(tuple(keys), len(blocks), tuple(found), [None] * len(keys), [*blocks, *nothing])

    def _await(self, block: Block, lease: Lease, index: int) -> None:
        block.waiters.append((lease, index))
        lease.pending += 1
        if not block.rising:
            self._place.expect(block)
            block.want = Want(block=block)
            self._enqueue(block.want)

    def _want_own(self, lease: Lease, index: int) -> None:
        want = Want(lease=lease, index=index)
        lease.wants.append(want)
        lease.pending += 1
        self._enqueue(want)

    def _enqueue(self, want: Want) -> None:
        self._queue.append(want)
        self._promised += 1

    def _cancel(self, want: Want | None) -> None:
        if want is not None and want.live:
            want.live = False
            self._promised -= 1

    def _let_go(self, block: Block) -> None:
        if block.references == 1:
            self._cancel(block.want)
        self._place.let_go(block)

    def _advance(self) -> None:
        """Give free slots to those who wait, and begin as many evictions as the others need."""
        while self._promised:
            want = self._queue[0]
            if want.live:
                slot = self._gpu.take()
                if slot is None:
                    if self._gpu.leaving >= self._promised or not self._place.evict():
                        return
                    continue
                self._cancel(want)
                self._grant(want, slot)
            self._queue.popleft()
        self._queue.clear()

    def _grant(self, want: Want, slot: int) -> None:
        if want.block is not None:
            self._place.rise(want.block, slot)
        elif want.lease is not None:
            want.lease.slots[want.index] = slot
            want.lease.pending -= 1

    def _serve(self, block: Block) -> None:
        """Tell the leases that wait for a block that it has arrived, or that it will not."""
        if not block.waiters or (block.rising and not block.late):
            return
        waiters, block.waiters = block.waiters, []
        self._cancel(block.want)
        for lease, index in waiters:
            if lease.released:
                continue
            lease.pending -= 1
            if GPU in block.copies:
                lease.slots[index] = block.copies[GPU]
            else:
                lease.blocks[index] = None
                lease.cached = min(lease.cached, index)
                self._let_go(block)
                self._want_own(lease, index)

    def _keep_promises(self) -> None:
        """Where faults have taken slots away, the latest leases fail rather than wait for what may never come."""
        while self._promised > self._gpu.obtainable:
            want = self._queue[-1]
            if not want.live:
                self._queue.pop()
                continue
            waiting = [want.lease] if want.lease else [lease for lease, _ in want.block.waiters] if want.block else []
            for lease in waiting:
                lease.failed = True
                self._give_up(lease)
