"""The requests of a trace as a replay takes them: when each arrives, and what of it each block covers."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from kvcalc.errors import UserError
from kvcalc.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvcalc.traces.trace import Trace

Spacing = Literal["recorded", "spread", "poisson"]


@frozen
class Pace:
    """How the times of a trace are taken.

    `spread`: requests with the same time arrive at random between it and the next one, in their order; `poisson`: all
    at random, at the trace's mean rate. `speed` 2 is twice as fast.
    """

    spacing: Spacing = "recorded"
    speed: float = 1.0
    seed: int = 0


@dataclass(slots=True, eq=False)
class Arrival:
    """One request."""

    number: int  # from 0, by time
    at_s: float
    tokens: int
    keys: list[int]
    block_tokens: int
    ends: list[int] | None = None  # tokens up to the end of each block, where blocks differ

    def covered(self, blocks: int) -> int:
        """Tokens in the first blocks."""
        if self.ends is not None:
            return min(self.ends[blocks - 1], self.tokens) if blocks else 0
        return min(blocks * self.block_tokens, self.tokens)


def arrivals(trace: "Trace", pace: Pace) -> Iterator[Arrival]:
    """The requests by time, the first at 0 s. Raises UserError for a sample of a trace."""
    if trace.places is not None:
        raise UserError("a sample of a trace has no whole requests; read it without --sample")
    times = _times(trace, pace).tolist()
    for number, request in enumerate(trace.order.tolist()):
        begin, end = int(trace.starts[request]), int(trace.starts[request + 1])
        ends = None if trace.block_tokens is None else list(accumulate(trace.block_tokens[begin:end].tolist()))
        tokens = int(trace.input_tokens[request])
        yield Arrival(number, times[number], tokens, trace.blocks[begin:end].tolist(), trace.block_size, ends)


def _times(trace: "Trace", pace: Pace) -> "NDArray[np.float64]":
    import numpy as np

    times = trace.arrival_s[trace.order]
    times = times - times[0]
    random = np.random.default_rng(pace.seed)
    if pace.spacing == "poisson":
        gap = times[-1] / max(1, len(times) - 1)
        times = np.concatenate([[0.0], np.cumsum(random.exponential(gap, len(times) - 1))])
    elif pace.spacing == "spread":
        times = _spread(times, random)
    return times / pace.speed


def _spread(times: "NDArray[np.float64]", random: "np.random.Generator") -> "NDArray[np.float64]":
    """Each group of equal times over the gap up to the next; the last over a gap like the one before."""
    import numpy as np

    begins = np.flatnonzero(np.diff(times, prepend=-1.0))
    if len(begins) < 2:
        return times
    gaps = np.diff(times[begins])
    group = np.cumsum(np.diff(times, prepend=-1.0) > 0) - 1
    return np.sort(times + random.random(len(times)) * np.append(gaps, gaps[-1])[group])
