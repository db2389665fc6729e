"""What must hold after any sequence of requests and faults: a state machine tries sequences."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tiered_store import Store, data, write

from kvcalc.tiered.admission import ADMISSIONS
from kvcalc.tiered.blocks import GPU, Address, Lease
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.orders import ORDERS
from kvcalc.tiered.pools import Pool

PATIENCE_S = 10.0

PATHS = st.lists(st.sampled_from("ab"), min_size=1, max_size=5)  # requests are paths in a tree, so they share prefixes


def keys(path: list[str]) -> list[str]:
    return ["".join(path[: end + 1]) for end in range(len(path))]


class Tiers(RuleBasedStateMachine):
    @initialize(
        sizes=st.lists(st.integers(1, 6), min_size=1, max_size=3),
        staging=st.integers(0, 3),
        order=st.sampled_from(sorted(ORDERS)),
        admission=st.sampled_from(sorted(ADMISSIONS)),
        inclusive=st.booleans(),
    )
    def start(self, sizes: list[int], staging: int, order: str, admission: str, inclusive: bool) -> None:
        sizes[0] = max(sizes[0], 3)
        self.store = Store()
        self.pools = [Pool(size, ORDERS[order](), staging if tier else 0) for tier, size in enumerate(sizes)]
        self.inclusive = inclusive
        self.manager = BlockManager(self.pools, self.store, ADMISSIONS[admission](100), inclusive, PATIENCE_S)
        self.leases: list[Lease] = []
        self.held: dict[str, tuple[Address, Lease]] = {}

    @rule(path=PATHS)
    def acquire(self, path: list[str]) -> None:
        wanted = keys(path)[: self.pools[GPU].slots]
        before = {key: block.references for key, block in self.manager.directory.items()}
        cached = self.manager.cached(wanted)
        lease = self.manager.acquire(wanted)
        if lease is None:
            assert {key: block.references for key, block in self.manager.directory.items()} == before
        else:
            assert sum(lease.found) == cached
            self.leases.append(lease)

    @precondition(lambda self: any(lease.ready for lease in self.leases))
    @rule(at=st.integers(0, 9))
    def compute(self, at: int) -> None:
        ready = [lease for lease in self.leases if lease.ready]
        lease = ready[at % len(ready)]
        write(self.store, lease)
        self.manager.publish(lease)

    @precondition(lambda self: self.leases)
    @rule(at=st.integers(0, 9))
    def release(self, at: int) -> None:
        self.manager.release(self.leases.pop(at % len(self.leases)))

    @precondition(lambda self: self.store.under_way)
    @rule(at=st.integers(0, 9), arrived=st.sampled_from((True, True, True, False)))
    def end(self, at: int, arrived: bool) -> None:
        numbers = list(self.store.under_way)
        self.store.end(numbers[at % len(numbers)], arrived)
        self.manager.poll()

    @precondition(lambda self: self.store.under_way)
    @rule()
    def end_all(self) -> None:
        self.settle()

    @rule(passed=st.sampled_from((1.0, PATIENCE_S, 2 * PATIENCE_S)))
    def wait(self, passed: float) -> None:
        self.store.clock += passed
        self.manager.poll()

    def settle(self) -> None:
        while self.store.under_way:
            self.store.end_all()
            self.manager.poll()

    @invariant()
    def every_block_is_read_back_as_it_was_written(self) -> None:
        for key in self.manager.directory:
            address = self.manager.address(key)
            assert address is not None
            assert self.store.slots[address] == data(key)

    @invariant()
    def every_block_is_in_one_tier_where_tiers_are_exclusive(self) -> None:
        for block in self.manager.directory.values():
            assert len(block.copies) == 1 or (self.inclusive and block.copies)

    @invariant()
    def what_a_ready_lease_refers_to_does_not_move(self) -> None:
        for lease in self.leases:
            if lease.ready:
                for key, block, slot in zip(lease.keys, lease.blocks, lease.slots, strict=True):
                    assert slot is not None
                    assert block is None or block.address == (GPU, slot)
                    assert block is None or self.store.slots[Address(GPU, slot)] == data(key)

    @invariant()
    def cached_blocks_of_a_ready_lease_have_their_data(self) -> None:
        for lease in self.leases:
            if lease.ready:
                assert None not in lease.blocks[: lease.cached]

    @invariant()
    def every_slot_is_free_or_taken_by_one_thing(self) -> None:
        blocks = list(self.manager.directory.values())
        taken = [Address(tier, slot) for block in blocks for tier, slot in block.copies.items()]
        taken += [block.move.target for block in blocks if block.move]
        taken += [Address(GPU, block.reserved) for block in blocks if block.reserved is not None]
        for lease in self.leases:
            if not lease.released:
                own = [s for b, s in zip(lease.blocks, lease.slots, strict=True) if b is None and s is not None]
                taken += [Address(GPU, slot) for slot in own]
        assert len(set(taken)) == len(taken)
        for tier, pool in enumerate(self.pools):
            assert sum(address.tier == tier for address in taken) + pool.free == pool.slots
            assert 0 <= pool.leaving <= pool.slots - pool.free

    @invariant()
    def references_are_those_of_the_leases(self) -> None:
        for block in self.manager.directory.values():
            assert block.references == sum(lease.blocks.count(block) for lease in self.leases if not lease.released)

    @invariant()
    def nothing_waits_for_what_will_not_come(self) -> None:
        if not self.store.under_way:
            assert all(lease.ready or lease.failed for lease in self.leases)

    def teardown(self) -> None:
        if not hasattr(self, "leases"):
            return
        for lease in self.leases:
            self.manager.release(lease)
        self.leases = []
        self.settle()
        self.every_slot_is_free_or_taken_by_one_thing()
        for tier, pool in enumerate(self.pools):
            assert pool.leaving == 0
            assert len(pool.order) == pool.slots - pool.free, f"a block of tier {tier} can't be a victim"
        assert {block.references for block in self.manager.directory.values()} <= {0}


TestTiers = Tiers.TestCase
TestTiers.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@pytest.mark.slow
def test_two_thousand_long_sequences() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    checks = [HealthCheck.too_slow]
    run_state_machine_as_test(
        Tiers,
        settings=settings(max_examples=2_000, stateful_step_count=60, deadline=None, suppress_health_check=checks),
    )
