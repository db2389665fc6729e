"""What `sweep` answers: one row for every point of the grid and every path (docs/output.md)."""

from collections.abc import Iterator, Sequence
from itertools import chain, product, repeat
from operator import add
from typing import Any

from kvcalc.answers.axes import Axes, Combination
from kvcalc.answers.margin_result import Assumption
from kvcalc.frozen import frozen
from kvcalc.physics.crossover import BEST_FIRST, Verdict, verdict
from kvcalc.profiles.sources import Source

SCHEMA_VERSION = 1
KEYS = (
    "model",
    "hardware",
    "tp",
    "tokens",
    "new_tokens",
    "engine",
    "kv_dtype",
    "weights",
    "page_tokens",
    "concurrency",
    "tier",
    "path",
    "links",
    "link_bytes_per_s",
    "recompute_way",
    "prefill_tokens_per_s",
    "kv_bytes",
    "recompute_s",
    "fetch_s",
    "rest_s",
    "first_token_s",
    "first_token_without_s",
    "margin",
    "margin_low",
    "margin_high",
    "verdict",
    "sure",
)


@frozen
class Columns:
    """Figures of every point of a series: by rate, then by bandwidth, then by length."""

    recompute_s: Sequence[float]
    fetch_s: Sequence[float]
    rest_s: Sequence[float]  # of the new tokens, which both come before
    margin: Sequence[float]
    margin_low: Sequence[float]
    margin_high: Sequence[float]


@frozen
class Series:
    """One path under one combination of profiles, formats, splits and layouts."""

    model: str
    hardware: str
    tp: int
    new_tokens: int
    engine: str
    kv_dtype: str
    weights: str
    page_tokens: int | None  # None: one contiguous copy
    concurrency: int
    tier: str
    medium: str
    path: str
    links: int
    recompute_way: str
    recompute_basis: str
    asked: Combination
    sources: tuple[Source, ...]  # of the recompute time and of the bandwidth, with their ranges
    model_title: str
    min_margin: float
    rates: tuple[float, ...]  # tokens/s, if they are swept or given
    bandwidths: tuple[float, ...]  # bytes/s of one link and one direction
    tokens: Sequence[int]
    kv_bytes: Sequence[int]  # by length
    columns: Columns

    def __len__(self) -> int:
        return len(self.columns.fetch_s)

    def place(self, rate: int, bandwidth: int, length: int) -> int:
        """Where the figures of a point stand in the columns."""
        return (rate * len(self.bandwidths) + bandwidth) * len(self.tokens) + length

    def verdict(self, place: int) -> Verdict:
        """The verdict of a point."""
        return verdict(self.columns.margin[place], self.min_margin)

    def sure(self, place: int) -> bool:
        """Does its verdict hold over the whole range?"""
        low, high = self.columns.margin_low[place], self.columns.margin_high[place]
        return verdict(low, self.min_margin) == verdict(high, self.min_margin)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row for each point, under KEYS."""
        lengths, count = _plain(self.tokens), len(self)
        sets = count // len(lengths)
        links = [rate for _, rate in product(range(max(1, len(self.rates))), self.bandwidths)]
        columns = self.columns
        recompute, fetch, rest, margin, low, high = (
            _plain(each)
            for each in (
                columns.recompute_s,
                columns.fetch_s,
                columns.rest_s,
                columns.margin,
                columns.margin_low,
                columns.margin_high,
            )
        )
        return zip(
            *map(repeat, (self.model, self.hardware, self.tp)),
            chain.from_iterable(repeat(lengths, sets)),
            *map(repeat, (self.new_tokens, self.engine, self.kv_dtype, self.weights, self.page_tokens)),
            *map(repeat, (self.concurrency, self.tier, self.path, self.links)),
            (rate for rate in links for _ in lengths),
            repeat(self.recompute_way),
            (tokens / s for tokens, s in zip(chain.from_iterable(repeat(lengths, sets)), recompute, strict=True)),
            chain.from_iterable(repeat(_plain(self.kv_bytes), sets)),
            recompute,
            fetch,
            rest,
            map(add, fetch, rest),
            map(add, recompute, rest),
            margin,
            low,
            high,
            self.judged(),
            self._sure(low, high),
            strict=False,
        )

    def judged(self) -> list[Verdict]:
        """The verdict of every point."""
        words, least = tuple(reversed(BEST_FIRST)), self.min_margin
        return [words[(margin >= 1) + (margin >= least)] for margin in _plain(self.columns.margin)]

    def _sure(self, low: list[float], high: list[float]) -> list[bool]:
        least = self.min_margin
        return [
            (worst >= 1) + (worst >= least) == (best >= 1) + (best >= least)
            for worst, best in zip(low, high, strict=True)
        ]


def _plain(values: Sequence[Any]) -> list[Any]:
    """Python's own numbers, of a list or of an array."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


class Points:
    """All rows, made when they are asked for: a million of them as objects would take gigabytes."""

    def __init__(self, series: tuple[Series, ...]) -> None:
        self.series = series

    def __len__(self) -> int:
        return sum(map(len, self.series))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each under KEYS."""
        return chain.from_iterable(each.rows() for each in self.series)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(KEYS, row, strict=True)) for row in self.rows())


@frozen
class LeftOut:
    """A combination that can't be answered, and why."""

    combination: str
    why: str


@frozen
class Sweep:
    """The whole answer."""

    schema_version: int
    axes: Axes
    min_margin: float
    left_out: tuple[LeftOut, ...]
    points: Points
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
