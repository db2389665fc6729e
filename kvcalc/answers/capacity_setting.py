"""A question of capacity with its profiles found and its options checked."""

import re

from kvcalc import units
from kvcalc.answers.capacity_options import PREFIX, CapacityOptions, check
from kvcalc.answers.paths import match
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.physics import formats, kv, weights
from kvcalc.physics.budget import batch
from kvcalc.physics.engines import rules
from kvcalc.physics.engines.plan import Plan
from kvcalc.physics.engines.store import Replicas
from kvcalc.profiles import catalog
from kvcalc.profiles.budget import Batch, Budget
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Tier
from kvcalc.profiles.model import Model

BUDGETS = {"vllm": "vllm-0.19", "lmcache": "vllm-0.19", "sglang": "sglang-0.5", "trtllm": "trtllm-1.0"}
FITTED = "h100-sxm"  # the GPU that the constants of vLLM were fitted on


@frozen
class CapacitySetting:
    """Everything that an answer is worked out from."""

    model: Model
    machine: Machine
    options: CapacityOptions
    budget: Budget | None  # None: an ideal engine takes nothing but weights and KV
    tp: int
    kv: str  # stored format
    weights: str
    max_model_len: int
    prefix: int
    batch: Batch
    replicas: Replicas
    tiers: tuple[tuple[Tier, float | None], ...]

    @property
    def release(self) -> tuple[int, int] | None:
        """The first two numbers of the version asked for."""
        found = re.match(r"v?(\d+)\.(\d+)", self.options.engine_version or "")
        return (int(found[1]), int(found[2])) if found else None

    @property
    def other_version(self) -> bool:
        """Is the version asked for another than the budget's?"""
        known = re.match(r"(\d+)\.(\d+)", self.budget.version) if self.budget else None
        if self.budget is None or self.options.engine_version is None or self.budget.engine != self.options.engine:
            return False
        return known is None or self.release != (int(known[1]), int(known[2]))

    @property
    def extrapolated(self) -> bool:
        """Are the budget's constants of another version, engine or GPU?"""
        if self.budget is None:
            return False
        other = self.machine.accelerator.name != FITTED or self.budget.engine != "vllm"
        return other or self.other_version

    @property
    def idle_gpus(self) -> int:
        """GPUs of the node that none of the replicas runs on."""
        return self.machine.node.gpus - self.tp * self.options.pp * self.options.dp

    def plan(self, kv_format: str | None = None, pp: int | None = None) -> Plan:
        """The engine's plan of one rank's pool; `pp` 1 is that of the whole model."""
        run = rules.Run(self.tp, pp or self.options.pp, self.batch.tokens, self.options.draft)
        return rules.plan(self.options.engine, self.model, kv_format or self.kv, run)


def settle(model: Model | str, hardware: Machine | str, options: CapacityOptions) -> CapacitySetting:
    """Find the profiles and check the options. Raises UserError for whatever does not go together."""
    found = catalog.model(model) if isinstance(model, str) else model
    machine = catalog.machine(hardware) if isinstance(hardware, str) else hardware
    check(options)
    if options.engine not in ("ideal", *BUDGETS):
        raise UserError(f"--engine: {shown(options.engine)} is none of ideal, {', '.join(BUDGETS)}")
    tp = _split(found, machine, options)
    length = _length(found, options)
    known = catalog.budget(BUDGETS[options.engine]) if options.engine in BUDGETS else None
    return CapacitySetting(
        model=found,
        machine=machine,
        options=options,
        budget=known,
        tp=tp,
        kv=formats.stored(found, options.kv_dtype),
        weights=options.weights or weights.of_checkpoint(found),
        max_model_len=length,
        prefix=_prefix(options, length),
        batch=_batch(known, machine, options),
        replicas=options.store_replicas or rules.replicas(options.engine, found, options.pp),
        tiers=_tiers(machine, options),
    )


def _length(model: Model, options: CapacityOptions) -> int:
    if options.max_model_len is None and model.context is None:
        raise UserError(f"{model.name!r} has no longest context; add --max-model-len")
    return options.max_model_len or model.context or 1


def _batch(known: Budget | None, machine: Machine, options: CapacityOptions) -> Batch:
    """The engine's on this GPU, with as many tokens as are asked for."""
    usual = batch(known, machine.accelerator) if known else Batch(tokens=1, sequences=1)
    return Batch(tokens=options.batch_tokens or usual.tokens, sequences=usual.sequences)


def _prefix(options: CapacityOptions, length: int) -> int:
    if options.prefix is not None and options.prefix > length:
        longest = f"--max-model-len {length}" if options.max_model_len else f"the model's context of {length}"
        raise UserError(
            f"--prefix: {options.prefix} tokens are more than the longest request has, {longest}; "
            "give a smaller --prefix or a larger --max-model-len"
        )
    return options.prefix or min(PREFIX, length)


def _split(model: Model, machine: Machine, options: CapacityOptions) -> int:
    gpus = machine.node.gpus
    tp = options.tp or max(gpus // (options.pp * options.dp), 1)
    wanted = tp * options.pp * options.dp
    if wanted > gpus:
        raise UserError(
            f"{machine.name!r} has {gpus} GPUs, not the {wanted} of TP {tp} x PP {options.pp} x DP {options.dp}"
        )
    kv.check_split(model, tp)
    layers = sum(group.layers for group in model.groups)
    if options.pp > layers:
        raise UserError(f"--pp: {model.name!r} has {units.count(layers)} layers, fewer than {options.pp} stages")
    return tp


def _tiers(machine: Machine, options: CapacityOptions) -> tuple[tuple[Tier, float | None], ...]:
    """The node's tiers with their sizes, those of the options first of all; tiers that options add come last."""
    found = {tier.name: (tier, tier.capacity.value if tier.capacity else None) for tier in machine.tiers}
    for word, size in options.tiers.items():
        name = match(word, machine.tiers)
        tier = found[name][0] if name else _added(word, machine)
        found[tier.name] = (tier, size)
    return tuple(found.values())


def _added(word: str, machine: Machine) -> Tier:
    try:
        return catalog.tier(word)
    except UserError:
        names = ", ".join(tier.name for tier in machine.tiers)
        raise UserError(
            f"--tier: no tier {shown(word)}; {machine.name!r} has {names}; 'kvcalc hardware list' has all tiers"
        ) from None
