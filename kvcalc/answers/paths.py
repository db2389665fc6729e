"""The tiers a question is asked about, and the routes from each to the GPUs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, TypeVar

from kvcalc import units
from kvcalc.answers.options import Options
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.physics.transfer import Hop, Overhead, Route
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Direction, Engine, Tier
from kvcalc.profiles.sources import Corner, Figure, Range, Source, exactly, given

T = TypeVar("T")
CORNERS: tuple[Corner, ...] = ("fast", "typical", "slow")


@frozen
class Path:
    """One row of the answer: a tier and how many of its links are used, at the three corners of its ranges."""

    way: "Way"
    links: int
    fast: Route
    typical: Route
    slow: Route

    @property
    def tier(self) -> Tier:
        """The tier as this question has it."""
        return self.way.tier

    @property
    def sources(self) -> tuple[Source, ...]:
        """Of its bandwidth and of that one's range."""
        rate = self.tier.read.bandwidth
        return tuple(dict.fromkeys(each.source for each in (rate.typical, rate.low, rate.high)))

    def at(self, corner: Corner) -> Route:
        """The route at a corner of the ranges."""
        return {"fast": self.fast, "typical": self.typical, "slow": self.slow}[corner]


def tiers(machine: Machine, options: Options) -> tuple[Tier, ...]:
    """The node's tiers, or those picked of them, then the added ones; with the options' bandwidths and latencies."""
    own = {tier.name: tier for tier in machine.tiers}
    picked, added = {}, {}
    for word in options.tiers:
        name = match(word, machine.tiers)
        if name:
            picked[name] = own[name]
        else:
            tier = catalog.tier(word)
            added[tier.name] = tier
    chosen = (picked or own) | added  # a file of the user's takes the place of a namesake
    return _overridden(tuple(chosen.values()), options)


def match(word: str, known: Iterable[Tier]) -> str | None:
    """The tier that a word names: its name, else its medium or the beginning of its name if only one fits."""
    names = [tier.name for tier in known]
    if word in names:
        return word
    fitting = [tier.name for tier in known if tier.medium == word or tier.name.startswith(word)]
    if len(fitting) > 1:
        raise UserError(f"{shown(word)} fits several tiers: {', '.join(fitting)}; name one of them")
    return fitting[0] if fitting else None


def _overridden(chosen: tuple[Tier, ...], options: Options) -> tuple[Tier, ...]:
    bandwidth = by_tier(chosen, options.bandwidth, "--bandwidth")
    latency = by_tier(chosen, options.latency, "--latency")
    return tuple(_with(tier, bandwidth.get(tier.name), latency.get(tier.name)) for tier in chosen)


def by_tier(chosen: tuple[Tier, ...], given: Mapping[str, T], option: str) -> dict[str, T]:
    """What an option gives for each of the tiers by their names. Raises UserError for a tier that is not here."""
    names = [tier.name for tier in chosen]
    found: dict[str, T] = {}
    for word, value in given.items():
        name = match(word, chosen)
        if name in found:
            raise UserError(f"{option}: tier {name!r} is given twice")
        if name:
            found[name] = value
        elif word != "all":
            raise UserError(f"{option}: no tier {shown(word)} here; one of {', '.join(names)}, or add it with --tier")
    return dict.fromkeys(names, given["all"]) | found if "all" in given else found


def _with(tier: Tier, bandwidth: float | None, latency: float | None) -> Tier:
    read, ceiling, both = tier.read, tier.node_ceiling, tier.both_directions
    if bandwidth is not None:
        asked = _given(bandwidth, f"--bandwidth {tier.name}={units.exact(bandwidth, 'B/s')}")
        read = replace(read, bandwidth=asked)
        if ceiling and ceiling.typical.value < bandwidth:
            ceiling = asked  # one link carries what it is said to carry
        if both and both.value < bandwidth:
            both = None  # measured on another link than this one
    if latency is not None:
        read = replace(read, latency=_given(latency, f"--latency {tier.name}={units.exact(latency, 's')}"))
    return replace(tier, read=read, node_ceiling=ceiling, both_directions=both)


def _given(value: float, option: str) -> Range:
    return exactly(Figure(value, given(option)))


def paths(
    machine: Machine, chosen: tuple[Tier, ...], tp: int, engine: Engine, links: int | Literal["all"] | None
) -> tuple[Path, ...]:
    """Each tier over one link and over all of them, or over as many links as are asked for."""
    host = _host((*chosen, *machine.tiers))
    return tuple(_path(Way(tier, host, tp, engine), count) for tier in chosen for count in _links(tier, tp, links))


def _host(tiers: tuple[Tier, ...]) -> Tier | None:
    """The DRAM that other tiers pass through."""
    return next((tier for tier in tiers if tier.medium == "dram"), None)


@frozen
class Way:
    """A tier, the host's DRAM on the way from it, and who uses them."""

    tier: Tier
    host: Tier | None
    tp: int
    engine: Engine

    def route(self, links: int, corner: Corner) -> Route:
        """The hops over so many of the tier's links."""
        staged = self.host if self.tier.staging else None  # the host reads one copy, whatever the ranks load
        hops, latency = [_hop(self.tier, links, self.engine, corner, once=bool(staged))], _latency(self.tier, corner)
        if staged:
            hops.append(_hop(staged, available(staged, self.tp), self.engine, corner))
            latency += _latency(staged, corner)
        fixed = self.engine.fixed.value if self.engine.fixed else 0.0
        per_token = self.engine.per_token.value if self.engine.per_token else 0.0
        return Route(tuple(hops), latency, Overhead(fixed, per_token), self.tier.staging != "in-turn")


def _path(way: Way, links: int) -> Path:
    fast, typical, slow = (way.route(links, corner) for corner in CORNERS)
    return Path(way, links, fast, typical, slow)


def available(tier: Tier, tp: int) -> int:
    """Links of a tier that a request on `tp` GPUs can use."""
    return tp if tier.links == "per-gpu" else 1


def _links(tier: Tier, tp: int, asked: int | Literal["all"] | None) -> list[int]:
    most = available(tier, tp)
    if asked is None:
        return sorted({1, most})
    return [most if asked == "all" else min(asked, most)]


def _hop(tier: Tier, links: int, engine: Engine, corner: Corner, once: bool = False) -> Hop:
    ceiling = tier.node_ceiling.at(corner) if tier.node_ceiling else None
    copies = per_copy(engine, tier, tier.read)
    return Hop(tier.read.bandwidth.at(corner), copies, ceiling, links, once or engine.replicas == "broadcast")


def per_copy(engine: Engine, tier: Tier, way: Direction) -> float:
    """Seconds of each copy in one direction: the engine's between GPU and DRAM, else the tier's."""
    cost = engine.per_copy if engine.per_copy and tier.medium == "dram" else way.per_copy
    return cost.value if cost else 0.0


def _latency(tier: Tier, corner: Corner) -> float:
    """More of it is slower, so the corners change places."""
    backwards: dict[Corner, Corner] = {"fast": "slow", "typical": "typical", "slow": "fast"}
    return tier.read.latency.at(backwards[corner]) if tier.read.latency else 0.0
