"""What a sweep varies: the values of each axis, and how many points they make together."""

import math
from collections.abc import Iterator
from itertools import product
from typing import Literal

from kvcalc import units
from kvcalc.answers.options import WayName
from kvcalc.errors import UserError
from kvcalc.frozen import frozen

LARGEST = 10_000_000  # rows
SMALL = 20_000  # rows that are worked out without numpy
MOST_SETTLED = 20_000  # combinations, each settled by itself in a few milliseconds


@frozen
class Combination:
    """One value of each axis that chooses profiles, formats, splits or layouts."""

    model: str
    hardware: str
    tp: int | None
    kv_dtype: str
    way: WayName | None  # of finding the recompute time; None: the best known, or the rates of the axis
    rates: tuple[float, ...]  # tokens/s; empty unless rates are given
    page: int | None
    links: int | Literal["all"] | None
    concurrency: int
    new: int | None  # tokens after the prefix; None: as the options have it


@frozen
class Axes:
    """The values of every axis, one each where nothing is varied. None is what `Options` takes it for."""

    model: tuple[str, ...]
    hardware: tuple[str, ...]
    tokens: tuple[int, ...]
    tp: tuple[int | None, ...] = (None,)
    kv_dtype: tuple[str, ...] = ("fp8",)
    prefill: tuple[WayName | float | None, ...] = (None,)
    page: tuple[int | None, ...] = (None,)
    links: tuple[int | Literal["all"] | None, ...] = (None,)
    concurrency: tuple[int, ...] = (1,)  # restores that begin together on the node
    new: tuple[int, ...] = ()  # tokens after the prefix; empty: the options'
    bandwidth: tuple[float, ...] = ()  # bytes/s of one link and one direction; empty: the profiles'
    bandwidth_tier: str = "all"  # whose bandwidth that is

    @property
    def size(self) -> int:
        """Points of the grid; each is answered for several paths."""
        return math.prod(max(1, len(getattr(self, name))) for name in NAMES)

    @property
    def settled(self) -> int:
        """Combinations at the most."""
        apart = (name for name in NAMES if name not in WITHIN)
        words = sum(not isinstance(value, int | float) for value in self.prefill)
        ways = words + (words < len(self.prefill))  # all rates are swept within one combination
        return ways * math.prod(max(1, len(getattr(self, name))) for name in apart)

    @property
    def swept(self) -> tuple[str, ...]:
        """The axes with more than one value."""
        return tuple(name for name in NAMES if len(getattr(self, name)) > 1)

    def combinations(self) -> Iterator[Combination]:
        """Every choice of profiles, formats, splits and layouts; lengths and rates are swept within each."""
        rates = tuple(float(value) for value in self.prefill if isinstance(value, int | float))
        ways = [(value, ()) for value in self.prefill if value is None or isinstance(value, str)]
        found = [*ways, *([(None, rates)] if rates else [])]
        chosen = (self.model, self.hardware, self.tp, self.kv_dtype, found, self.page, self.links, self.concurrency)
        for model, hardware, tp, kv, (way, given), page, links, requests, new in product(*chosen, self.new or (None,)):
            yield Combination(model, hardware, tp, kv, way, given, page, links, requests, new)


TITLES = {
    "model": "model",
    "hardware": "node",
    "tp": "TP",
    "kv_dtype": "KV format",
    "prefill": "prefill",
    "page": "page",
    "links": "links",
    "concurrency": "requests",
    "new": "new tokens",
    "bandwidth": "bandwidth of a link",
    "tokens": "tokens",
}
NAMES = tuple(TITLES)
WITHIN = ("tokens", "bandwidth", "prefill")  # axes whose values are worked out together


def too_large(size: int, limit: int = LARGEST) -> UserError:
    """The refusal of a grid, with its size and the way out."""
    return UserError(
        f"a grid of {units.count(size)} points is too large, the most is {units.count(limit)}; "
        "take fewer steps, such as 1k..1M:100, or sweep fewer options at once"
    )


def too_many(settled: int) -> UserError:
    """The refusal of a grid that would be settled for hours, with its size and the way out."""
    return UserError(
        f"{units.count(settled)} combinations are too many, the most is {units.count(MOST_SETTLED)}: each model, node, "
        "KV format and count (tp, block, links, concurrency, new) is settled by itself, while lengths, bandwidths and "
        "prefill rates are not; take fewer values, such as 1..1000:20"
    )
