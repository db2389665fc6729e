"""What every box stands on: profiles found, and each number from the one who knows it best."""

from dataclasses import replace
from typing import get_args

from kvcalc.answers import checklist_named
from kvcalc.answers.capacity import capacity
from kvcalc.answers.capacity_options import CapacityOptions
from kvcalc.answers.capacity_result import Capacity
from kvcalc.answers.checklist_format import TOKENS, Format, in_use
from kvcalc.answers.checklist_named import IDEAL, Run
from kvcalc.answers.checklist_options import ChecklistOptions, Kv, check
from kvcalc.answers.checklist_seen import every, traffics
from kvcalc.answers.curve import curve
from kvcalc.answers.curve_result import CurveAnswer
from kvcalc.answers.margin import margin
from kvcalc.answers.margin_result import Margin
from kvcalc.answers.options import Options
from kvcalc.answers.placement import Placing
from kvcalc.answers.playing import Playing
from kvcalc.answers.route_result import RouteAnswer
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.observe.observation import Traffic
from kvcalc.physics import formats, kv, weights
from kvcalc.physics.engines import rules
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Weights
from kvcalc.profiles.model import Model

NO_RESERVE = 0.999  # of a GPU: weights that do not fit in so much fit nowhere


@frozen
class Known:
    """A value and who says so."""

    value: float
    origin: str


@frozen
class Ground:
    """Everything that the boxes are worked out from."""

    options: ChecklistOptions
    model: Model
    machine: Machine
    run: Run
    kv: Format
    margin: Margin
    usual: Margin | None  # with the costs of a real engine, where nobody names one
    capacity: Capacity | None
    refusal: str | None  # why capacity can't tell
    lacking: float  # bytes on each GPU that weights and buffers exceed it by, else 0
    pool: Known | None  # tokens of one replica
    tokens: Known  # of a prefix
    curve: CurveAnswer | None
    routed: RouteAnswer | None

    @property
    def engine(self) -> str:
        """Whose pools and options hold."""
        return self.run.engine

    @property
    def tp(self) -> int:
        """Ranks of one replica."""
        return self.run.tp

    @property
    def guessed(self) -> str:
        """What makes the pool a guess: nobody stated it, nor how the model is split."""
        if self.pool is None or self.pool.origin != "predicted" or not self.run.tp_assumed:
            return ""
        return f"the pool is a guess, predicted for a supposed TP {self.tp}: give --pool, --log or --tp"

    @property
    def bytes_per_token(self) -> float:
        """Of one copy, at this length."""
        return self.margin.kv_bytes / self.margin.tokens

    @property
    def stored_per_token(self) -> float:
        """Below HBM: of one copy, or of every rank's where the engine keeps a pool a rank."""
        copies = rules.replicas(self.engine, self.model, 1)
        return self.bytes_per_token if copies == "once" else self.moved_bytes / self.margin.tokens

    @property
    def moved_bytes(self) -> int:
        """Of one prefix where every rank loads its part."""
        return self.margin.kv_bytes_per_rank * self.tp

    @property
    def traffics(self) -> tuple[Traffic, ...]:
        """Of every engine and companion that was read."""
        return traffics(self.options.read)

    @property
    def host_pool(self) -> float | None:
        """Bytes in the engine's option: as it is said, or as a multiple of one rank's pool."""
        if self.options.host_ratio is None or self.pool is None:
            return self.options.host_pool
        return self.options.host_ratio * self.pool.value * self.moved_bytes / self.margin.tokens / self.tp or None

    @property
    def together(self) -> int:
        """Replicas that share the node, as far as they are stated."""
        return max(min(self.options.replicas or 1, self.machine.node.gpus // self.tp), 1)

    def kept(self, amount: Kv) -> float:
        """Tokens in an amount of KV below HBM."""
        return amount.tokens if amount.tokens is not None else (amount.bytes or 0.0) / self.stored_per_token

    def held(self, amount: Kv) -> float:
        """Tokens in an amount of KV, counted once."""
        return amount.tokens if amount.tokens is not None else (amount.bytes or 0.0) / self.bytes_per_token


def settle(model: Model | str | None, hardware: Machine | str, options: ChecklistOptions) -> Ground:
    """Find profiles and numbers. Raises UserError for whatever does not go together."""
    check(options)
    found = checklist_named.model(model, options)
    machine = catalog.machine(hardware) if isinstance(hardware, str) else hardware
    run = checklist_named.run(found, options, machine.node.gpus)
    tp = run.tp
    form = in_use(found, tp, options)
    fits, refusal = _capacity(found, machine, options, (run.engine, tp, form))
    lacking = fits.hbm.short_bytes if fits else _lacking(found, machine, options, (run.engine, tp, form))
    pool = _pool(options, fits, kv.logical(found, TOKENS, form.stored) / TOKENS)
    placing = _placing(found, machine, options, (tp, form, pool))
    drawn = curve(options.trace, placing) if options.trace else None
    tokens = _tokens(options, drawn)
    chosen = Options(
        kv_dtype=form.name,
        weights=_weights(found, options),
        tp=tp,
        engine=run.costs,
        prefill=options.prefill,
        tiers=(tier(options),),
        latency={} if options.lookup_s is None else {"all": options.lookup_s},
        min_margin=options.min_margin,
        concurrency=options.concurrency,
    )
    answer = margin(found, machine, int(tokens.value), chosen)
    named = replace(chosen, engine=run.engine)
    usual = margin(found, machine, int(tokens.value), named) if run.costs == IDEAL else None
    return Ground(
        options, found, machine, run, form, answer, usual, fits, refusal, lacking, pool, tokens, drawn,
        _routed(options, placing, form),
    )  # fmt: skip


def tier(options: ChecklistOptions) -> str:
    """The tier that is asked about."""
    return options.tier or (options.sizes[0][0] if options.sizes else "dram")


def _weights(model: Model, options: ChecklistOptions) -> str | None:
    if options.weights is not None:
        return options.weights
    try:
        own = weights.of_checkpoint(model)
    except UserError:
        return None
    mixed = own == "mxfp4" and model.checkpoint != own  # FP4 experts beside FP8, which margin has no rate for
    return own if own in get_args(Weights) and not mixed else None


def _capacity(
    model: Model, machine: Machine, options: ChecklistOptions, run: tuple[str, int, Format]
) -> tuple[Capacity | None, str | None]:
    engine, tp, form = run
    asked = CapacityOptions(
        kv_dtype=form.name,
        weights=options.weights,
        tp=tp,
        engine=engine,
        engine_version=options.engine_version,
        memory_utilization=options.memory_utilization,
        max_model_len=options.max_model_len,
    )
    try:
        return capacity(model, machine, asked), None
    except UserError as error:
        return None, str(error)


def _lacking(model: Model, machine: Machine, options: ChecklistOptions, run: tuple[str, int, Format]) -> float:
    """What weights lack on each GPU where capacity needs a memory fraction: with all of it, so at least so much."""
    if options.memory_utilization is not None:
        return 0.0
    fits, _ = _capacity(model, machine, replace(options, memory_utilization=NO_RESERVE), run)
    return fits.hbm.short_bytes if fits else 0.0


def _pool(options: ChecklistOptions, fits: Capacity | None, bytes_per_token: float) -> Known | None:
    if options.pool is not None:
        given = options.pool.tokens
        return Known(given if given is not None else (options.pool.bytes or 0.0) / bytes_per_token, "given")
    for each in options.read:
        if each.observation.kv_tokens:
            return Known(each.observation.kv_tokens, each.kind)
    return None if fits is None else Known(fits.fits.tokens, "predicted")


def _placing(
    model: Model, machine: Machine, options: ChecklistOptions, run: tuple[int, Format, Known | None]
) -> Placing:
    """The node's places on a trace, as the engine's pool is known here."""
    tp, form, pool = run
    per_token = kv.resident(model, TOKENS, form.stored, tp) * tp / TOKENS
    sizes = {name: amount.bytes for name, amount in options.sizes if amount.bytes}
    chosen = Options(tp=tp, weights=_weights(model, options))
    return Placing(model, machine, chosen, pool.value * per_token if pool else None, sizes)


def _routed(options: ChecklistOptions, placing: Placing, form: Format) -> RouteAnswer | None:
    """What routing gives on the trace, where several replicas are asked about."""
    if options.trace is None or (options.replicas or 1) < 2:
        return None
    from kvcalc.answers.route import route

    one = replace(placing, kv_dtypes=("bf16" if form.stored in formats.UNQUANTISED else "fp8",))
    return route(options.trace, one, Playing(replicas=options.replicas or 1))


def _tokens(options: ChecklistOptions, drawn: CurveAnswer | None) -> Known:
    if options.tokens is not None:
        return Known(options.tokens, "given")
    means = [(each.traffic.requests or 1, each.traffic.mean_prompt_tokens)
             for each in every(options.read) if each.traffic and each.traffic.mean_prompt_tokens]  # fmt: skip
    if means:
        mean = sum(number * tokens for number, tokens in means) / sum(number for number, _ in means)
        return Known(max(1, round(mean)), "metrics, the mean prompt")
    if drawn is not None:
        return Known(drawn.prompt_tokens, "trace, the mean prompt")
    return Known(TOKENS, "nobody says; the chapter's")
