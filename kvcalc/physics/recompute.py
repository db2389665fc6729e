"""Ways to tell how long a prefill takes: a stated rate, a measured curve, the model, the textbook's 2PS.

Each way answers `seconds(new, cached)`: the prefill of `new` tokens after `cached` tokens that are already there.
"""

import math
from bisect import bisect_right
from typing import Protocol

from kvcalc.frozen import frozen
from kvcalc.physics.prefill import Prefill
from kvcalc.profiles.sources import Basis, Source


class Way(Protocol):
    """How a recompute time is found."""

    @property
    def title(self) -> str:
        """What the printed page calls it."""

    @property
    def basis(self) -> Basis:
        """How far to trust it."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where its numbers come from."""

    def band(self, new: int) -> tuple[float, float]:
        """The fractions by which the time of `new` tokens may be shorter and longer; 0 where nothing is known."""

    def seconds(self, new: int, cached: int = 0) -> float:
        """Prefill of `new` tokens after `cached`."""


@frozen
class Stated:
    """A rate in tokens a second, whatever the length."""

    title: str
    rate: float  # tokens/s
    basis: Basis
    sources: tuple[Source, ...]

    def band(self, new: int) -> tuple[float, float]:  # noqa: ARG002
        """Whoever states a rate states no error."""
        return 0.0, 0.0

    def seconds(self, new: int, cached: int = 0) -> float:  # noqa: ARG002
        """A rate knows no attention, so what is cached changes nothing."""
        return new / self.rate


@frozen
class Measured:
    """Measured times of whole prompts, bent between the points as the model bends.

    The ratio of measured to modelled time is interpolated in log length and held beyond the first and last point.
    Without a model the times themselves are interpolated, both axes logarithmic, and grow with the length beyond.
    """

    title: str
    points: tuple[tuple[int, float], ...]  # (tokens, ratio to the model), or (tokens, log of s) without one; rising
    model: Prefill | None
    sources: tuple[Source, ...]
    live: float
    basis: Basis = "measured"

    def band(self, new: int) -> tuple[float, float]:  # noqa: ARG002
        """By how much longer a live engine took than times like these."""
        return 0.0, self.live

    def seconds(self, new: int, cached: int = 0) -> float:
        """Prefill of `new` tokens after `cached`: the model's time, corrected as the whole prompt's is."""
        prompt = new + cached
        if self.model is not None:
            return self.model.seconds(new, cached) * self.factor(prompt)
        return self._whole(prompt) - (self._whole(cached) if cached else 0.0)

    def factor(self, prompt: int) -> float:
        """Measured over modelled time at this length."""
        return _between(self.points, prompt)

    def _whole(self, prompt: int) -> float:
        first, last = self.points[0][0], self.points[-1][0]
        return math.exp(_between(self.points, prompt)) * prompt / min(max(prompt, first), last)

    def covers(self, prompt: int) -> bool:
        """Is the length between two measured ones?"""
        return self.points[0][0] <= prompt <= self.points[-1][0]


def measured(
    title: str, points: tuple[tuple[int, float], ...], model: Prefill | None, sources: tuple[Source, ...], live: float
) -> Measured:
    """A way from measured points (tokens, s), rising in tokens."""
    if model is None:
        return Measured(title, tuple((tokens, math.log(s)) for tokens, s in points), None, sources, live)
    return Measured(title, tuple((tokens, s / model.seconds(tokens)) for tokens, s in points), model, sources, live)


def _between(points: tuple[tuple[int, float], ...], tokens: int) -> float:
    """Linear in log tokens between the points, level outside them."""
    after = bisect_right(points, tokens, key=lambda point: point[0])
    if after == 0:
        return points[0][1]
    if after == len(points):
        return points[-1][1]
    (x0, y0), (x1, y1) = points[after - 1], points[after]
    return y0 + (y1 - y0) * math.log(tokens / x0) / math.log(x1 / x0)
