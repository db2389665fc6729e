"""What is counted while requests are served."""

from array import array
from collections.abc import Sequence

from kvcalc.simulate.arrivals import Arrival


class Tally:
    """Counts of one replica. `hits` are blocks by tier, HBM first and the shared store last."""

    def __init__(self, places: int) -> None:
        self.hits = [0] * places
        self.blocks = self.tokens = self.hit_tokens = 0
        self.fetched = self.lost = (
            0  # requests that waited for blocks; those whose blocks came later than computing them
        )
        self.busy_s = self.held_s = self.whole_s = 0.0  # prefill; waiting for blocks; prefill if nothing were cached
        self.last_s = 0.0
        self.numbers = array("q")
        self.ttft_s = array("d")

    def served(self, arrival: Arrival, cached: int, tokens: int, fetched: Sequence[int]) -> None:
        """A request begins to be computed after so many cached blocks that cover so many tokens; some were fetched."""
        self.blocks += len(arrival.keys)
        self.hits[0] += cached - sum(fetched)
        for tier, blocks in enumerate(fetched):
            self.hits[tier] += blocks
        self.tokens += arrival.tokens
        self.hit_tokens += tokens

    def finish(self, arrival: Arrival, now: float) -> None:
        """Its first token is there."""
        self.numbers.append(arrival.number)
        self.ttft_s.append(now - arrival.at_s)
        self.last_s = now
