"""Box 4: is the interconnect fast enough, also with all GPUs at once?"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from kvcalc import units
from kvcalc.answers import checklist_effective, checklist_fetch
from kvcalc.answers.checklist_ground import Ground
from kvcalc.answers.checklist_result import Effect, Figure, Reason
from kvcalc.answers.margin import margin
from kvcalc.answers.margin_result import best
from kvcalc.answers.options import Options
from kvcalc.answers.paths import tiers
from kvcalc.profiles.hardware import Tier

QUESTION = "Is the interconnect fast enough with all GPUs at once?"
CLASSES = ("dram-pcie4", "dram-pcie5", "dram-c2c-480")  # the chapter's: PCIe 4.0, PCIe 5.0, NVLink-C2C

said = partial(Reason, 4)


def tier(ground: Ground) -> Tier:
    """The one that is asked about, as the node has it."""
    name = checklist_effective.path(ground).tier
    return next(each for each in tiers(ground.machine, Options(tiers=(name,))) if each.name == name)


def together(ground: Ground) -> float:
    """Bytes a second of all GPUs of the node: as many links as there are, under the ceiling that they share."""
    found = tier(ground)
    links = ground.machine.node.gpus if found.links == "per-gpu" else 1
    rate = links * found.read.bandwidth.typical.value
    return min(rate, found.node_ceiling.typical.value) if found.node_ceiling else rate


def ratio(ground: Ground) -> float:
    """How much cheaper fetching is when every replica of the node fetches at once."""
    replicas = max(ground.machine.node.gpus // ground.tp, 1)
    replicas = min(replicas, ground.options.replicas or replicas)
    return together(ground) / (replicas * ground.moved_bytes / ground.margin.recompute.seconds)


def reasons(ground: Ground) -> Iterator[Reason]:
    """By its class, by what is seen of it, and beside the other classes."""
    found, times, least = tier(ground), ratio(ground), ground.options.min_margin
    alone = checklist_effective.path(ground).margin >= 1 or checklist_fetch.faster(ground)
    link = units.short(found.read.bandwidth.typical.value, "B/s")
    text = f"{found.path}, {link} a link, {units.short(together(ground), 'B/s')} with all GPUs at once"
    effect: Effect = "supports" if times >= least else "unknown" if alone else "blocks"
    code = {"supports": "link-is-enough", "unknown": "link-is-marginal", "blocks": "link-is-too-slow"}[effect]
    yield said(effect, code, f"{text}: {units.times(times, (1, least))} of what recomputing needs")
    yield from _seen(ground, found)
    yield from _classes(ground)


def _seen(ground: Ground, found: Tier) -> Iterator[Reason]:
    rate = checklist_effective.seen(ground)
    if rate is not None and found.medium == "dram":
        share = rate / found.read.bandwidth.typical.value
        text = f"the metrics show {units.short(rate, 'B/s')} into HBM, {100 * share:.0f} % of one link's usual"
        yield said("note", "link-as-seen", text)


def _classes(ground: Ground) -> Iterator[Reason]:
    """What the same question would answer over another class of link."""
    shown = [f"{name.removeprefix('dram-')} {units.times(each)}" for name, each in classes(ground)]
    yield said("note", "other-classes", f"one link of each class, at this length: {', '.join(shown)}")


def classes(ground: Ground) -> Iterator[tuple[str, float]]:
    """The margin over one link of each class of host link."""
    options = ground.options
    chosen = Options(
        kv_dtype=ground.kv.name,
        weights=ground.margin.weights,
        tp=ground.tp,
        engine=ground.margin.engine,
        prefill=options.prefill,
        tiers=CLASSES,
        links=1,
    )
    bare = replace(ground.machine, tiers=())  # the classes as their profiles have them
    answer = margin(ground.model, bare, int(ground.tokens.value), chosen)
    return ((path.tier, path.margin) for path in best(answer.paths))


def figures(ground: Ground) -> Iterator[Figure]:
    """Of the link and of all, and how they are known."""
    found = tier(ground)
    usual = found.read.bandwidth.typical
    yield Figure("class", found.path, "", "profile")
    yield Figure("one link", usual.value, "B/s", usual.source.basis)
    yield Figure(
        "line rate", found.line_rate.value if found.line_rate else None, "B/s", "profile" if found.line_rate else ""
    )
    ceiling = found.node_ceiling.typical if found.node_ceiling else None
    yield Figure(
        "ceiling of the node", ceiling.value if ceiling else None, "B/s", ceiling.source.basis if ceiling else ""
    )
    yield Figure("all GPUs at once", together(ground), "B/s", "profile")
    yield Figure("margin with all GPUs at once", ratio(ground), "x", "profile")
    if (rate := checklist_effective.seen(ground)) is not None:
        yield Figure("seen into HBM", rate, "B/s", "metrics")
    yield from (Figure(f"margin over {name}", each, "x", "profile") for name, each in classes(ground))


def run(ground: Ground) -> Iterator[str]:
    """What would tell."""
    if tier(ground).read.bandwidth.typical.source.basis != "measured" or not tier(ground).node_ceiling:
        yield "kvcalc measure --path FOLDER on the serving host (each link, and all of them at once)"
