"""Should you build KV offload at all? The chapter's five boxes, and one verdict with its reasons in order of weight."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from kvcalc import units
from kvcalc.answers import (
    checklist_bare,
    checklist_capacity,
    checklist_cheaper,
    checklist_effective,
    checklist_fetch,
    checklist_host,
    checklist_interconnect,
    checklist_named,
    checklist_seen,
)
from kvcalc.answers.checklist_ground import Ground, settle, tier
from kvcalc.answers.checklist_options import ChecklistOptions, check
from kvcalc.answers.checklist_result import (
    DECISIONS,
    SCHEMA_VERSION,
    UNKNOWN,
    WEIGHT,
    Answer,
    Box,
    Checklist,
    Decision,
    Effect,
    Figure,
    Reason,
)
from kvcalc.physics import formats
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.model import Model


class Question(Protocol):
    """One box, a module of its own."""

    QUESTION: str

    def reasons(self, ground: Ground) -> Iterator[Reason]:
        """What speaks for and against it."""

    def figures(self, ground: Ground) -> Iterator[Figure]:
        """The numbers that it rests on."""

    def run(self, ground: Ground) -> Iterator[str]:
        """What to run to know."""


BOXES: tuple[Question, ...] = (
    checklist_capacity,
    checklist_fetch,
    checklist_host,
    checklist_interconnect,
    checklist_cheaper,
)
ANSWERS: dict[Effect, Answer] = {"blocks": "no", "cheaper": "no", "unknown": "unknown", "supports": "yes"}


def checklist(model: Model | str | None, hardware: Machine | str, options: ChecklistOptions | None = None) -> Checklist:
    """Answer the five boxes by what is known: options first, then metrics and logs, then the profiles.

    Without a model the one that the metrics or the log name is looked up; if no profile fits
    the metrics', what they say is told and the rest is unknown. Raises UserError for unknown names, and for
    options that do not go together.
    """
    options = options or ChecklistOptions()
    if (unknown := checklist_bare.bare(model, options)) is not None:
        check(options)
        return _without_model(unknown, hardware)
    ground = settle(model, hardware, options)
    boxes = tuple(_box(ground, number, box) for number, box in enumerate(BOXES, 1))
    weighed = _by_weight(reason for box in boxes for reason in box.reasons)
    return Checklist(
        schema_version=SCHEMA_VERSION,
        model=ground.model.name,
        model_title=ground.model.title,
        hardware=ground.machine.name,
        hardware_title=ground.machine.node.title,
        engine=ground.run.costs,
        tp=ground.tp,
        kv_dtype=ground.kv.name,
        kv_stored=ground.kv.stored,
        weights=ground.margin.weights,
        tokens=int(ground.tokens.value),
        tier=checklist_effective.path(ground).tier,
        min_margin=ground.options.min_margin,
        verdict=_verdict(weighed),
        reasons=tuple(weighed),
        boxes=boxes,
        seen=checklist_seen.seen(ground.options.read),
        warnings=tuple(_warnings(ground)),
        assumptions=ground.margin.assumptions,
    )


def _box(ground: Ground, number: int, box: Question) -> Box:
    question = box.QUESTION.format(least=units.times(ground.options.min_margin))
    return _answered(number, question, box.reasons(ground), box.figures(ground), box.run(ground))


def _answered(
    number: int, question: str, reasons: Iterable[Reason], figures: Iterable[Figure], run: Iterable[str]
) -> Box:
    """By the heaviest of its reasons."""
    weighed = _by_weight(reasons)
    answer: Answer = next((ANSWERS[each.effect] for each in weighed if each.effect in ANSWERS), "unknown")
    return Box(number, question, answer, tuple(weighed), tuple(figures), tuple(run))


def _by_weight(reasons: Iterable[Reason]) -> list[Reason]:
    return sorted(reasons, key=lambda each: WEIGHT.index(each.effect))


def _without_model(seen: checklist_bare.Bare, hardware: Machine | str) -> Checklist:
    """What was seen, where no profile fits the model."""
    machine = catalog.machine(hardware) if isinstance(hardware, str) else hardware
    options, least = seen.options, units.times(seen.options.min_margin)
    boxes = tuple(
        _answered(
            number,
            box.QUESTION.format(least=least),
            checklist_bare.reasons(seen, number),
            checklist_bare.figures(seen, number),
            [checklist_bare.RUN] if number == 1 else [],
        )
        for number, box in enumerate(BOXES, 1)
    )
    weighed = _by_weight(reason for box in boxes for reason in box.reasons)
    found = checklist_seen.seen(options.read)
    return Checklist(
        schema_version=SCHEMA_VERSION,
        model=seen.named or UNKNOWN,
        model_title=seen.named or "A model that nothing names",
        hardware=machine.name,
        hardware_title=machine.node.title,
        engine=options.engine or found[0].engine,
        tp=options.tp or 1,
        kv_dtype=options.kv_dtype or found[0].kv_dtype or formats.AUTO,
        kv_stored=UNKNOWN,
        weights=UNKNOWN,
        tokens=int(options.tokens or found[0].mean_prompt_tokens or 0),
        tier=tier(options),
        min_margin=options.min_margin,
        verdict=_verdict(weighed),
        reasons=tuple(weighed),
        boxes=boxes,
        seen=found,
        warnings=("no profile fits the model: only what was read is said; give --model",),
        assumptions=(),
    )


def _verdict(weighed: list[Reason]) -> Decision:
    """By the heaviest reason."""
    return next((DECISIONS[each.effect] for each in weighed if each.effect in DECISIONS), "worth measuring")


def _hbm_bytes(ground: Ground) -> int:
    """Of the pool, all GPUs of a replica together."""
    return round((ground.pool.value if ground.pool else 0.0) * ground.moved_bytes / ground.margin.tokens)


def _warnings(ground: Ground) -> Iterator[str]:
    """What the answer rests on that may not hold."""
    if ground.options.hardware_assumed:
        yield f"the hardware is supposed to be {ground.machine.name}: give --hardware"
    if ground.run.tp_assumed:
        whole = ground.machine.node.gpus
        why = "all GPUs of the node" if ground.tp == whole else f"the model can't be split over all {whole} GPUs"
        yield f"TP {ground.tp} is supposed ({why}): give --tp"
    if ground.run.costs == checklist_named.IDEAL:
        yield (
            f"no engine is named: pools and options are by {ground.engine}'s rules, and fetches have no engine's "
            "fixed costs; give --engine"
        )
    if ground.refusal:
        yield f"the pool of HBM can't be predicted: {ground.refusal}"
    if ground.pool and ground.pool.origin == "predicted":
        held = units.count(ground.pool.value)
        yield f"HBM's pool of {held} tokens is predicted; give the engine's own with --pool or --log"
        if ground.curve:
            yield (
                f"that pool is of {ground.kv.stored} KV, less what the engine takes; 'kvcalc curve' by itself counts "
                f"FP8 first and takes only the weights off: give it --hbm {units.exact(_hbm_bytes(ground), 'B')} for "
                "the same pool"
            )
    if ground.options.tokens is None and ground.tokens.origin.startswith("nobody"):
        yield f"the prefix length is not stated: {units.count(ground.tokens.value)} tokens are supposed; give --seq"
    if ground.tp > 1 and checklist_effective.seen(ground) is not None:
        yield "the metrics' rate into HBM is bytes over seconds, ranks added up: ranks side by side are faster"
    others = {each.tier for each in ground.margin.paths} - {checklist_effective.path(ground).tier}
    yield from (each for each in ground.margin.warnings if each.partition(":")[0] not in others)
