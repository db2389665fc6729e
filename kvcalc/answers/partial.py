"""Partial hits: the time to the first token when a prefix is cached and new tokens follow it, path by path."""

from kvcalc.answers.margin_parts import PartialHit
from kvcalc.answers.paths import Path
from kvcalc.answers.setting import Setting
from kvcalc.physics import kv, suffix


def hits(setting: Setting) -> tuple[PartialHit, ...]:
    """One for each path, where new tokens follow the prefix."""
    way, new, cached = setting.ways.chosen, setting.options.new, setting.tokens
    computing, alone = setting.rest(way, cached), way.seconds(new)
    pair = max(0.0, computing - alone) / (new * cached)
    return tuple(_hit(setting, path, computing, (alone / new, pair)) for path in setting.paths)


def _hit(setting: Setting, path: Path, computing: float, per_token: tuple[float, float]) -> PartialHit:
    fetch = path.typical.fetch(setting.loads(setting.tokens))
    moving = fetch.seconds - fetch.fixed
    per_cached = moving / setting.tokens
    (recompute, pair), new = per_token, setting.options.new
    return PartialHit(
        tier=path.tier.name,
        links=path.links,
        first_token_s=fetch.seconds + computing,
        first_token_layered_s=suffix.layered(
            fetch.fixed, moving, computing, kv.loaded_layers(setting.model, setting.tokens, setting.kv)
        ),
        bound_by="link" if moving > computing else "compute",
        cached_to_new=setting.tokens / new,
        link_bound_cached_to_new=suffix.link_bound_ratio(recompute, per_cached, pair, new),
        recompute_s_per_token=recompute,
        fetch_s_per_token=per_cached,
        pair_s=pair,
    )
