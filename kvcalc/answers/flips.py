"""What would change a verdict: for each knob the nearest value at which it turns."""

import math
from collections.abc import Callable, Iterator
from typing import Literal

from kvcalc.frozen import frozen
from kvcalc.physics import crossover
from kvcalc.physics.crossover import BEST_FIRST, Verdict
from kvcalc.physics.transfer import Fetch

JUST = 1e-9  # a knob is tried so far past its turn
Knob = Literal["bandwidth_bytes_per_s", "prefill_tokens_per_s", "tokens", "links"]


@frozen
class Flip:
    """Turn this knob to this value, all else as it is, and the verdict becomes this one."""

    knob: Knob
    now: float
    value: float
    verdict: Verdict

    @property
    def distance(self) -> float:
        """How far the knob has to be turned, in decades."""
        return abs(math.log10(self.value / self.now))


@frozen
class State:
    """A path as it is now, and how its margin depends on the knobs."""

    tokens: int
    recompute_s: float
    fetch: Fetch
    links: int
    least: float  # the margin from which the verdict is restore
    margin: Callable[[int], float]  # by prompt length
    grid: list[int]
    margins: list[float]  # on the grid
    most_links: int
    with_links: Callable[[int], float]  # margin by number of links
    with_bandwidth: Callable[[float], float]  # margin by bytes/s of the tier's busy links together

    @property
    def verdict(self) -> Verdict:
        """The verdict as it is now."""
        return crossover.verdict(self.recompute_s / self.fetch.seconds, self.least)


def flips(state: State) -> tuple[Flip, ...]:
    """Every knob's nearest turn, the nearest first."""
    found = [*_bandwidth(state), *_prefill(state), *_length(state), *_links(state)]
    return tuple(sorted(found, key=lambda flip: flip.distance))


def _turns(state: State) -> Iterator[tuple[float, Verdict]]:
    """The margins at which the verdict becomes the next worse or the next better one."""
    place = BEST_FIRST.index(state.verdict)
    if state.verdict != "recompute":
        yield (state.least, "marginal") if place == 0 else (1.0, "recompute")
    if state.verdict != "restore":
        yield (state.least, "restore") if place == 1 else (1.0, "marginal")


def _bandwidth(state: State) -> Iterator[Flip]:
    """Of the tier's own links together; none where another hop, a ceiling or other links would then decide."""
    now = state.fetch.own.rate
    for margin, verdict in _turns(state):
        left = state.recompute_s / margin - state.fetch.own_fixed
        if left > 0:
            value = state.fetch.own.share.together / left
            beyond = value * (1 + JUST if value > now else 1 - JUST)
            if crossover.verdict(state.with_bandwidth(beyond), state.least) == verdict:
                yield Flip("bandwidth_bytes_per_s", now, value, verdict)


def _prefill(state: State) -> Iterator[Flip]:
    now = state.tokens / state.recompute_s
    for margin, verdict in _turns(state):
        yield Flip("prefill_tokens_per_s", now, state.tokens / (margin * state.fetch.seconds), verdict)


def _length(state: State) -> Iterator[Flip]:
    """The nearest shorter and longer prompt with another verdict."""
    verdicts = [crossover.verdict(margin, state.least) for margin in state.margins]
    shorter = [at for at, tokens in enumerate(state.grid) if tokens < state.tokens and verdicts[at] != state.verdict]
    longer = [at for at, tokens in enumerate(state.grid) if tokens > state.tokens and verdicts[at] != state.verdict]
    for at in (shorter[-1:], longer[:1]):
        for place in at:
            value = _edge(state, state.grid[place])
            yield Flip("tokens", state.tokens, value, crossover.verdict(state.margin(value), state.least))


def _edge(state: State, outside: int) -> int:
    """The length nearest to the present one, between it and `outside`, that has another verdict."""
    inside = state.tokens
    while abs(outside - inside) > 1:
        middle = (outside + inside) // 2
        if crossover.verdict(state.margin(middle), state.least) == state.verdict:
            inside = middle
        else:
            outside = middle
    return outside


def _links(state: State) -> Iterator[Flip]:
    """The nearest smaller and larger number of links with another verdict."""
    for counts in (range(state.links - 1, 0, -1), range(state.links + 1, state.most_links + 1)):
        for links in counts:
            if _verdict(state, links) != state.verdict:
                yield Flip("links", state.links, links, _verdict(state, links))
                break


def _verdict(state: State, links: int) -> Verdict:
    return crossover.verdict(state.with_links(links), state.least)
