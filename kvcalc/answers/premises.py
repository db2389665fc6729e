"""Assumptions of the parts of `margin` that are there when they are asked for."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.setting import Setting
from kvcalc.physics import kv

USES = {
    "preempt": "Preemption: the sequence is written to the tier and later fetched back, nothing of it hidden",
    "active": (
        "Decoding: a step reads the weights and all KV of the batch, from HBM at its full bandwidth, over a path while "
        "HBM is read (FlexGen, Sheng et al. 2023); launches, communication and arithmetic are left out"
    ),
    "shared": "Sharing: of n replicas each keeps a part of the one copy, so 1/n of the hits are local; a store has all",
}


def _links(setting: Setting) -> Assumption:
    """What is known of both directions at once."""
    passed = {tier.name: tier for path in setting.paths for tier in (path.tier, path.way.host) if tier}
    known = {name: tier.both_directions for name, tier in passed.items() if tier.both_directions}
    added = "; ".join(f"{name}'s link carries {units.short(each.value, 'B/s')} of both" for name, each in known.items())
    return Assumption(
        "Shared links: each is a server; a drive reads and writes in turn, and the ceiling of the host's DRAM counts "
        f"both directions added; {added + '; ' if added else ''}of other links and NICs full duplex is assumed",
        tuple(dict.fromkeys(each.source for each in known.values())),
    )


def _writing(setting: Setting) -> Iterator[Assumption]:
    """What an engine adds to the way out, and how often it writes what ranks hold alike."""
    from kvcalc.answers import offload  # what is not asked for is not imported: the program starts quickly

    engine = setting.engine
    if engine.name != "ideal":
        taken = [figure for figure in (engine.per_copy, engine.per_token) if figure]
        costs = "copies and tokens cost as much as in a restore, whose fixed cost is not an offload's"
        yield Assumption(f"Writing: {costs}", tuple(dict.fromkeys(figure.source for figure in taken)))
    if kv.resident(setting.model, setting.tokens, setting.kv, setting.tp) * setting.tp > kv.logical(
        setting.model, setting.tokens, setting.kv
    ):
        times = "once" if offload.once(setting) else "by each of them"
        yield Assumption(f"Writing: what several ranks hold alike is written {times} ({engine.title})")


def premises(setting: Setting) -> Iterator[Assumption]:
    """One sentence each."""
    options = setting.options
    if options.use in USES:
        yield Assumption(USES[options.use])
    if options.use == "preempt" or options.rate is not None:
        yield from _writing(setting)
    if options.new:
        yield Assumption("Layer by layer: layers are loaded in order, as if all were equally large")
    if options.concurrency is not None or options.rate is not None:
        yield _links(setting)
    if options.rate is not None:
        yield Assumption(
            "Under load: requests come at random and spread evenly over equal links; a miss is computed and written "
            "down, a hit is restored and its new tokens are written down, unless the tier's writing is not known"
        )
