"""The copies an engine makes: pages scattered in a pool, by layer or not, one by one, in one call, or gathered."""

from collections.abc import Callable
from functools import partial
from operator import truediv

from kvcalc import units
from kvcalc.measure.device import Stopwatch, refusals
from kvcalc.measure.prefill import BYTES, Shard, shard
from kvcalc.measure.results import Part, Reading
from kvcalc.measure.samples import Budget, repeat
from kvcalc.profiles.hardware import Layout
from kvcalc.profiles.model import Model

PAGES = (16, 64, 256)  # tokens
LAYOUTS: tuple[Layout, ...] = ("cross-layer", "per-layer", "per-layer-kv")
MOVED = 256 * 1024 * 1024  # bytes of a measurement, if the blocks are not larger
MOST = 4096  # copies of a measurement


def block_bytes(one: Shard, page: int, layout: Layout) -> int:
    """Bytes of one copy: a page's keys and values, of all layers, of one, or keys and values apart."""
    layer = page * 2 * one.kv_heads * one.width * BYTES
    return {"cross-layer": layer * one.layers, "per-layer": layer, "per-layer-kv": layer // 2}[layout]


def measure(model: Model, tp: int, device: str, budget: Budget, moved: int = MOVED) -> Part:
    """Effective bytes a second to the device, by layout, page and way. Raises UserError where memory is short."""
    with refusals(device, "free memory there and on the host, raise --tp, or leave blocks out by --only"):
        return Part("blocks", tuple(_readings(shard(model, tp), device, budget, moved)))


def _readings(one: Shard, device: str, budget: Budget, moved: int) -> list[Reading]:
    readings = []
    cases = [(layout, page) for layout in LAYOUTS for page in PAGES]
    for number, (layout, page) in enumerate(cases):
        size = block_bytes(one, page, layout)
        count = max(1, min(moved // size, MOST))
        pools = _Scattered(device, size, count)
        ways: dict[str, Callable[[], object]] = {
            "one copy a block": pools.one_by_one,
            "one call for all": pools.in_one_call,
            "gathered": pools.gathered,
        }
        for place, (way, work) in enumerate(ways.items()):
            share = budget.share((len(cases) - number) * len(ways) - place)
            seconds = repeat(partial(Stopwatch(device), work), share, most=20)
            what = f"{layout}, {page} tokens, {units.both(size)} x {count}, {way}"
            readings.append(Reading(what, "B/s", seconds.map(partial(truediv, size * count))))
    return readings


class _Scattered:
    """`count` blocks at random places of a pool twice as large, on the host and on the device."""

    def __init__(self, device: str, size: int, count: int) -> None:
        import torch

        pinned = device.startswith("cuda")
        self._host = torch.empty((2 * count, size), dtype=torch.uint8, pin_memory=pinned)
        self._host.random_(0, 256)
        self._there = torch.empty((2 * count, size), dtype=torch.uint8, device=device)
        self._from, self._to = torch.randperm(2 * count)[:count], torch.randperm(2 * count)[:count].to(device)
        places = list(zip(self._from.tolist(), self._to.tolist(), strict=True))
        self._pairs = [(self._there[target], self._host[source]) for source, target in places]
        self._staged = torch.empty((count, size), dtype=torch.uint8, pin_memory=pinned)

    def one_by_one(self) -> None:
        """A call for each block."""
        for target, source in self._pairs:
            target.copy_(source, non_blocking=True)

    def in_one_call(self) -> None:
        """A list of copies handed over at once."""
        import torch

        torch._foreach_copy_([target for target, _ in self._pairs], [source for _, source in self._pairs], True)

    def gathered(self) -> None:
        """Collected on the host, copied as one, spread out on the device."""
        import torch

        torch.index_select(self._host, 0, self._from, out=self._staged)
        self._there.index_copy_(0, self._to, self._staged.to(self._there.device, non_blocking=True))
