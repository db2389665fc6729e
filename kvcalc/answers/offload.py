"""The way from the GPUs to a tier: what an offload takes."""

from kvcalc.answers.paths import Path, available, per_copy
from kvcalc.answers.setting import Setting
from kvcalc.physics.engines import rules
from kvcalc.physics.transfer import Hop, Overhead, Route
from kvcalc.profiles.hardware import Direction, Tier


def route(path: Path, setting: Setting) -> Route | None:
    """The hops of a path the other way; None where it is not known how fast a tier on it is written.

    The engine takes as long for a copy and a token as it does the other way. Its fixed cost is a restore's, with the
    forward pass that a hit still takes (hardware_profiles/engines/vllm.yaml), and an offload has none.
    """
    staged, engine = path.way.host if path.tier.staging else None, setting.engine
    tiers = [(path.tier, path.links), *([(staged, available(staged, setting.tp))] if staged else [])]
    hops, latency = [], 0.0
    for tier, links in tiers:
        if tier.write is None:
            return None
        into_store = bool(staged) and tier is path.tier
        hops.append(_hop(setting, tier, tier.write, links, into_store or once(setting)))
        latency += tier.write.latency.typical.value if tier.write.latency else 0.0
    per_token = engine.per_token.value if engine.per_token else 0.0
    return Route(tuple(hops), latency, Overhead(0.0, per_token), path.tier.staging != "in-turn")


def once(setting: Setting) -> bool:
    """Is what several ranks hold alike written down by one of them, not by each?"""
    return rules.replicas(setting.engine.name, setting.model, 1) == "once"


def _hop(setting: Setting, tier: Tier, write: Direction, links: int, broadcast: bool) -> Hop:
    ceiling = tier.node_ceiling.typical.value if tier.node_ceiling else None
    copies = per_copy(setting.engine, tier, write)
    return Hop(write.bandwidth.typical.value, copies, ceiling, links, broadcast)
