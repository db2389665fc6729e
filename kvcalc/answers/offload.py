"""The way from the GPUs to a tier: what an offload takes."""

from kvcalc.answers.paths import Path, available
from kvcalc.physics.transfer import Hop, Overhead, Route
from kvcalc.profiles.hardware import Direction, Engine, Tier


def route(path: Path, tp: int, engine: Engine) -> Route | None:
    """The hops of a path the other way; None where it is not known how fast a tier on it is written."""
    staged = path.way.host if path.tier.staging else None
    tiers = [(path.tier, path.links), *([(staged, available(staged, tp))] if staged else [])]
    hops, latency = [], 0.0
    for tier, links in tiers:
        if tier.write is None:
            return None
        once = bool(staged) and tier is path.tier
        hops.append(_hop(tier, tier.write, links, once or engine.replicas == "broadcast"))
        latency += tier.write.latency.typical.value if tier.write.latency else 0.0
    return Route(tuple(hops), latency, Overhead(), path.tier.staging != "in-turn")


def _hop(tier: Tier, write: Direction, links: int, broadcast: bool) -> Hop:
    per_copy = write.per_copy.value if write.per_copy else 0.0
    ceiling = tier.node_ceiling.typical.value if tier.node_ceiling else None
    return Hop(write.bandwidth.typical.value, per_copy, ceiling, links, broadcast)
