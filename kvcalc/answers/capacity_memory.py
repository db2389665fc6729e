"""The memory of one GPU, line by line, down to what is left for the KV pool."""

from kvcalc.answers.capacity_result import Fits, HbmBudget
from kvcalc.answers.capacity_setting import CapacitySetting
from kvcalc.errors import UserError
from kvcalc.physics import weights
from kvcalc.physics.budget import Memory, activation
from kvcalc.physics.engines.plan import Plan


def budget(setting: CapacitySetting) -> HbmBudget:
    """The stage of a pipeline whose pool is smallest; without a pipeline the only one."""
    stages = (True,) if setting.options.pp == 1 else (False, True)
    return min((_stage(setting, last) for last in stages), key=lambda each: each.pool_bytes - each.short_bytes)


def _stage(setting: CapacitySetting, last: bool) -> HbmBudget:
    known, options = setting.budget, setting.options
    memory = _memory(setting, last)
    share = known.share if known else "of-device"
    pool = memory.pool(share)
    return HbmBudget(
        device_bytes=memory.device,
        reserved_bytes=memory.reserved,
        utilization=memory.utilization,
        share=share,
        withheld_bytes=memory.withheld(share),
        free_bytes=memory.free(share) if share == "of-free" else None,
        weights_bytes=memory.weights,
        weights_given=options.weights_bytes is not None,
        activation_bytes=memory.activation,
        non_torch_bytes=memory.non_torch,
        graphs_bytes=known.graphs.value if known else 0.0,
        pool_bytes=max(pool, 0.0),
        short_bytes=max(-pool, 0.0),
        error=known.error.value if known and known.error else None,
        extrapolated=setting.extrapolated,
    )


def _memory(setting: CapacitySetting, last: bool) -> Memory:
    known = setting.budget
    alone = setting.tp == 1
    context = (known.non_torch_alone if alone else known.non_torch_parallel).value if known else 0.0
    return Memory(
        device=device_bytes(setting),
        utilization=utilization(setting),
        weights=_weights(setting),
        activation=activation(setting.model, known, setting.weights, setting.batch, last) if known else 0.0,
        non_torch=context,
        reserved=setting.options.reserve,
    )


def device_bytes(setting: CapacitySetting) -> float:
    """As the device reports it, else as it is sold."""
    gpu = setting.machine.accelerator
    return (gpu.device_memory or gpu.memory).value


def utilization(setting: CapacitySetting) -> float:
    """The option, else the engine's default. Raises UserError where there is none (SGLang)."""
    if setting.options.memory_utilization is not None:
        return setting.options.memory_utilization
    if setting.budget is None:
        return 1.0
    if setting.budget.utilization is None:
        raise UserError(
            "SGLang works out its default --mem-fraction-static from the GPU and the degrees, by a rule that is not "
            "known here; add --memory-utilization, such as 0.85, or what 'mem_fraction_static' in its log says"
        )
    return setting.budget.utilization.value


def _weights(setting: CapacitySetting) -> float:
    options = setting.options
    if options.weights_bytes is not None:
        return options.weights_bytes
    try:
        return weights.rank_bytes(setting.model, setting.weights, setting.tp, options.pp, options.dp)
    except UserError:
        raise UserError(f"the weights of {setting.model.name!r} can't be counted; add --weights-gib") from None


def fits(setting: CapacitySetting, plan: Plan, pool_bytes: float) -> Fits:
    """What a pool of one rank holds; a sequence takes its part of every rank's pool alike."""
    length = setting.max_model_len
    requests = plan.sequences(pool_bytes, length, running=True)
    prefixes = int(plan.sequences(pool_bytes, setting.prefix))
    return Fits(
        tokens=int(requests * length),
        requests=requests,
        longest=plan.longest(pool_bytes, length),
        prefixes=prefixes,
        prefix_tokens=prefixes * setting.prefix,
    )
