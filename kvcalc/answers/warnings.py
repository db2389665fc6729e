"""Warnings: the mistakes that this answer is about to be used for (the chapter's section 9), and what doesn't fit."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.margin_result import PathAnswer, best
from kvcalc.answers.setting import Setting
from kvcalc.errors import UserError
from kvcalc.physics import coefficients, formats, kv, work
from kvcalc.profiles import catalog
from kvcalc.profiles.hardware import Tier
from kvcalc.profiles.model import Model

PLACES = {"nvme": "a disk", "store": "a store", "network": "another node"}


def warnings(setting: Setting, paths: tuple[PathAnswer, ...]) -> tuple[str, ...]:
    """What the reader must know before using the answer, the gravest first."""
    return (
        *_context(setting),
        *_memory(setting),
        *_directions(setting),
        *_pageable(setting),
        *_slow(paths),
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
    try:
        counted = work.parameters(setting.model)
    except UserError:
        return
    gpu = setting.machine.accelerator
    dense = "bf16" if setting.weights == "mxfp4" else setting.weights
    width = coefficients.WEIGHT_BYTES
    weights = (counted.total - counted.experts) * width[dense] + counted.experts * width[setting.weights]
    cache = setting.tp * kv.resident(setting.model, setting.tokens + setting.options.new, setting.kv, setting.tp)
    held = setting.tp * (gpu.device_memory or gpu.memory).value
    if weights + cache > held:
        needed = f"{setting.weights} weights ({units.short(weights, 'B')}) and this prompt's KV"
        memory = f"the memory of {setting.tp} x {gpu.title} ({units.short(held, 'B')})"
        yield f"{setting.model.title}: {needed} ({units.short(cache, 'B')}) don't fit in {memory}"


def _directions(setting: Setting) -> Iterator[str]:
    for tier in setting.tiers:
        asked = _asked(tier)
        if asked and tier.line_rate and asked > 1.01 * tier.line_rate.value:
            limit = units.short(tier.line_rate.value, "B/s")
            yield (
                f"{tier.name}: {units.short(asked, 'B/s')} is more than one direction of {tier.path} carries "
                f"({limit}); datasheets often print both directions added"
            )


def _pageable(setting: Setting) -> Iterator[str]:
    for tier in setting.tiers:
        asked = _asked(tier)
        if asked and tier.pageable and asked <= 1.05 * tier.pageable.high.value:
            usual = units.short(tier.pageable.high.value, "B/s")
            yield (
                f"{tier.name}: {units.short(asked, 'B/s')} looks like buffers that are not pinned (up to {usual}); "
                "pinned buffers are faster and do not block the caller"
            )


def _asked(tier: Tier) -> float | None:
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
