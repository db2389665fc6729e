"""Real tensors moved for the block manager: data read back is data written."""

import random
from typing import Any

import pytest

from kvcalc.measure.mover import TensorMover
from kvcalc.tiered.blocks import Address, Lease
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.orders import LeastRecentlyUsed
from kvcalc.tiered.pools import Pool

torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")

BLOCK = 512


def data(key: int) -> Any:
    return torch.full((BLOCK,), key % 256, dtype=torch.uint8)


def wait(manager: BlockManager, lease: Lease) -> None:
    for _ in range(1000):
        if lease.ready:
            return
        manager.poll()
    pytest.fail("the lease never got ready")


@pytest.mark.parametrize("inclusive", [False, True])
def test_blocks_come_back_as_they_were_computed(inclusive: bool):
    sizes, staging = (8, 24, 64), 8
    mover = TensorMover(BLOCK, [sizes[0], *(size + staging for size in sizes[1:])], "cpu")
    pools = [Pool(size, LeastRecentlyUsed(), staging if tier else 0) for tier, size in enumerate(sizes)]
    manager = BlockManager(pools, mover, inclusive=inclusive)
    chosen, found = random.Random(1), 0
    for _ in range(300):
        first = chosen.randrange(12)
        lease = manager.acquire([first * 16 + n for n in range(chosen.randint(1, 8))])
        assert lease is not None
        wait(manager, lease)
        for index, (key, slot) in enumerate(zip(lease.keys, lease.slots, strict=True)):
            assert isinstance(key, int)
            if index < lease.cached:
                assert torch.equal(mover.pools[0][slot], data(key))
            else:
                mover.pools[0][slot] = data(key)
        found += lease.cached
        manager.publish(lease)
        manager.release(lease)
    for key in manager.directory:
        address = manager.address(key)
        assert address is not None
        assert torch.equal(mover.pools[address.tier][address.slot], data(int(str(key))))
    assert found > 300
    mover.close()


def test_neighbours_go_as_one_copy(monkeypatch: pytest.MonkeyPatch):
    mover, copies = TensorMover(BLOCK, [8, 8], "cpu"), []
    copy = torch.Tensor.copy_
    monkeypatch.setattr(torch.Tensor, "copy_", lambda a, b, **more: (copies.append(len(b)), copy(a, b, **more))[1])
    for slot in (2, 0, 1, 5):
        mover.start(slot, Address(1, slot), Address(0, slot))
    assert sorted(ended.transfer for ended in mover.poll()) == [1, 2, 3, 4]
    assert copies == [3, 1]


def test_on_cuda_copies_end_with_the_event_behind_them(fake_cuda: Any):
    mover = TensorMover(BLOCK, [4, 4], "cuda:0")
    mover.pools[1][3] = data(7)
    transfer = mover.start("key", Address(1, 3), Address(0, 2))
    fake_cuda.held_back = True
    assert mover.poll() == []
    fake_cuda.held_back = False
    assert [ended.transfer for ended in mover.poll()] == [transfer]
    assert torch.equal(mover.pools[0][2], data(7))
    mover.start("key", Address(0, 2), Address(1, 0))
    mover.poll()
    mover.close()
    assert mover.pools == []


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_a_copy_that_torch_refuses_ends_without_arriving(fake_cuda: Any, device: str, monkeypatch: pytest.MonkeyPatch):
    def refuses(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    mover = TensorMover(BLOCK, [4, 4], device)
    transfer = mover.start("key", Address(1, 3), Address(0, 2))
    fake_cuda.held_back = False
    monkeypatch.setattr(torch.Tensor, "copy_", refuses)
    assert mover.poll() == [(transfer, False)]
    assert not mover.busy
