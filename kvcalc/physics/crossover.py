"""Where fetching and recomputing meet: margin, verdict, crossover lengths, the split of a prefix between both."""

import itertools
import math
from collections.abc import Callable
from typing import Literal

Verdict = Literal["restore", "marginal", "recompute"]
Times = Callable[[int], float]  # seconds for a prefix of so many tokens

BEST_FIRST: tuple[Verdict, ...] = ("restore", "marginal", "recompute")
FINE = 1000  # a prefix is split at one of so many places, or at any token of a shorter one
NEAR = 1e-12  # of a length: as near as a crossover is looked for
LONGEST = 10_000_000  # tokens; as far as crossovers are looked for


def verdict(margin: float, least: float) -> Verdict:
    """`restore` from a margin of `least`, `recompute` below 1, `marginal` between."""
    if margin < 1:
        return "recompute"
    return "restore" if margin >= least else "marginal"


def lengths(steps_a_decade: int = 6) -> list[int]:
    """Prompt lengths from 1 to LONGEST tokens in even logarithmic steps."""
    last = round(math.log10(LONGEST) * steps_a_decade)
    return sorted({round(10 ** (step / steps_a_decade)) for step in range(last + 1)})


def changes(gains: list[float], grid: list[int], gain: Times) -> list[int]:
    """The first length after each change of sign of `gain`, whose values on `grid` are `gains`.

    Recompute has a floor, so fetching can win, lose and win again: every change of sign on the grid is bisected.
    """
    found = []
    for (below, above), (before, after) in zip(itertools.pairwise(grid), itertools.pairwise(gains), strict=True):
        if (before > 0) != (after > 0):
            found.append(_bisect(gain, below, above, before > 0))
    return found


def _bisect(gain: Times, below: int, above: int, positive: bool) -> int:
    while above - below > 1:
        middle = (below + above) // 2
        if (gain(middle) > 0) == positive:
            below = middle
        else:
            above = middle
    return above


def meeting(gain: Callable[[float], float], after: int) -> float:
    """Where, in fractions of a token, `gain` changes its sign within the token before `after`."""
    low, high = after - 1.0, float(after)
    positive = gain(high) > 0
    while high - low > high * NEAR:
        middle = (low + high) / 2
        if (gain(middle) > 0) == positive:
            high = middle
        else:
            low = middle
    return high


def split(recompute: Times, fetch: Times, tokens: int) -> float:
    """Seconds when the head of the prefix is computed while its tail is loading.

    The least over x of max(recompute(x), fetch(tokens - x)), with nothing to do at either end taking no time.
    """

    def ahead(x: int) -> float:
        """Seconds by which computing ends after loading: below zero at 0, above it at `tokens`."""
        return _time(recompute, x) - _time(fetch, tokens - x)

    low, high, near = 0, tokens, max(1, tokens // FINE)
    below, above = ahead(low), ahead(high)
    while high - low > near:
        straight = low + round((high - low) * below / (below - above))  # both are nearly straight lines
        for guess in (straight - near // 2, straight + near // 2, (low + high) // 2):
            if low < guess < high:
                found = ahead(guess)
                low, below, high, above = (guess, found, high, above) if found < 0 else (low, below, guess, found)
    return min(max(_time(recompute, x), _time(fetch, tokens - x)) for x in (0, low, high, tokens))


def _time(times: Times, tokens: int) -> float:
    return times(tokens) if tokens else 0.0
