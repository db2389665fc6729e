"""Whether to fetch: how far into a request's blocks fetching wins, tier by tier."""

from itertools import groupby

from kvcalc.simulate.arrivals import Arrival
from kvcalc.simulate.service import Rules, Service
from kvcalc.simulate.store import Line
from kvcalc.tiered.blocks import GPU
from kvcalc.tiered.manager import BlockManager


class Choice:
    """The chapter's decision for each request: recompute time against fetch time, by links that are free."""

    def __init__(self, service: Service, rules: Rules, manager: BlockManager) -> None:
        self._prefill = service.prefill
        self._least = rules.least_margin
        self._manager = manager
        self._lines = [Line(tier.read, service.block_bytes) for tier in service.tiers]

    def reach(self, arrival: Arrival) -> tuple[int, int]:
        """How many of the first blocks are in HBM, and how many are to be had with those that are fetched."""
        found = self._manager.cached(arrival.keys)
        if not self._lines or not found:
            return found, found
        near = reached = 0
        for tier, run in groupby(arrival.keys[:found], self._tier):
            blocks = sum(1 for _ in run)
            if tier == GPU:
                near += blocks if near == reached else 0
            elif not self.wins(arrival, reached, reached + blocks, self._lines[tier - 1].seconds(blocks)):
                break
            reached += blocks
        return near, reached

    def _tier(self, key: int) -> int:
        address = self._manager.address(key)
        assert address is not None
        return address.tier

    def wins(self, arrival: Arrival, near: int, far: int, fetch_s: float) -> bool:
        """Does fetching the blocks from `near` to `far` beat computing them?"""
        return not self._least or self.saves(arrival, near, far) > self._least * fetch_s

    def saves(self, arrival: Arrival, near: int, far: int) -> float:
        """Seconds of prefill that the blocks from `near` to `far` save."""
        return self.seconds(arrival, near) - self.seconds(arrival, far)

    def seconds(self, arrival: Arrival, cached: int) -> float:
        """The prefill after so many cached blocks; the last token is computed in any case."""
        used = min(arrival.covered(cached), arrival.tokens - 1)
        return self._prefill(arrival.tokens - used, used)
