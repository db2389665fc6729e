"""One replica: a queue, a prefill of one request at a time, and the blocks that it finds, fetches and keeps.

A request is served as soon as the GPU is free and its blocks have arrived, the first such in the queue first. Its time
to first token ends with its prefill; decoding is not modelled.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import inf

from kvcalc.simulate.arrivals import Arrival
from kvcalc.simulate.fetching import Choice
from kvcalc.simulate.service import Rules, Service
from kvcalc.simulate.store import Line, Ordered, Store
from kvcalc.simulate.tally import Tally
from kvcalc.tiered.admission import ADMISSIONS
from kvcalc.tiered.blocks import GPU, Lease
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.movers import TimedMover
from kvcalc.tiered.orders import ORDERS
from kvcalc.tiered.pools import Pool


class Clock:
    """The time of the replay."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Seconds since the first arrival."""
        return self.now_s


@dataclass(slots=True, eq=False)
class Waiting:
    """A request in the queue, and what is being fetched for it."""

    arrival: Arrival
    lease: Lease | None = None  # its prefetched blocks
    ordered: Ordered | None = None  # from the store
    sources: list[int] = field(default_factory=list)  # blocks that are fetched, by tier, those of the store last
    saves_s: float = 0.0  # of prefill, by what is fetched
    since_s: float = 0.0

    def has_arrived(self, now: float) -> bool:
        """Are the blocks there?"""
        return (self.lease is None or self.lease.ready) and (self.ordered is None or self.ordered.arrives_s <= now)


class Replica:
    """A server of requests by the `clock`. `next_s` is when it has to `step` again."""

    def __init__(
        self, service: Service, rules: Rules, clock: Clock, store: Store | None, lines: tuple[Line, ...]
    ) -> None:
        """`lines` lead from and to the store."""
        self.tally = Tally(len(service.tiers) + 2)
        self.outstanding_tokens = 0
        self.next_s = inf
        self._service, self._rules, self._clock = service, rules, clock
        self._store, self._lines = store, lines
        self.mover, self.manager = _manager(service, rules, clock)
        self._choice = Choice(service, rules, self.manager)
        self._queue: deque[Waiting] = deque()
        self._fetching: list[Waiting] = []
        self._current: Waiting | None = None
        self._lease: Lease | None = None
        self._since_s = 0.0  # the current request's turn began
        self._ends_s: float | None = None  # of the prefill; None while the GPU waits for blocks

    def admit(self, arrival: Arrival) -> None:
        """A request arrives."""
        self.outstanding_tokens += arrival.tokens
        waiting = Waiting(arrival)
        if self._rules.prefetch:
            self._prefetch(waiting)
        self._queue.append(waiting)
        self.step()

    def step(self) -> None:
        """Do what is due by now."""
        now = self._clock.now_s
        self.manager.poll()
        if self._fetching:
            self._note_arrived(now)
        if self._ends_s is not None and self._ends_s <= now and self._ready:
            self._finish(now)
        if self._current is None and self._queue:
            self._begin(now)
        if self._current is not None and self._ends_s is None:
            self._compute(now)
        self.next_s = self._next(now)

    @property
    def _ready(self) -> bool:
        """Has the current request all its slots?"""
        return self._lease is not None and self._lease.ready

    def _prefetch(self, waiting: Waiting) -> None:
        """Begin to fetch what a lower tier or the store has, if there is room and it is worth it."""
        near, far = self._choice.reach(waiting.arrival)
        if far > near or (far and self._store is not None):
            waiting.lease = self.manager.acquire(waiting.arrival.keys[:far])
            if waiting.lease is None:
                return
            self._expect(waiting, near, far, waiting.lease.found)
        self._order(waiting, far)

    def _order(self, waiting: Waiting, have: int) -> None:
        """Fetch from the store what it has beyond the first `have` blocks, which are held."""
        if self._store is None:
            return
        arrival, now = waiting.arrival, self._clock.now_s
        found = self._store.cached(arrival.keys, now)
        if found <= have or not self._choice.wins(arrival, have, found, self._lines[0].seconds(found - have)):
            return
        held = self._store.hold(arrival.keys[:found])
        if held is not None:
            waiting.ordered = Ordered(held, found, self._lines[0].carry(found - have, now))
            self._expect(waiting, have, found, (*[0] * (len(self._service.tiers) + 1), found - have))

    def _expect(self, waiting: Waiting, near: int, far: int, found: Sequence[int]) -> None:
        """Blocks from `near` to `far` have begun to come, so many from each tier."""
        if far <= near or not sum(found[1:]):
            return
        if waiting not in self._fetching:
            waiting.since_s = self._clock.now_s
            self._fetching.append(waiting)
        before = waiting.sources or [0] * (len(self._service.tiers) + 2)
        waiting.sources = [each + more for each, more in zip_longest(before, found, fillvalue=0)]
        waiting.saves_s += self._choice.saves(waiting.arrival, near, far)

    def _note_arrived(self, now: float) -> None:
        still = []
        for waiting in self._fetching:
            if waiting.has_arrived(now) and (waiting is not self._current or (self._lease and self._lease.arrived)):
                self.tally.fetched += 1
                self.tally.lost += now - waiting.since_s > waiting.saves_s
            else:
                still.append(waiting)
        self._fetching = still

    def _begin(self, now: float) -> None:
        """Take the first request whose blocks have arrived off the queue; the GPU waits for what else it needs."""
        waiting = next((each for each in self._queue if each.has_arrived(now)), None)
        if waiting is None:
            return
        near, far = self._choice.reach(waiting.arrival)
        lease = self.manager.acquire(waiting.arrival.keys, far)
        while lease is None and self._give_back(waiting):
            lease = self.manager.acquire(waiting.arrival.keys, far)
        if lease is None:
            return
        self._queue.remove(waiting)
        self._current, self._lease = waiting, lease
        self._since_s = now
        self._expect(waiting, near, far, lease.found)
        if waiting.lease is not None:
            self.manager.release(waiting.lease)
            waiting.lease = None
        if waiting.ordered is None:
            self._order(waiting, lease.cached)

    def _give_back(self, keeping: Waiting) -> bool:
        """Take a prefetch back, the last one first: HBM is full of them."""
        for waiting in reversed(self._queue):
            if waiting.lease is not None and waiting is not keeping:
                self.manager.release(waiting.lease)
                if self._store is not None and waiting.ordered is not None:
                    self._store.let_go(waiting.ordered.lease)
                waiting.lease, waiting.ordered, waiting.sources, waiting.saves_s = None, None, [], 0.0
                self._fetching = [each for each in self._fetching if each is not waiting]
                return True
        return False

    def _compute(self, now: float) -> None:
        waiting, lease = self._current, self._lease
        assert waiting is not None
        assert lease is not None
        if not lease.arrived or not waiting.has_arrived(now):
            return
        self._note_arrived(now)
        arrival = waiting.arrival
        cached = max(lease.cached, waiting.ordered.blocks if waiting.ordered else 0)
        covered = arrival.covered(cached)
        used = min(covered, arrival.tokens - 1)  # the last token is computed in any case
        seconds = self._service.prefill(arrival.tokens - used, used)
        self._ends_s = now + seconds
        self.tally.served(arrival, cached, covered, waiting.sources)
        self.tally.busy_s += seconds
        self.tally.held_s += now - self._since_s
        self.tally.whole_s += self._service.prefill(arrival.tokens, 0)

    def _finish(self, now: float) -> None:
        waiting, lease = self._current, self._lease
        assert waiting is not None
        assert lease is not None
        self.manager.publish(lease)
        self.manager.release(lease)
        if self._store is not None:
            if waiting.ordered is not None:
                self._store.let_go(waiting.ordered.lease)
            self._store.put(waiting.arrival.keys, self._lines[1], now)
        self.outstanding_tokens -= waiting.arrival.tokens
        self.tally.finish(waiting.arrival, now)
        self._current = self._lease = self._ends_s = None

    def _next(self, now: float) -> float:
        if self._current is None and not self._queue:
            return inf
        ends = self._ends_s
        found = ends if ends is not None and (ends > now or self._ready) else inf
        if self._fetching or found == inf:
            moves = self.mover.next_end()
            found = min(found, inf if moves is None else moves)
            orders = [waiting.ordered.arrives_s for waiting in self._fetching if waiting.ordered is not None]
            found = min([found, *(each for each in orders if each > now)])
        return found


def _manager(service: Service, rules: Rules, clock: Clock) -> tuple[TimedMover, BlockManager]:
    links = {}
    for tier, each in enumerate(service.tiers, 1):
        links[tier, GPU] = each.read
        links[tier - 1, tier] = each.write
    mover = TimedMover(service.block_bytes, links, clock)
    made, hbm = ORDERS[rules.policy], service.hbm_blocks
    pools = [Pool(hbm, made()), *(Pool(each.blocks, made(), staging=service.staging_blocks) for each in service.tiers)]
    remembered = sum(pool.capacity for pool in pools)
    return mover, BlockManager(pools, mover, ADMISSIONS[rules.admission](remembered), rules.inclusive)
