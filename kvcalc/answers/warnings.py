"""Warnings: the mistakes that this answer is about to be used for (the chapter's section 9), and what doesn't fit."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers import engine_costs, memory
from kvcalc.answers.margin_result import PathAnswer, best
from kvcalc.answers.setting import Setting
from kvcalc.physics import crossover, formats, kv
from kvcalc.physics.prefill import Prefill
from kvcalc.profiles import catalog
from kvcalc.profiles.hardware import Tier
from kvcalc.profiles.model import Model

MOSTLY = 0.5  # of the recompute time
PLACES = {"nvme": "a disk", "store": "a store", "network": "another node"}


def warnings(setting: Setting, paths: tuple[PathAnswer, ...]) -> tuple[str, ...]:
    """What the reader must know before using the answer, the gravest first."""
    verdicts = paths if setting.options.use == "prefix" else ()  # another use has other verdicts
    return (
        *_context(setting),
        *_memory(setting),
        *_stated(setting, verdicts),
        *_communication(setting),
        *_engine(setting, verdicts),
        *_foreign(setting),
        *_directions(setting),
        *_pageable(setting),
        *_slow(verdicts),
        *_format(setting),
    )


def longer_namesakes(setting: Setting) -> tuple[str, ...]:
    """The models with the same layers whose context holds the prompt, where this model's does not."""
    needed = setting.tokens + setting.options.new
    if not _exceeds(setting.model, needed):
        return ()
    return tuple(name for name in setting.model.same_geometry if not _exceeds(catalog.model(name), needed))


def _exceeds(model: Model, tokens: int) -> bool:
    return model.context is not None and tokens > model.context


def _context(setting: Setting) -> Iterator[str]:
    needed = setting.tokens + setting.options.new
    context = setting.model.context
    if context is not None and needed > context and not longer_namesakes(setting):
        limit = units.count(context)
        yield f"{units.count(needed)} tokens are more than the {limit} that {setting.model.title} is made for"


def _memory(setting: Setting) -> Iterator[str]:
    needs = memory.needs(setting)
    if needs and not needs.fit:
        needed = f"{setting.weights} weights ({units.short(needs.weights, 'B')}) and this prompt's KV"
        gpus = f"{setting.tp} x {setting.machine.accelerator.title}"
        place = f"the memory of {gpus} ({units.short(needs.held, 'B')})"
        yield f"{setting.model.title}: {needed} ({units.short(needs.cache, 'B')}) don't fit in {place}"


def _stated(setting: Setting, paths: tuple[PathAnswer, ...]) -> Iterator[str]:
    """Verdicts that rest on a textbook's rate and that a measured or modelled one would change."""
    if setting.ways.chosen.basis != "textbook" or len(setting.bounds) == 1:
        return
    other = setting.bounds[1]
    seconds, least = setting.recompute(other, setting.tokens), setting.options.min_margin
    changed = []
    for path in best(paths):
        verdict = crossover.verdict(seconds / path.fetch_s, least)
        if verdict != path.verdict:
            changed.append(f"{path.tier} is {verdict} ({units.times(seconds / path.fetch_s, (1.0, least))})")
    if changed:
        rate = units.count(setting.tokens / seconds)
        yield f"the recompute time is a textbook's; by the {other.title}, {rate} tok/s, {', '.join(changed)}"


def _communication(setting: Setting) -> Iterator[str]:
    """A split so wide that the GPUs mostly wait for each other: the margin measures the split."""
    way = setting.ways.chosen
    if setting.tp == 1 or not isinstance(way, Prefill):
        return
    terms = way.terms(setting.tokens)
    waiting = sum(term.seconds for term in terms if term.name == "all-reduce") / sum(term.seconds for term in terms)
    if waiting > MOSTLY:
        yield (
            f"all-reduces between {setting.tp} GPUs are {100 * waiting:.0f} % of the recompute time; "
            f"a smaller --tp may recompute sooner, and make fetching worth less"
        )


def _engine(setting: Setting, paths: tuple[PathAnswer, ...]) -> Iterator[str]:
    """Tiers whose best path an engine would make slower by as much as it takes to change a verdict."""
    least = setting.options.min_margin
    chosen = {(path.tier, path.links): path for path in best(paths)}
    for restore in engine_costs.restores(setting):
        path = chosen.get((restore.tier, restore.links))
        if path is None:
            continue
        margin = path.margin * path.fetch_s / restore.seconds
        if crossover.verdict(margin, least) != path.verdict or restore.seconds > least * path.fetch_s:
            yield (
                f"{path.tier}: no engine is at work here; with --engine {engine_costs.ENGINE} the margin is "
                f"{units.times(margin, (1.0, least))} instead of {units.times(path.margin, (1.0, least))}"
            )


def _foreign(setting: Setting) -> Iterator[str]:
    """DRAM that this node reaches in another way."""
    own = [tier for tier in setting.machine.tiers if tier.medium == "dram"]
    for tier in setting.tiers:
        if own and tier.medium == "dram" and tier.path not in [each.path for each in own]:
            node = setting.machine.name
            yield f"{tier.name}: {node} reaches its DRAM over {own[0].path}; be sure that it can have {tier.path}"


def _directions(setting: Setting) -> Iterator[str]:
    for tier in setting.tiers:
        found = asked(tier)
        if found and tier.line_rate and found > 1.01 * tier.line_rate.value:
            limit = units.short(tier.line_rate.value, "B/s")
            yield (
                f"{tier.name}: {units.short(found, 'B/s')} is more than one direction of {tier.path} carries "
                f"({limit}); datasheets often print both directions added"
            )


def _pageable(setting: Setting) -> Iterator[str]:
    for tier in setting.tiers:
        found = asked(tier)
        if found and tier.pageable and found <= 1.05 * tier.pageable.high.value:
            usual = units.short(tier.pageable.high.value, "B/s")
            yield (
                f"{tier.name}: {units.short(found, 'B/s')} looks like buffers that are not pinned (up to {usual}); "
                "pinned buffers are faster and do not block the caller"
            )


def asked(tier: Tier) -> float | None:
    """The bandwidth that was given as an option, if it was."""
    figure = tier.read.bandwidth.typical
    return figure.value if figure.source.basis == "given" else None


def _slow(paths: tuple[PathAnswer, ...]) -> Iterator[str]:
    """Tiers from which fetching is slower than recomputing over any number of links."""
    for path in best(paths):
        if path.verdict == "recompute" and path.medium in PLACES:
            yield (
                f"{path.tier}: offloading to {PLACES[path.medium]} buys capacity here, not speed: fetching takes "
                f"{units.times(1 / path.margin)} as long as recomputing"
            )


def _format(setting: Setting) -> Iterator[str]:
    if setting.kv not in formats.SIXTEEN_BIT:
        return
    narrow = formats.stored(setting.model, "fp8")
    size, smaller = (kv.logical(setting.model, setting.tokens, each) for each in (setting.kv, narrow))
    yield (
        f"16-bit KV: FP8 would move {units.short(smaller, 'B')} instead of {units.short(size, 'B')} and keep "
        f"{units.times(size / smaller)} as many prefixes in every tier; do that first"
    )
