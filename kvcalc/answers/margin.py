"""Does fetching a prefix's KV cache beat recomputing it, tier by tier, and what would change the answer?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvcalc.answers import assumptions, memory, rows, warnings
from kvcalc.answers.margin_result import SCHEMA_VERSION, Alternative, GroupSize, Margin, RecomputeTime
from kvcalc.answers.options import Options
from kvcalc.answers.setting import Setting, settle
from kvcalc.errors import UserError
from kvcalc.physics import kv
from kvcalc.physics.prefill import Prefill, Term
from kvcalc.physics.recompute import Measured, Way
from kvcalc.physics.transfer import Loads
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.model import LayerGroup, Model

if TYPE_CHECKING:
    from kvcalc.answers.margin_parts import Active, PartialHit, Preemption, Sharing, Traffic


def margin(model: Model | str, hardware: Machine | str, tokens: int, options: Options | None = None) -> Margin:
    """Say, tier by tier, whether fetching the KV cache of a prefix beats recomputing it.

    `model` and `hardware` are profiles, or their names or paths; `tokens` is the length of the prefix. Raises UserError
    for an unknown name, a split or a format that engines refuse, or a prefill about which nothing is known.
    """
    return _answer(settle(model, hardware, tokens, options or Options(), []))


def margins(
    model: Model, hardware: Sequence[str], tokens: int, options: Options
) -> tuple[list[Margin], dict[str, UserError]]:
    """The same for several nodes, and why others of them can't answer."""
    known: list[Loads] = []
    found, refused = [], {}
    for node in hardware:
        try:
            found.append(_answer(settle(model, node, tokens, options, known)))
        except UserError as error:
            refused[node] = error
    return found, refused


def _answer(setting: Setting) -> Margin:
    recompute = _recompute(setting)
    paths = rows.paths(setting, recompute)
    size = kv.logical(setting.model, setting.tokens, setting.kv)
    needed, traffic = memory.needs(setting), _traffic(setting)
    return Margin(
        schema_version=SCHEMA_VERSION,
        model=setting.model.name,
        model_title=setting.model.title,
        hardware=setting.machine.name,
        hardware_title=setting.machine.node.title,
        tp=setting.tp,
        tokens=setting.tokens,
        new_tokens=setting.options.new,
        engine=setting.engine.name,
        kv_dtype=setting.options.kv_dtype,
        kv_stored=setting.kv,
        weights=setting.weights,
        min_margin=setting.options.min_margin,
        kv_bytes=size,
        kv_bytes_per_token=kv.marginal(setting.model, setting.tokens, setting.kv),
        kv_bytes_per_rank=kv.resident(setting.model, setting.tokens, setting.kv, setting.tp),
        kv_groups=tuple(_group(setting, group) for group in setting.model.groups),
        layers=kv.loaded_layers(setting.model, setting.tokens, setting.kv),
        recompute=recompute,
        fits=None if needed is None else needed.fit,
        break_even_bytes_per_s=size / recompute.seconds,
        break_even_min_margin_bytes_per_s=size * setting.options.min_margin / recompute.seconds,
        paths=paths,
        partial_hits=_partial_hits(setting),
        use=setting.options.use,
        uses=_uses(setting),
        traffic=traffic,
        room=memory.room(setting, needed),
        warnings=(*_overloads(traffic), *warnings.warnings(setting, paths)),
        assumptions=assumptions.assumptions(setting),
    )


def _partial_hits(setting: Setting) -> "tuple[PartialHit, ...]":
    if not setting.options.new:
        return ()
    from kvcalc.answers import partial  # what is not asked for is not imported: the program starts quickly

    return partial.hits(setting)


def _uses(setting: Setting) -> "tuple[Preemption, ...] | tuple[Active, ...] | tuple[Sharing, ...]":
    if setting.options.use == "prefix":
        return ()
    from kvcalc.answers import uses

    return uses.uses(setting)


def _traffic(setting: Setting) -> "Traffic | None":
    if setting.options.concurrency is None and setting.options.rate is None:
        return None
    from kvcalc.answers import contention

    return contention.traffic(setting)


def _overloads(traffic: "Traffic | None") -> tuple[str, ...]:
    if traffic is None:
        return ()
    from kvcalc.answers import contention

    return tuple(contention.warnings(traffic))


def _group(setting: Setting, group: LayerGroup) -> GroupSize:
    return GroupSize(
        kind=group.kind,
        layers=group.layers,
        bytes_per_token=kv.token_bytes(group, setting.kv),
        held_tokens=kv.held(group, setting.tokens),
        state_bytes=kv.state_bytes(group),
        bytes=kv.group_bytes(group, setting.tokens, setting.kv),
    )


def _recompute(setting: Setting) -> RecomputeTime:
    way = setting.ways.chosen
    seconds = setting.recompute(way, setting.tokens)
    low, high = setting.recompute_range(setting.tokens)
    return RecomputeTime(
        seconds=seconds,
        low_s=low,
        high_s=high,
        whole_s=way.seconds(setting.tokens + setting.options.new),
        rest_s=setting.rest(way, setting.tokens),
        tokens_per_s=setting.tokens / seconds,
        way=way.title,
        basis=way.basis,
        terms=_terms(way, setting),
        alternatives=tuple(_alternative(other, setting) for other in setting.ways.others),
        unavailable=setting.ways.missing,
    )


def _alternative(way: Way, setting: Setting) -> Alternative:
    seconds = setting.recompute(way, setting.tokens)
    return Alternative(way.title, way.basis, seconds, setting.tokens / seconds)


def _terms(way: Way, setting: Setting) -> tuple[Term, ...]:
    """The summands of the prefix's prefill, where a model gives them."""
    if setting.options.new:
        return ()
    if isinstance(way, Prefill):
        return way.terms(setting.tokens)
    if isinstance(way, Measured) and way.model is not None:
        factor = way.factor(setting.tokens)
        return tuple(
            Term(term.name, term.seconds * factor, f"{term.arithmetic}, x {factor:.4g} measured / modelled")
            for term in way.model.terms(setting.tokens)
        )
    return ()
