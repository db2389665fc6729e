"""How many tokens, requests and cached prefixes fit in HBM, in host memory, on disk and in the store?"""

from collections import Counter

from kvcalc.answers import capacity_host, capacity_memory, capacity_start, capacity_tiers
from kvcalc.answers.capacity_assumptions import assumptions
from kvcalc.answers.capacity_options import CapacityOptions
from kvcalc.answers.capacity_result import SCHEMA_VERSION, Capacity, Instead, SegmentSize
from kvcalc.answers.capacity_setting import CapacitySetting, settle
from kvcalc.answers.capacity_warnings import warnings
from kvcalc.errors import UserError
from kvcalc.physics import formats
from kvcalc.physics.engines import rules
from kvcalc.physics.engines.plan import Plan, Segment
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.model import Indexer, Model

SMALLER = "fp8"  # the format that the chapter says to try before any tier


def capacity(model: Model | str, hardware: Machine | str, options: CapacityOptions | None = None) -> Capacity:
    """Say what fits where: the budget of one GPU line by line, and the counts of one replica.

    `model` and `hardware` are profiles, or their names or paths. Raises UserError for an unknown name, a split or a
    format that engines refuse, or a model whose weights can't be counted and are not given.
    """
    return _answer(settle(model, hardware, options or CapacityOptions()))


def _answer(setting: CapacitySetting) -> Capacity:
    options, plan = setting.options, setting.plan()
    hbm = capacity_memory.budget(setting)
    fits = capacity_memory.fits(setting, plan, hbm.pool_bytes)
    prefix = rules.account(setting.plan(pp=1), setting.model, setting.kv, setting.tp, setting.prefix, setting.replicas)
    runs = not hbm.short_bytes
    tiers = capacity_tiers.tiers(setting, prefix, fits) if runs else ()
    host = capacity_host.asks(setting, tiers, prefix)
    remedies = () if runs else capacity_start.remedies(setting)
    return Capacity(
        schema_version=SCHEMA_VERSION,
        model=setting.model.name,
        model_title=setting.model.title,
        hardware=setting.machine.name,
        hardware_title=setting.machine.node.title,
        engine=options.engine,
        engine_version=options.engine_version,
        budget_version=setting.budget.name if setting.budget else None,
        tp=setting.tp,
        pp=options.pp,
        dp=options.dp,
        idle_gpus=setting.idle_gpus,
        kv_dtype=setting.options.kv_dtype,
        kv_stored=setting.kv,
        weights=setting.weights,
        max_model_len=setting.max_model_len,
        prefix_tokens=setting.prefix,
        store_replicas=setting.replicas,
        hbm=hbm,
        kv_bytes_per_token=plan.token_bytes,
        plan_modelled=plan.modelled,
        segments=_segments(setting, plan),
        prefix=prefix,
        fits=fits,
        remedies=remedies,
        tiers=tiers,
        host=host,
        instead=_instead(setting, plan, hbm.pool_bytes) if runs else (),
        warnings=warnings(setting, plan, hbm, (fits, tiers, host), remedies),
        assumptions=assumptions(setting),
    )


def _segments(setting: CapacitySetting, plan: Plan) -> tuple[SegmentSize, ...]:
    """With the layers that draft, and those whose index keys share a block with others, told apart."""
    drafting = rules.stage(
        rules.drafting(setting.model) if setting.options.draft else setting.model, setting.options.pp
    )
    kinds = {each.kind for each in plan.segments}
    growing = next((each.kind for each in plan.segments if not each.constant), "")
    drafts: Counter[str] = Counter()
    for group in drafting.groups[len(setting.model.groups) :]:
        if not isinstance(group, Indexer):
            drafts[group.kind if group.kind in kinds else growing] += group.layers
    apart = "indexer" in kinds
    index = 0 if apart else sum(group.layers for group in drafting.groups if isinstance(group, Indexer))
    return tuple(
        _segment(each, setting.prefix, drafts.pop(each.kind, 0), index if each.kind == growing else 0)
        for each in plan.segments
    )


def _segment(segment: Segment, tokens: int, drafts: int, index: int) -> SegmentSize:
    return SegmentSize(
        kind=segment.kind,
        layers=segment.layers,
        draft_layers=drafts,
        index_layers=index,
        padding_layers=segment.padding_layers,
        tables=segment.tables,
        block_tokens=segment.block_tokens,
        block_bytes=segment.block_bytes,
        blocks=segment.blocks(tokens),
    )


def _instead(setting: CapacitySetting, plan: Plan, pool_bytes: float) -> tuple[Instead, ...]:
    """What FP8 would give, where the KV is in 16 bits and an engine stores it in FP8."""
    if setting.kv not in formats.SIXTEEN_BIT:
        return ()
    try:
        stored = formats.stored(setting.model, SMALLER)
    except UserError:
        return ()
    smaller = setting.plan(stored)
    length = setting.prefix
    gain = smaller.sequences(pool_bytes, length) / (plan.sequences(pool_bytes, length) or 1.0)
    return (Instead(SMALLER, stored, capacity_memory.fits(setting, smaller, pool_bytes), gain),)
