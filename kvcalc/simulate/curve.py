"""The hit rate of a trace at every capacity: counts of hits by definition, the ceiling, the knee."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from kvcalc.frozen import frozen
from kvcalc.simulate.distances import distances
from kvcalc.traces.extra import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvcalc.traces.trace import Trace

WARM = 0.5  # of the requests fill the cache before it is measured; kvcache-simulator 0.1.3, plan.py: warmup_fraction
LEAST = 1e-6  # of the tokens are computed, whatever a sample estimates


@frozen
class Hits:
    """Blocks, the tokens in them, and those of the blocks that are full."""

    blocks: int
    tokens: int
    full_blocks: int


@frozen
class Point:
    """A capacity and its hit rates."""

    capacity_blocks: int
    hits: Hits
    warm_hits: Hits  # of the last half of the requests, after the first half has filled the cache
    block_rate: float  # blocks that hit / blocks, the last and partial one of each prompt too
    token_rate: float  # their tokens / prompt tokens
    full_block_rate: float  # full blocks that hit / full blocks
    warm_token_rate: float

    @property
    def work(self) -> float:
        """How many times the prompts that the same prefill would do without a cache: 1/(1-h), h by tokens."""
        return 1 / max(1 - self.token_rate, LEAST)


@frozen
class Curve:
    """Hits at every capacity, by half of the requests: the first, and the second, which finds a warm cache.

    `missed[half, d]` counts the blocks, tokens and full blocks that a cache of d x `step` blocks misses. Of a sample
    each missed block stands for `step` = 1/rate missed blocks, and so does each step of capacity. Counting misses and
    not hits keeps the few blocks that everybody uses from deciding the answer by being in the sample or not, as the
    correction of SHARDS does (Waldspurger et al., FAST 2015).
    """

    missed: "NDArray[np.int64]"
    held: tuple[Hits, Hits]  # what the blocks of each half cover; all of it would hit in a cache that knew it
    asked: Hits  # the same, of both halves, with the prompts' tokens that no block covers
    warm_asked: Hits
    step: float

    def at(self, capacity_blocks: float) -> Point:
        """The hit rates of a cache of so many blocks."""
        place = min(int(capacity_blocks / self.step + 1e-9), self.missed.shape[1] - 1)
        cold, warm = (self._hits(half, place) for half in (0, 1))
        hits = Hits(cold.blocks + warm.blocks, cold.tokens + warm.tokens, cold.full_blocks + warm.full_blocks)
        return Point(
            int(min(capacity_blocks, self.largest)),
            hits,
            warm,
            _share(hits.blocks, self.asked.blocks),
            _share(hits.tokens, self.asked.tokens),
            _share(hits.full_blocks, self.asked.full_blocks),
            _share(warm.tokens, self.warm_asked.tokens),
        )

    def _hits(self, half: int, place: int) -> Hits:
        blocks, tokens, full = (round(each * self.step) for each in self.missed[half, place].tolist())
        held = self.held[half]
        return Hits(max(0, held.blocks - blocks), max(0, held.tokens - tokens), max(0, held.full_blocks - full))

    @property
    def largest(self) -> int:
        """The capacity in blocks from which on more changes nothing."""
        steps: int = self.missed.shape[1] - 1
        return round(steps * self.step)

    @cached_property
    def ceiling(self) -> Point:
        """What no cache exceeds, however large: everything that was ever seen before."""
        return self.at(self.largest)

    @cached_property
    def knee(self) -> Point:
        """Where more capacity begins to pay less than before.

        The point of 1/(1-h) that lies farthest above the straight line from no cache to the ceiling (Kneedle, Satopää
        et al., 2011); of a curve that lies below it throughout, the ceiling.
        """
        import numpy as np

        computed = self.asked.tokens - (self.held[0].tokens + self.held[1].tokens)
        work = 1 / np.maximum(1, computed + self.missed[:, :, 1].sum(axis=0) * self.step)
        rise = (work - work[0]) / max(work[-1] - work[0], np.finfo(float).tiny)
        above = rise - np.linspace(0, 1, len(rise))
        return self.at((len(above) - 1 - int(np.argmax(above[::-1]))) * self.step)

    def depths(self, *shares: float) -> tuple[int, ...]:
        """Reuse distances: the capacities in blocks that give these shares of the ceiling's block hits."""
        import numpy as np

        missed = self.missed[:, :, 0].sum(axis=0)
        hits = missed[0] - missed
        return tuple(round(int(np.searchsorted(hits, share * hits[-1])) * self.step) for share in shares)


def _share(part: int, whole: int) -> float:
    return min(part / whole, 1.0) if whole else 0.0


def curve(trace: "Trace", tail_first: bool = True) -> Curve:
    """Hits at every capacity by one pass over the trace; `tail_first` as in `distances`."""
    return from_distances(trace, distances(trace, tail_first))


def from_distances(trace: "Trace", found: "NDArray[np.int32]") -> Curve:
    """The curve, where the distances are known."""
    import numpy as np

    warm = int(len(trace.order) * WARM)
    table = np.zeros((2, int(found.max(initial=0)) + 1, 3), np.int64)
    nothing = np.zeros(0, np.int32)
    places = nothing if trace.places is None else trace.places
    tokens = nothing if trace.block_tokens is None else trace.block_tokens
    columns = trace.starts, trace.order, trace.input_tokens, places, tokens
    compiled(tally)(found, columns, trace.block_size, warm, table)
    whole = table.sum(axis=1, keepdims=True)
    table[:, 0] = 0  # those that hit in no cache
    np.subtract(whole, np.cumsum(table, axis=1, out=table), out=table)
    first, last = (_held(trace, half) for half in (trace.order[:warm], trace.order[warm:]))
    late = int(trace.input_tokens[trace.order[warm:]].sum(dtype=np.int64))
    asked = Hits(
        first.blocks + last.blocks, int(trace.input_tokens.sum(dtype=np.int64)), first.full_blocks + last.full_blocks
    )
    return Curve(table, (first, last), asked, Hits(last.blocks, late, last.full_blocks), 1 / trace.rate)


def _held(trace: "Trace", requests: "NDArray[np.int64]") -> Hits:
    """What the blocks of these requests cover."""
    import numpy as np

    lengths, inputs = trace.lengths[requests].astype(np.int64), trace.input_tokens[requests].astype(np.int64)
    if trace.block_tokens is not None:
        return Hits(int(lengths.sum()), int(inputs.sum()), int(lengths.sum()))
    covered = np.minimum(inputs, lengths * trace.block_size)
    return Hits(int(lengths.sum()), int(covered.sum()), int(np.minimum(lengths, inputs // trace.block_size).sum()))


def tally(found: Any, columns: Any, size: int, warm: int, table: Any) -> None:
    """Count by the capacity that each reference needs: a block, its tokens, and whether it is full."""
    starts, order, inputs, places, block_tokens = columns
    for rank in range(len(order)):
        request = order[rank]
        half = 1 if rank >= warm else 0
        for index in range(starts[request], starts[request + 1]):
            place = places[index] if len(places) else index - starts[request]
            tokens = max(0, min(size, inputs[request] - place * size))
            if len(block_tokens):
                tokens = block_tokens[index]
            table[half, found[index], 0] += 1
            table[half, found[index], 1] += tokens
            if tokens == size or len(block_tokens):
                table[half, found[index], 2] += 1


def bound(trace: "Trace", found: "NDArray[np.int32]", capacity_blocks: float) -> float:
    """By how much the block hit rate of a sample may be off: 1.96 standard errors of its misses (Horvitz and Thompson).

    Distinct blocks are in the sample independently, so the variance is (1-rate)/rate^2 times the sum of squares of each
    block's misses. How far the sample's own capacities are off is not in it.
    """
    import numpy as np

    missed = (found == 0) | (found > capacity_blocks * trace.rate)
    squares = np.square(np.bincount(trace.blocks[missed], minlength=1).astype(float)).sum()
    return float(1.96 * np.sqrt((1 - trace.rate) * squares) / (trace.rate * max(1, trace.references)))
