"""The tiers a question is asked about, and the routes from each to the GPUs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from kvcalc import units
from kvcalc.answers.options import Options
from kvcalc.errors import UserError
from kvcalc.physics.transfer import Hop, Overhead, Route
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Engine, Tier
from kvcalc.profiles.sources import Corner, Figure, Range, Source, exactly

CORNERS: tuple[Corner, ...] = ("fast", "typical", "slow")


@dataclass(frozen=True, slots=True)
class Path:
    """One row of the answer: a tier and how many of its links are used, at the three corners of its ranges."""

    tier: Tier
    links: int
    fast: Route
    typical: Route
    slow: Route


def tiers(machine: Machine, options: Options) -> tuple[Tier, ...]:
    """The node's tiers, or those picked of them, then the added ones; with the options' bandwidths and latencies."""
    own = {tier.name: tier for tier in machine.tiers}
    picked, added = [], []
    for word in options.tiers:
        name = _match(word, machine.tiers)
        if name:
            picked.append(own[name])
        else:
            added.append(catalog.tier(word))
    chosen = (*(picked or machine.tiers), *added)
    return _overridden(chosen, options)


def _match(word: str, known: Iterable[Tier]) -> str | None:
    """The tier that a word names: its name, else its medium or the beginning of its name if only one fits."""
    names = [tier.name for tier in known]
    if word in names:
        return word
    fitting = [tier.name for tier in known if tier.medium == word or tier.name.startswith(word)]
    if len(fitting) > 1:
        raise UserError(f"{word!r} fits several tiers: {', '.join(fitting)}; name one of them")
    return fitting[0] if fitting else None


def _overridden(chosen: tuple[Tier, ...], options: Options) -> tuple[Tier, ...]:
    bandwidth = _by_tier(chosen, options.bandwidth, "--bandwidth")
    latency = _by_tier(chosen, options.latency, "--latency")
    return tuple(_with(tier, bandwidth.get(tier.name), latency.get(tier.name)) for tier in chosen)


def _by_tier(chosen: tuple[Tier, ...], given: Mapping[str, float], option: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for word, value in given.items():
        names = [tier.name for tier in chosen]
        name = _match(word, chosen)
        if word == "all":
            found |= dict.fromkeys(names, value)
        elif name is None:
            raise UserError(f"{option}: no tier {word!r} here; one of {', '.join(names)}, or add it with --tier")
        else:
            found[name] = value
    return found


def _with(tier: Tier, bandwidth: float | None, latency: float | None) -> Tier:
    changes: dict[str, object] = {}
    if bandwidth is not None:
        changes["bandwidth"] = _given(bandwidth, f"--bandwidth {tier.name}={units.exact(bandwidth, 'B/s')}")
    if latency is not None:
        changes["latency"] = _given(latency, f"--latency {tier.name}={units.exact(latency, 's')}")
    return tier.model_copy(update={"read": tier.read.model_copy(update=changes)}) if changes else tier


def _given(value: float, option: str) -> Range:
    source = Source(title="given on the command line", address=option, basis="given", checked=date.today())
    return exactly(Figure(value, source))


def paths(machine: Machine, chosen: tuple[Tier, ...], tp: int, engine: Engine, options: Options) -> tuple[Path, ...]:
    """Each tier over one link and over all of them, or over as many links as the options ask for."""
    host = next((tier for tier in chosen if tier.medium == "dram"), None)
    host = host or next((tier for tier in machine.tiers if tier.medium == "dram"), None)
    rows = []
    for tier in chosen:
        for links in _links(tier, tp, options):
            fast, typical, slow = (_route(tier, host, links, tp, engine, corner) for corner in CORNERS)
            rows.append(Path(tier, links, fast, typical, slow))
    return tuple(rows)


def available(tier: Tier, tp: int) -> int:
    """Links of a tier that a request on `tp` GPUs can use."""
    return tp if tier.links == "per-gpu" else 1


def _links(tier: Tier, tp: int, options: Options) -> list[int]:
    most = available(tier, tp)
    if options.links == "all":
        return [most]
    if options.links is not None:
        return [min(options.links, most)]
    return sorted({1, most})


def _route(tier: Tier, host: Tier | None, links: int, tp: int, engine: Engine, corner: Corner) -> Route:
    shares = engine.replicas == "broadcast"
    hops = [_hop(tier, links, shares, corner)]
    if tier.staging and host is not None:
        hops.append(_hop(host, available(host, tp), shares, corner))
    fixed = engine.fixed.value if engine.fixed else 0.0
    per_token = engine.per_token.value if engine.per_token else 0.0
    return Route(tuple(hops), Overhead(fixed, per_token), tier.staging != "in-turn")


def _hop(tier: Tier, links: int, shares: bool, corner: Corner) -> Hop:
    backwards: dict[Corner, Corner] = {"fast": "slow", "typical": "typical", "slow": "fast"}
    latency = tier.read.latency.at(backwards[corner]) if tier.read.latency else 0.0
    per_copy = tier.read.per_copy.value if tier.read.per_copy else 0.0
    ceiling = tier.node_ceiling.at(corner) if tier.node_ceiling else None
    return Hop(tier.read.bandwidth.at(corner), latency, per_copy, ceiling, links, shares)
