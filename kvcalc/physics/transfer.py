"""How long a restore takes: links and what they share, copies, hops on the way, and what an engine adds.

A hop has `links` equal links side by side. A link that carries `b` bytes in `c` copies takes `c*per_copy + b/B`, where B
is the least of its own bandwidth and its share of the hop's ceiling. Where hops are pipelined the slowest decides; otherwise their times add.
"""

from dataclasses import dataclass

from kvcalc.physics import kv as sizes
from kvcalc.profiles.model import Full, LayerGroup, Model, Sliding


@dataclass(frozen=True, slots=True)
class Part:
    """One layer group of a restore."""

    bytes: int  # one copy
    copies: int  # that one rank makes
    shards: int  # different parts under tensor parallelism; ranks beyond hold the same bytes again


@dataclass(frozen=True, slots=True)
class Load:
    """What a restore moves. Contiguous: each link makes one copy of all it carries."""

    tokens: int
    parts: tuple[Part, ...]
    contiguous: bool

    @property
    def bytes(self) -> int:
        """One copy of everything."""
        return sum(part.bytes for part in self.parts)

    def on_link(self, links: int) -> tuple[float, float]:
        """Bytes and copies of the busiest of `links` links.

        With fewer links than shards a link carries several; with more, links carry the same bytes again.
        """
        moved = sum(part.bytes / min(links, part.shards) for part in self.parts)
        if self.contiguous:
            return moved, 1.0
        return moved, sum(part.copies * max(1.0, part.shards / links) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Hop:
    """One stretch of the way from a tier to the GPUs."""

    bandwidth: float  # bytes/s of one link, one direction
    latency: float  # s, once
    per_copy: float  # s
    ceiling: float | None  # bytes/s of all links together
    links: int
    broadcast: bool  # links not needed may stay idle, since GPUs pass replicas on among themselves

    def rate(self, links: int) -> float:
        """Bytes/s of one of `links` busy links."""
        return self.bandwidth if self.ceiling is None else min(self.bandwidth, self.ceiling / links)

    def carry(self, load: Load) -> "Carried":
        """The quickest way over this hop."""
        counts = range(self.links, 0, -1) if self.broadcast else (self.links,)
        return min((self._over(load, links) for links in counts), key=lambda way: way.seconds * (1 - 1e-12 * way.links))

    def _over(self, load: Load, links: int) -> "Carried":
        moved, copies = load.on_link(links)
        rate = self.rate(links)
        return Carried(copies * self.per_copy + moved / rate, links, copies, moved * links, rate * links)


@dataclass(frozen=True, slots=True)
class Carried:
    """How a hop carries a load."""

    seconds: float
    links: int  # that are busy
    copies: float  # on each link
    bytes: float  # over all links
    rate: float  # bytes/s of all busy links together


@dataclass(frozen=True, slots=True)
class Overhead:
    """What an engine adds to the copies."""

    fixed: float = 0.0  # s, once
    per_token: float = 0.0  # s

    def seconds(self, tokens: int) -> float:
        """For a restore of `tokens` tokens."""
        return self.fixed + self.per_token * tokens


@dataclass(frozen=True, slots=True)
class Fetch:
    """One restore over one path: its time, and the hop that decides it."""

    seconds: float
    fixed: float  # s that no bandwidth shortens: latency, copies, engine
    slowest: Carried


@dataclass(frozen=True, slots=True)
class Route:
    """The hops from a tier to the GPUs, and what the engine adds."""

    hops: tuple[Hop, ...]
    overhead: Overhead
    pipelined: bool = True

    def fetch(self, load: Load) -> Fetch:
        """Time to restore `load`: latency, then the slowest hop or all hops in turn, then the engine."""
        carried = [(hop.carry(load), hop) for hop in self.hops]
        slowest, hop = max(carried, key=lambda pair: pair[0].seconds)
        others = 0.0 if self.pipelined else sum(each.seconds for each, _ in carried) - slowest.seconds
        fixed = sum(each.latency for each in self.hops) + self.overhead.seconds(load.tokens) + others
        return Fetch(fixed + slowest.seconds, fixed + slowest.copies * hop.per_copy, slowest)


def load(model: Model, tokens: int, kv: str, tp: int, layout: str, latent_layout: str, page: int) -> Load:
    """What restoring `tokens` tokens moves; `kv` is a stored format, layouts as in engine profiles, `page` in tokens."""
    parts = []
    for group in model.groups:
        size = sizes.group_bytes(group, tokens, kv)
        if size:
            chosen = layout if isinstance(group, Full | Sliding) or layout == "contiguous" else latent_layout
            parts.append(Part(size, _copies(group, tokens, chosen, page), sizes.shards(group, tp)))
    return Load(tokens, tuple(parts), layout == "contiguous")


def _copies(group: LayerGroup, tokens: int, layout: str, page: int) -> int:
    pages = -(-sizes.held(group, tokens) // page) or 1
    if layout in ("contiguous", "cross-layer"):
        return pages
    apart = 2 if layout == "per-layer-kv" and hasattr(group, "key_width") else 1
    return pages * group.layers * apart
