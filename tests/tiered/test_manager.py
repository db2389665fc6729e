"""The hits of a hierarchy against a plain LRU; and what the chapter's sketch gets wrong, case by case."""

from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiered_store import Store, data, serve, settle, write

from kvcalc.errors import UserError
from kvcalc.tiered.admission import OnSecondUse
from kvcalc.tiered.blocks import GPU, Address, State
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.movers import Link, TimedMover
from kvcalc.tiered.orders import FirstInFirstOut, LeastRecentlyUsed
from kvcalc.tiered.pools import Pool

CPU = 1
REQUESTS = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("".join), max_size=40)


def keys(path: str) -> list[Hashable]:
    """Blocks of a prefix: each is named by itself and all before it."""
    return [path[: end + 1] for end in range(len(path))]


def tiers(*sizes: int, store: Store, staging: int = 8, **options: object) -> BlockManager:
    pools = [Pool(size, LeastRecentlyUsed(), staging if tier else 0) for tier, size in enumerate(sizes)]
    return BlockManager(pools, store, **options)  # type: ignore[arg-type]


class PlainLRU:
    """Blocks in the order of their use, the last one used at the end; the `capacity` last are cached."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.stack: list[Hashable] = []

    def serve(self, request: list[Hashable]) -> int:
        cached = self.stack[-self.capacity :]
        hits = next((at for at, key in enumerate(request) if key not in cached), len(request))
        for key in reversed(request):
            if key in self.stack:
                self.stack.remove(key)
            self.stack.append(key)
        return hits


@given(REQUESTS, st.integers(4, 8), st.integers(4, 8), st.integers(4, 8))
def test_exclusive_tiers_hit_like_one_lru_of_their_summed_size(paths: list[str], gpu: int, cpu: int, disk: int):
    store, plain = Store(), PlainLRU(gpu + cpu + disk)
    manager = tiers(gpu, cpu, disk, store=store)
    for path in paths:
        assert serve(manager, store, keys(path)) == plain.serve(keys(path))


@given(REQUESTS, st.integers(4, 6), st.integers(0, 8))
def test_inclusive_tiers_hit_like_one_lru_of_the_lower_size(paths: list[str], gpu: int, more: int):
    store, plain = Store(), PlainLRU(gpu + more)
    manager = tiers(gpu, gpu + more, store=store, inclusive=True)
    for path in paths:
        assert serve(manager, store, keys(path)) == plain.serve(keys(path))


@given(REQUESTS, st.integers(4, 8), st.integers(4, 8))
def test_hits_do_not_depend_on_the_mover(paths: list[str], gpu: int, cpu: int):
    """Copies that end at once, as a replay without time has them."""
    plain = PlainLRU(gpu + cpu)
    at_once = Link(bytes_per_s=float("inf"))
    mover = TimedMover(1.0, {(0, 1): at_once, (1, 0): at_once}, lambda: 0.0)
    manager = BlockManager([Pool(gpu, LeastRecentlyUsed()), Pool(cpu, LeastRecentlyUsed(), gpu)], mover)
    for path in paths:
        lease = manager.acquire(keys(path))
        assert lease is not None
        assert lease.ready
        manager.publish(lease)
        manager.release(lease)
        assert sum(lease.found) == plain.serve(keys(path))


@given(REQUESTS)
def test_the_head_of_a_prefix_outlives_its_tail(paths: list[str]):
    store = Store()
    manager = tiers(4, 4, store=store)
    for path in paths:
        serve(manager, store, keys(path))
        assert all(len(key) == 1 or key[:-1] in manager.directory for key in map(str, manager.directory))


def full(store: Store, *, gpu: int = 2, cpu: int = 4, staging: int = 2) -> BlockManager:
    """x in the CPU's tier, y and z in the GPU's, which is full."""
    manager = tiers(gpu, cpu, store=store, staging=staging)
    for key in "xyz":
        serve(manager, store, [key])
    assert [manager.address(key) for key in "xyz"] == [Address(CPU, 0), Address(GPU, 1), Address(GPU, 0)]
    return manager


def test_a_source_slot_is_free_only_when_the_copy_has_ended(store: Store):
    manager = full(store)
    lease = manager.acquire(["w"])
    assert lease is not None
    assert (lease.slots, manager.state("y")) == ([None], State.MOVING_DOWN)
    settle(manager, store)
    assert lease.slots == [1]  # y's


def test_an_address_changes_only_when_the_data_has_arrived(store: Store):
    manager = full(store)
    manager.acquire(["w"])
    assert manager.address("y") == Address(GPU, 1)
    settle(manager, store)
    address = manager.address("y")
    assert address == Address(CPU, 1)
    assert store.slots[address] == data("y")


def test_a_request_that_does_not_fit_now_takes_nothing(store: Store):
    manager = full(store)
    held = manager.acquire(["y"])
    assert held is not None
    assert manager.acquire(["x", "v"]) is None  # x would have to be fetched, v computed, and one slot can be had
    assert (manager.state("x"), store.under_way) == (State.RESIDENT, {})
    manager.release(held)
    assert manager.acquire(["x", "v"]) is not None


def test_a_request_that_never_fits_is_refused(store: Store):
    with pytest.raises(UserError, match="3 blocks does not fit 2 GPU blocks"):
        full(store).acquire(["x", "y", "z"])


def test_a_full_lower_tier_makes_room(store: Store):
    manager = full(store, cpu=1)
    serve(manager, store, ["w"])
    assert (manager.address("x"), manager.address("y"), manager.dropped) == (None, Address(CPU, 0), 1)


def test_a_victim_is_dropped_where_the_lower_tier_has_no_slot(store: Store):
    """Without staging slots, x's slot is still taken while it moves up, so y has nowhere to go."""
    manager = full(store, cpu=1, staging=0)
    lease = manager.acquire(["x"])
    settle(manager, store)
    assert lease is not None
    assert lease.ready
    assert (manager.address("x"), manager.address("y"), manager.dropped) == (Address(GPU, 1), None, 1)


def test_a_promoted_block_leaves_its_lower_slot(store: Store):
    manager = full(store)
    serve(manager, store, ["x"])
    assert manager.directory["x"].copies == {GPU: 1}


def test_a_promoted_block_keeps_its_lower_slot_in_an_inclusive_hierarchy(store: Store):
    manager = tiers(1, 3, store=store, inclusive=True)
    for key in "xyx":
        serve(manager, store, [key])
    assert manager.directory["x"].copies == {GPU: 0, CPU: 0}


def test_a_request_makes_no_room_by_what_it_found_itself(store: Store):
    """abc's only copy is the one block below, and a, found too, would be written through in its place."""
    manager = tiers(3, 1, store=store, staging=0, inclusive=True)
    serve(manager, store, keys("abc"))
    given_up = manager.acquire(["z"])
    settle(manager, store)
    assert given_up is not None
    manager.release(given_up)
    assert manager.address("abc") == Address(CPU, 0)
    assert serve(manager, store, keys("abc")) == 3


def test_a_referenced_block_is_no_victim(store: Store):
    manager = full(store)
    held = manager.acquire(["y"])
    serve(manager, store, ["w"])
    assert held is not None
    assert (manager.address("y"), manager.address("z")) == (Address(GPU, 1), Address(CPU, 1))


def test_a_block_on_its_way_down_is_kept_when_it_is_found_again(store: Store):
    manager = full(store)
    first = manager.acquire(["w"])
    second = manager.acquire(["y"])
    assert first is not None
    assert second is not None
    assert second.ready
    settle(manager, store)
    assert manager.address("y") == Address(GPU, 1)
    assert first.slots == [0]  # z went instead
    assert manager.address("z") == Address(CPU, 2)


def test_a_failed_copy_down_loses_nothing(store: Store):
    manager = full(store)
    lease = manager.acquire(["w"])
    store.end_all(arrived=False)
    manager.poll()
    assert manager.address("y") == Address(GPU, 1)
    settle(manager, store)
    assert manager.address("y") == Address(CPU, 1)  # the second try
    assert lease is not None
    assert lease.ready


def test_a_block_whose_copy_fails_twice_is_dropped_so_that_requests_go_on(store: Store):
    manager = full(store)
    lease = manager.acquire(["w"])
    for _ in range(2):
        store.end_all(arrived=False)
        manager.poll()
    assert lease is not None
    assert lease.ready
    assert manager.address("y") is None


def test_a_block_that_cannot_be_fetched_is_computed(store: Store):
    manager = full(store)
    lease = manager.acquire(["x"])
    store.end_all()  # y goes down
    manager.poll()
    store.end_all(arrived=False)  # x does not come up
    settle(manager, store)
    assert lease is not None
    assert (lease.ready, lease.cached, lease.found) == (True, 0, (0, 1))
    assert manager.address("x") == Address(CPU, 0)
    write(store, lease)
    manager.publish(lease)
    assert manager.directory["x"].copies == {GPU: 1}


def test_a_block_that_comes_too_late_is_computed_and_its_slots_wait_for_the_copy(store: Store):
    manager = tiers(3, 4, store=store, patience_s=1.0)
    for key in "xyzw":
        serve(manager, store, [key])
    lease = manager.acquire(["x"])
    store.end_all()
    manager.poll()
    (late,) = store.under_way
    store.clock = 2.0
    manager.poll()
    assert lease is not None
    assert (lease.cached, lease.ready, manager.cached(["x"])) == (0, False, 0)
    store.end(next(number for number in store.under_way if number != late))  # room for the block is made elsewhere
    manager.poll()
    assert (lease.ready, manager.address("x")) == (True, Address(CPU, 0))
    store.end(late)
    manager.poll()
    address = manager.address("x")
    assert address is not None
    assert address.tier == GPU
    assert store.slots[address] == data("x")


def test_a_lease_fails_when_late_copies_hold_the_slots_it_was_promised(store: Store):
    manager = tiers(1, 2, store=store, patience_s=1.0)
    serve(manager, store, ["x"])
    lease = manager.acquire(["y"])
    store.clock = 2.0
    manager.poll()
    assert lease is not None
    assert lease.failed
    settle(manager, store)
    assert manager.address("x") == Address(GPU, 0)
    assert serve(manager, store, ["y"]) == 0


def test_a_slot_that_a_late_copy_reads_is_promised_to_nobody(store: Store):
    manager = tiers(2, 4, store=store, patience_s=1.0)
    for key in "xy":
        serve(manager, store, [key])
    manager.acquire(["z"])
    store.clock = 2.0
    manager.poll()  # x's copy down is late; y goes down instead
    reader = manager.acquire(["x"])
    assert reader is not None
    assert reader.ready
    manager.release(reader)
    assert manager.acquire(["w"]) is None


def test_two_requests_share_one_fetch(store: Store):
    manager = full(store)
    leases = [manager.acquire(["x"]), manager.acquire(["x"])]
    settle(manager, store)
    assert [lease and lease.slots for lease in leases] == [[1], [1]]
    assert [key for key, source, _ in store.started if source.tier == CPU] == ["x"]


def test_a_fetch_goes_on_when_the_first_of_two_requests_gives_up(store: Store):
    manager = full(store)
    first, second = manager.acquire(["x"]), manager.acquire(["x"])
    assert first is not None
    assert second is not None
    manager.release(first)
    settle(manager, store)
    assert second.ready


def test_a_request_that_gives_up_leaves_its_block_where_it_was(store: Store):
    manager = full(store)
    lease = manager.acquire(["x"])
    assert lease is not None
    manager.release(lease)
    manager.release(lease)
    settle(manager, store)
    assert manager.address("x") == Address(CPU, 0)
    assert serve(manager, store, ["x"]) == 1


def test_of_two_that_compute_the_same_block_one_is_kept(store: Store):
    manager = tiers(2, 2, store=store)
    leases = [manager.acquire(["x"]), manager.acquire(["x"])]
    for lease in leases:
        assert lease is not None
        write(store, lease)
        manager.publish(lease)
    for lease in leases:
        assert lease is not None
        manager.release(lease)
    assert manager.directory["x"].copies == {GPU: 0}
    assert serve(manager, store, ["y"]) == 0
    assert manager.address("x") is not None


def test_on_second_use_a_block_used_once_is_not_kept_below(store: Store):
    manager = tiers(1, 4, store=store, admission=OnSecondUse(100))
    for key in "xxyz":
        serve(manager, store, [key])
    assert (manager.address("x"), manager.address("y")) == (Address(CPU, 0), None)


def test_the_second_use_counts_when_the_block_was_lost_in_between(store: Store):
    manager = tiers(1, 4, store=store, admission=OnSecondUse(100))
    for key in "xyxz":
        serve(manager, store, [key])
    assert manager.address("x") == Address(CPU, 0)


def test_fifo_evicts_what_came_first_however_often_it_is_used(store: Store):
    manager = BlockManager([Pool(2, FirstInFirstOut())], store)
    for key in "xyxz":
        serve(manager, store, [key])
    assert [key for key in "xyz" if manager.address(key)] == ["y", "z"]


def test_lru_evicts_what_was_not_used(store: Store):
    manager = tiers(2, store=store)
    for key in "xyxz":
        serve(manager, store, [key])
    assert [key for key in "xyz" if manager.address(key)] == ["x", "z"]


def test_a_block_is_read_from_two_tiers_down_at_once(store: Store):
    manager = tiers(1, 1, 1, store=store)
    for key in "xyz":
        serve(manager, store, [key])
    assert manager.address("x") == Address(2, 0)
    assert serve(manager, store, ["x"]) == 1
    assert store.started[-1][1:] == (Address(2, 0), Address(GPU, 0))


def test_a_block_found_on_its_way_to_the_disk_comes_up_when_that_copy_has_ended(store: Store):
    manager = tiers(2, 1, 4, store=store)
    for key in "xyz":
        serve(manager, store, [key])
    manager.acquire(["w"])  # y goes down, and x before it
    assert manager.state("x") is State.MOVING_DOWN
    lease = manager.acquire(["x"])
    settle(manager, store)
    assert lease is not None
    assert lease.ready
    assert lease.found == (0, 1, 0)
    assert [target.tier for key, _, target in store.started if key == "x"] == [1, 2, 0]


def test_evictions_are_blocks_that_made_room(store: Store):
    """x and y went down to the CPU's one slot, x from there; y comes back up, and z goes down in its place."""
    manager = tiers(1, 1, store=store)
    for key in "xyzy":
        serve(manager, store, [key])
    assert list(manager.evicted) == [3, 1]
    assert manager.dropped == 1


def test_a_request_can_be_given_only_so_many_of_the_blocks_that_are_found(store: Store):
    manager = full(store)
    lease = manager.acquire(["y", "z"], at_most=1)
    assert lease is not None
    settle(manager, store)
    assert (lease.cached, lease.found) == (1, (1, 0))


def test_what_was_found_may_have_arrived_before_all_slots_are_had(store: Store):
    manager = full(store)
    lease = manager.acquire(["z", "w"])  # y has to leave for w
    assert lease is not None
    assert lease.arrived
    assert not lease.ready
    settle(manager, store)
    assert lease.ready
