"""The mover of real tensors: pools of blocks, copies on streams of their own, neighbours in one copy."""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any

from kvcalc.tiered.blocks import Address
from kvcalc.tiered.movers import Ended

Job = tuple[int, int, int]  # source slot, target slot, transfer


class TensorMover:
    """Blocks of `block_bytes` in one pool a tier: `devices[0]` has the GPU's, the others are "cpu".

    Copies that were started are handed to the device together by the next `poll`: in order of their slots, runs of
    neighbours as one copy. They end when an event behind them has passed; without arriving, all of a call, where torch
    refuses one of it. Host pools are pinned where there is a CUDA
    device; `pinned=False` leaves them pageable.
    """

    def __init__(self, block_bytes: int, slots: Sequence[int], device: str, pinned: bool = True) -> None:
        import torch

        self._cuda = device.startswith("cuda")
        homes = [device, *["cpu"] * (len(slots) - 1)]
        self.pools: list[Any] = [
            torch.empty(
                (count, block_bytes), dtype=torch.uint8, device=home, pin_memory=pinned and tier > 0 and self._cuda
            )
            for tier, (count, home) in enumerate(zip(slots, homes, strict=True))
        ]
        self._streams: dict[tuple[int, int], Any] = {}
        self._waiting: dict[tuple[int, int], list[Job]] = {}
        self._under_way: list[tuple[Any, list[Ended]]] = []  # with the event behind them, if there is one
        self._started = 0

    def start(self, key: Hashable, source: Address, target: Address) -> int:  # noqa: ARG002
        """See Mover."""
        self._started += 1
        job = source.slot, target.slot, self._started
        self._waiting.setdefault((source.tier, target.tier), []).append(job)
        return self._started

    def poll(self) -> list[Ended]:
        """See Mover."""
        for pair, jobs in self._waiting.items():
            self._hand_over(pair, sorted(jobs))
        self._waiting.clear()
        done = [batch for batch in self._under_way if batch[0] is None or batch[0].query()]
        self._under_way = [batch for batch in self._under_way if batch not in done]
        return [each for _, ended in done for each in ended]

    def now(self) -> float:
        """See Mover."""
        return perf_counter()

    @property
    def busy(self) -> bool:
        """Are copies waiting or under way?"""
        return bool(self._waiting or self._under_way)

    def close(self) -> None:
        """Wait for the copies, then let go of all memory, pinned too."""
        for event, _ in self._under_way:
            if event is not None:
                event.synchronize()
        self._under_way.clear()
        self.pools.clear()

    def _hand_over(self, pair: tuple[int, int], jobs: list[Job]) -> None:
        source, target = (self.pools[tier] for tier in pair)
        if not self._cuda:
            arrived = _copy(source, target, jobs)
            self._under_way.append((None, [Ended(transfer, arrived) for _, _, transfer in jobs]))
            return
        import torch

        stream = self._streams.setdefault(pair, torch.cuda.Stream(device=self.pools[0].device))
        stream.wait_stream(torch.cuda.current_stream(self.pools[0].device))  # what computes the blocks comes first
        event = torch.cuda.Event()
        with torch.cuda.stream(stream):
            arrived = _copy(source, target, jobs)
            event.record(stream)  # behind those that were begun, though a later one was refused
        self._under_way.append((event, [Ended(transfer, arrived) for _, _, transfer in jobs]))


def _copy(source: Any, target: Any, jobs: list[Job]) -> bool:
    """Runs of slots that are neighbours on both sides go as one copy. False where torch refused one."""
    breaks = [at for at, (a, b) in enumerate(pairwise(jobs), 1) if (b[0] - a[0], b[1] - a[1]) != (1, 1)]
    try:
        for first, last in pairwise([0, *breaks, len(jobs)]):
            count, (here, there, _) = last - first, jobs[first]
            target[there : there + count].copy_(source[here : here + count], non_blocking=True)
    except RuntimeError:
        return False
    return True
