"""Partial hits: the time to the first token when a prefix is cached and new tokens follow it, path by path."""

from functools import cache

from kvcalc.answers.margin_parts import PartialHit
from kvcalc.answers.paths import Path
from kvcalc.answers.setting import Setting
from kvcalc.physics import crossover, kv, suffix
from kvcalc.physics.prefill import Prefill
from kvcalc.physics.recompute import Stated
from kvcalc.profiles.model import Full, Latent


def hits(setting: Setting) -> tuple[PartialHit, ...]:
    """One for each path, where new tokens follow the prefix."""

    @cache  # paths share it
    def computing(cached: int) -> float:
        return setting.rest(setting.ways.chosen, cached)

    return tuple(_hit(setting, path, computing) for path in setting.paths)


def _hit(setting: Setting, path: Path, computing: crossover.Times) -> PartialHit:
    fetch, new, cached = path.typical.fetch(setting.loads(setting.tokens)), setting.options.new, setting.tokens
    moving, rest, alone = fetch.seconds - fetch.fixed, computing(cached), setting.ways.chosen.seconds(new)

    def ahead(length: int) -> float:
        """By how much loading takes longer than computing."""
        found = path.typical.fetch(setting.loads(length))
        return found.seconds - found.fixed - computing(length)

    grid = crossover.lengths()
    gains = [ahead(length) for length in grid]
    recompute, per_cached, pair = alone / new, moving / cached, max(0.0, rest - alone) / (new * cached)
    linear = _linear(setting)
    return PartialHit(
        tier=path.tier.name,
        links=path.links,
        first_token_s=fetch.seconds + rest,
        first_token_layered_s=suffix.layered(
            fetch.fixed, moving, rest, kv.loaded_layers(setting.model, setting.tokens, setting.kv)
        ),
        bound_by="link" if moving > rest else "compute",
        cached_to_new=cached / new,
        link_bound_short=gains[0] > 0,
        link_bound_turns=tuple(crossover.changes(gains, grid, ahead)),
        linear=linear,
        link_bound_cached_to_new=suffix.link_bound_ratio(recompute, per_cached, pair, new) if linear else None,
        recompute_s_per_token=recompute,
        fetch_s_per_token=per_cached,
        pair_s=pair,
    )


def _linear(setting: Setting) -> bool:
    """Does every cached token add as much to loading and to computing as the one before it?

    Not where layers keep a window, a state or a compressed cache, attend to a few tokens alone, or times are measured.
    """
    return isinstance(setting.ways.chosen, Prefill | Stated) and all(
        isinstance(group, Full) or (isinstance(group, Latent) and group.top_k is None)
        for group in setting.model.groups
        if kv.group_bytes(group, setting.tokens, setting.kv)
    )
