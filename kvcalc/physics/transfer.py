"""How long a restore takes: links and what they share, copies, hops on the way, and what an engine adds.

A hop has `links` equal links side by side. The busiest, with `b` bytes in `c` copies, takes `c*per_copy + b/B`; where
all bytes of the hop take longer than `b/B` over the ceiling that its links share, that decides. Where hops are
pipelined the slowest decides; otherwise their times add.
"""

from typing import NamedTuple

from kvcalc.frozen import frozen
from kvcalc.physics import kv as sizes
from kvcalc.profiles.model import Chunked, Compressed, Cross, Full, Indexer, Latent, LayerGroup, Model, Sliding


class Part(NamedTuple):
    """One layer group of a restore. A tuple, since an answer makes thousands."""

    bytes: int  # one copy
    copies: int  # that one rank makes
    shards: int  # different parts under tensor parallelism; ranks beyond hold the same bytes again


class Shared(NamedTuple):
    """How a load is spread over links. A tuple, since an answer makes thousands."""

    bytes: float  # on the busiest link
    copies: float  # on the busiest link
    together: float  # bytes on all links


class Load:
    """What a restore moves. Contiguous: each link makes one copy of all it carries."""

    def __init__(self, tokens: int, parts: tuple[Part, ...], contiguous: bool, ranks: int) -> None:
        self.tokens, self.parts, self.contiguous, self.ranks = tokens, parts, contiguous, ranks
        self.shards = min((part.shards for part in parts), default=1)  # over so many links nothing is carried twice
        self._links: dict[int, Shared] = {}  # by links; below zero without a broadcast

    def over(self, links: int, broadcast: bool) -> Shared:
        """The load over `links` links.

        Broadcast: links carry even shares of one copy, and GPUs pass on what others need; with more links than shards
        the same bytes are carried again. Otherwise every rank loads what it holds, and links carry whole ranks.
        """
        key = links if broadcast else -links
        found = self._links.get(key)
        if found is None:
            found = self._links[key] = self._shares(links) if broadcast else self._whole(links)
        return found

    def _shares(self, links: int) -> Shared:
        moved = sum(part.bytes / min(links, part.shards) for part in self.parts)
        copies = 1.0 if self.contiguous else sum(part.copies * max(1.0, part.shards / links) for part in self.parts)
        return Shared(moved, copies, moved * links)

    def _whole(self, links: int) -> Shared:
        busiest = -(-self.ranks // links)
        held = sum(part.bytes / part.shards for part in self.parts)
        copies = 1 if self.contiguous else sum(part.copies for part in self.parts)
        return Shared(busiest * held, busiest * copies, self.ranks * held)


@frozen
class Hop:
    """One stretch of the way from a tier to the GPUs."""

    bandwidth: float  # bytes/s of one link, one direction
    per_copy: float  # s
    ceiling: float | None  # bytes/s of all links together
    links: int
    broadcast: bool  # one copy is carried and GPUs pass it on, so links may stay idle; otherwise one a rank

    def moving(self, share: Shared) -> float:
        """Seconds in which bytes move: the busiest link's, or all bytes under the ceiling."""
        alone = share.bytes / self.bandwidth
        together = share.together / self.ceiling if self.ceiling else 0.0
        return alone if alone > together else together

    def seconds(self, load: Load, links: int) -> float:
        """Over so many of the links, latency apart."""
        share = load.over(links, self.broadcast)
        return share.copies * self.per_copy + self.moving(share)

    def quickest(self, load: Load) -> float:
        """Seconds over as many links as carry the load quickest."""
        return self.seconds(load, self.busy(load))

    def busy(self, load: Load) -> int:
        """How many links carry the load quickest: all, unless ranks hold the same bytes and may share them."""
        if not self.broadcast or load.shards >= self.links:
            return self.links
        return min(range(1, self.links + 1), key=lambda links: self.seconds(load, links))

    def carry(self, load: Load) -> "Carried":
        """The quickest way over this hop."""
        links = self.busy(load)
        share = load.over(links, self.broadcast)
        moving = self.moving(share)
        return Carried(share.copies * self.per_copy + moving, moving, links, share)


@frozen
class Carried:
    """How a hop carries a load."""

    seconds: float
    moving: float  # s of them in which bytes move
    links: int  # that are busy
    share: Shared

    @property
    def rate(self) -> float:
        """Bytes/s of all busy links together."""
        return self.share.together / self.moving


@frozen
class Overhead:
    """What an engine adds to the copies."""

    fixed: float = 0.0  # s, once
    per_token: float = 0.0  # s

    def seconds(self, tokens: int) -> float:
        """For a restore of `tokens` tokens."""
        return self.fixed + self.per_token * tokens


@frozen
class Fetch:
    """One restore over one path: its time and what that is made of."""

    seconds: float
    own: Carried  # over the tier's own links
    own_fixed: float  # s that no bandwidth of the tier's own links shortens
    fixed: float  # s that no bandwidth of the slowest hop shortens

    @property
    def rate(self) -> float:
        """Bytes/s that the tier's links deliver, whichever hop holds them up: seconds = fixed + all bytes / rate."""
        return self.own.share.together / (self.seconds - self.fixed)


@frozen
class Route:
    """The hops from a tier to the GPUs, and what the engine adds."""

    hops: tuple[Hop, ...]
    latency: float  # s, of all hops together
    overhead: Overhead
    pipelined: bool = True

    def seconds(self, load: Load) -> float:
        """Time to restore `load`: latency, then the slowest hop or all hops in turn, then the engine."""
        waiting, hops = self._waiting(load), self.hops
        if len(hops) == 1:
            return waiting + hops[0].quickest(load)
        times = [hop.quickest(load) for hop in hops]
        return waiting + (max(times) if self.pipelined else sum(times))

    def _waiting(self, load: Load) -> float:
        return self.latency + self.overhead.seconds(load.tokens)

    def fetch(self, load: Load) -> Fetch:
        """The same with what it is made of."""
        own, *rest = (hop.carry(load) for hop in self.hops)
        copies = [carried.seconds - carried.moving for carried in (own, *rest)]
        waiting, rest_s = self._waiting(load), [carried.seconds for carried in rest]
        in_turn = 0.0 if self.pipelined else sum(rest_s)
        others = max(rest_s, default=0.0) if self.pipelined else 0.0
        slowest = copies[1 + rest_s.index(others)] if others > own.seconds else copies[0]
        seconds = waiting + in_turn + max(own.seconds, others)
        return Fetch(seconds, own, waiting + in_turn + copies[0], waiting + in_turn + slowest)


@frozen
class Pages:
    """How the cache lies in memory: a copy is one page of one of these layouts, or everything at once."""

    layout: str  # contiguous, cross-layer, per-layer, per-layer-kv
    latent_layout: str  # of latent caches
    tokens: int  # of a page

    def copies(self, group: LayerGroup, pages: int) -> int:
        """Of one rank, which holds so many pages of the group."""
        latent = isinstance(group, Latent | Indexer | Compressed)
        layout = self.latent_layout if latent else self.layout
        if layout in ("contiguous", "cross-layer"):
            return pages
        apart = 2 if layout == "per-layer-kv" and isinstance(group, Full | Sliding | Chunked | Cross) else 1
        return pages * group.layers * apart


class Loads:
    """What restoring a prefix of any length moves, worked out once for each length."""

    def __init__(self, model: Model, kv: str, tp: int, pages: Pages) -> None:
        """`kv` is a stored format."""
        self.model, self.kv, self.tp, self.pages = model, kv, tp, pages
        self._found: dict[int, Load] = {}
        self.fetched: dict[Route, list[float]] = {}  # times at the usual lengths, of routes that several nodes have

    def __call__(self, tokens: int) -> Load:
        """For a prefix of so many tokens."""
        found = self._found.get(tokens)
        if found is None:
            contiguous = self.pages.layout == "contiguous"
            found = self._found[tokens] = Load(tokens, self._parts(tokens), contiguous, self.tp)
        return found

    def _parts(self, tokens: int) -> tuple[Part, ...]:
        sized = ((group, sizes.group_bytes(group, tokens, self.kv)) for group in self.model.groups)
        return tuple(
            Part(size, self._copies(group, tokens), sizes.shards(group, self.tp)) for group, size in sized if size
        )

    def _copies(self, group: LayerGroup, tokens: int) -> int:
        """Of one rank."""
        pages = -(-sizes.held(group, tokens) // self.pages.tokens) or 1  # a state is one page
        return self.pages.copies(group, pages)
