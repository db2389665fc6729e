"""Where the tiers of a node fall on a hit-rate curve: their capacities in tokens of one model's cache."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kvcalc import units
from kvcalc.answers import paths
from kvcalc.answers.curve_result import TierPlace
from kvcalc.answers.margin import margin
from kvcalc.answers.margin_result import Assumption, Margin, best
from kvcalc.answers.options import Options
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics import weights
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Tier
from kvcalc.profiles.model import Model
from kvcalc.profiles.sources import Figure, given
from kvcalc.simulate.curve import Curve

KV_DTYPES = ("fp8", "bf16")  # side by side
MEDIA = ("dram", "nvme", "network", "store")  # from the nearest to the farthest
EXCLUSIVE = "Each tier holds only what the tiers above it have evicted, a promoted block leaves it first"
MEMORY_SHARE = 0.9  # vLLM 0.11, vllm/config/cache.py: gpu_memory_utilization


@frozen
class Placing:
    """A model on a node, and the sizes that were given for its tiers."""

    model: Model
    machine: Machine
    options: Options
    hbm_bytes: float | None = None  # for KV, all GPUs of a replica together; None: what the weights leave
    tier_bytes: Mapping[str, float] | None = None  # by tier; None: as the node's profile has them
    tiers: tuple[str, ...] | None = None  # only these; None: all of the node whose size is known
    kv_dtypes: tuple[str, ...] = KV_DTYPES


@frozen
class Places:
    """The tiers on the curve, format by format, and what they rest on."""

    tp: int | None = None
    found: tuple[TierPlace, ...] = ()
    warnings: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


def places(placing: Placing, curve: Curve, tokens_per_block: float, prompt: int) -> Places:
    """Place HBM and the node's tiers, each with all those above it. `prompt` is the mean prompt in tokens.

    Raises UserError where `margin` would, for a tier that the node lacks, and for weights that leave no room.
    """
    sizes, unknown = _sizes(placing)
    words = {named(placing.machine, word).name: word for word in (*(placing.tiers or ()), *(placing.tier_bytes or {}))}
    asked = replace(placing.options, tiers=tuple(words.get(tier.name, tier.name) for tier, _ in sizes))
    answers = [
        margin(placing.model, placing.machine, prompt, replace(asked, kv_dtype=kv_dtype))
        for kv_dtype in placing.kv_dtypes
    ]
    return Places(
        tp=answers[0].tp,
        found=tuple(
            place for answer in answers for place in _format(placing, answer, sizes, (curve, tokens_per_block))
        ),
        warnings=_missing(unknown),
        assumptions=(_hbm(placing, answers[0]), _tokens(answers[0]), _tiers(sizes), *answers[0].assumptions),
    )


def _sizes(placing: Placing) -> tuple[list[tuple[Tier, Figure]], list[str]]:
    """The tiers from the nearest on, with their sizes, and the names of those whose size nobody knows."""
    machine = placing.machine
    chosen = machine.tiers if placing.tiers is None else [named(machine, word) for word in placing.tiers]
    known = {tier.name: tier for tier in chosen}
    sizes = {name: tier.capacity for name, tier in known.items() if tier.capacity}
    for word, size in (placing.tier_bytes or {}).items():
        tier = named(machine, word)
        known[tier.name] = tier
        sizes[tier.name] = Figure(size, given(f"--tier {tier.name}={units.exact(size, 'B')}"))
    ordered = sorted(known.values(), key=lambda tier: MEDIA.index(tier.medium))
    return [(tier, sizes[tier.name]) for tier in ordered if tier.name in sizes], [
        tier.name for tier in ordered if tier.name not in sizes
    ]


def named(machine: Machine, word: str) -> Tier:
    """The tier that a word names: one of the node, or one of the catalog that the node lacks."""
    found = paths.tiers(machine, Options(tiers=(word,)))
    return found[0] if len(found) == 1 else next(tier for tier in found if tier not in machine.tiers)


def _format(
    placing: Placing, answer: Margin, sizes: list[tuple[Tier, Figure]], on: tuple[Curve, float]
) -> Iterator[TierPlace]:
    """HBM, then each tier; exclusive tiers of which the upper ones are the more recent hold what one cache would."""
    curve, tokens_per_block = on
    per_token = answer.kv_bytes / answer.tokens
    hbm = _pool(placing, answer)
    fetched = {path.tier: path for path in best(answer.paths)}
    reach, before = 0.0, 0.0
    rows = [("HBM", "hbm", hbm, hbm / (answer.tp * answer.kv_bytes_per_rank / answer.tokens))]
    rows += [(tier.name, tier.medium, size.value, size.value / per_token) for tier, size in sizes]
    for name, medium, size, tokens in rows:
        reach += tokens
        point = curve.at(reach / tokens_per_block)
        path = fetched.get(name)
        yield TierPlace(
            kv_dtype=answer.kv_dtype,
            tier=name,
            medium=medium,
            tier_bytes=round(size),
            tier_tokens=int(tokens),
            reach_tokens=int(reach),
            token_rate=point.token_rate,
            added_rate=point.token_rate - before,
            work=point.work,
            margin=path.margin if path else None,
            verdict=path.verdict if path else None,
        )
        before = point.token_rate


def _pool(placing: Placing, answer: Margin) -> float:
    """Bytes for KV in the memory of all GPUs of a replica. Raises UserError where the weights leave none."""
    if placing.hbm_bytes is not None:
        return placing.hbm_bytes
    room = MEMORY_SHARE * _memory(placing, answer) - _weights(placing, answer)
    if room <= 0:
        raise UserError(
            f"{answer.weights} weights of {placing.model.name!r} ({units.short(_weights(placing, answer), 'B')}) leave "
            f"no room for KV on {answer.tp} x {placing.machine.accelerator.title}; raise --tp or give --hbm"
        )
    return room


def _memory(placing: Placing, answer: Margin) -> float:
    gpu = placing.machine.accelerator
    return answer.tp * (gpu.device_memory or gpu.memory).value


def _weights(placing: Placing, answer: Margin) -> float:
    try:
        return answer.tp * weights.rank_bytes(placing.model, answer.weights, answer.tp)
    except UserError:
        name = placing.model.name
        raise UserError(
            f"the weights of {name!r} can't be counted from its profile; give HBM for KV with --hbm"
        ) from None


def _missing(unknown: list[str]) -> tuple[str, ...]:
    if not unknown:
        return ()
    return (f"{', '.join(unknown)}: no capacity known, so left out; give one with --tier {unknown[0]}=50TB",)


def _hbm(placing: Placing, answer: Margin) -> Assumption:
    pool = units.both(_pool(placing, answer))
    if placing.hbm_bytes is not None:
        return Assumption(f"HBM holds {pool} of KV", (given(f"--hbm {units.exact(placing.hbm_bytes, 'B')}"),))
    gpu = placing.machine.accelerator
    text = (
        f"HBM holds {pool} of KV: {100 * MEMORY_SHARE:.0f} % of the memory of {answer.tp} x {gpu.title} less "
        f"{answer.weights} weights; activations and graphs are not taken off, and running requests share it, so --hbm "
        "with a figure from the engine's log is better"
    )
    return Assumption(text, ((gpu.device_memory or gpu.memory).source,))


def _tokens(answer: Margin) -> Assumption:
    return Assumption(
        f"Bytes a token and margins are those of the mean prompt, {units.count(answer.tokens)} tokens "
        f"({units.both(answer.kv_bytes)} in {answer.kv_dtype}); all ranks of a replica hold their part in HBM"
    )


def _tiers(sizes: list[tuple[Tier, Figure]]) -> Assumption:
    return Assumption(
        f"{EXCLUSIVE}, and all its capacity is for this replica's KV: together they hit like one least-recently-used "
        "cache of the summed size",
        tuple(dict.fromkeys(size.source for _, size in sizes)),
    )
