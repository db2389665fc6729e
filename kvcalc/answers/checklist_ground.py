"""What every box stands on: profiles found, and each number from the one who knows it best."""

from typing import get_args

from kvcalc.answers.capacity import capacity
from kvcalc.answers.capacity_options import CapacityOptions
from kvcalc.answers.capacity_result import Capacity
from kvcalc.answers.checklist_options import ChecklistOptions, Kv, check
from kvcalc.answers.checklist_seen import bytes_per_hit_token, every
from kvcalc.answers.curve_result import CurveAnswer
from kvcalc.answers.margin import margin
from kvcalc.answers.margin_result import Margin
from kvcalc.answers.options import Options
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.observe.observation import Traffic
from kvcalc.physics import formats, kv, weights
from kvcalc.physics.engines import rules
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Weights
from kvcalc.profiles.model import Model

TOKENS = 20_000  # of a prefix, where nobody says; the chapter's
SAME = 0.02  # by how much bytes a token may be off and still tell the format
TOLD = ("fp8", "bf16")  # the formats that a calibration tells apart
ENGINES = ("vllm", "sglang", "trtllm", "lmcache")


@frozen
class Known:
    """A value and who says so."""

    value: float
    origin: str


@frozen
class Format:
    """The KV format in use: as it is asked for, as it is stored, and who says so; None: nobody does."""

    name: str
    stored: str
    origin: str | None


@frozen
class Ground:
    """Everything that the boxes are worked out from."""

    options: ChecklistOptions
    model: Model
    machine: Machine
    engine: str
    tp: int
    kv: Format
    margin: Margin
    capacity: Capacity | None
    refusal: str | None  # why capacity can't tell
    pool: Known | None  # tokens of one replica
    tokens: Known  # of a prefix
    curve: CurveAnswer | None

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
        return tuple(each.traffic for each in every(self.options.read) if each.traffic)

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
    found = _model(model, options)
    machine = catalog.machine(hardware) if isinstance(hardware, str) else hardware
    engine = options.engine or next((e.engine for e in every(options.read) if e.engine in ENGINES), "vllm")
    tp = options.tp or next((each.tp for each in every(options.read) if each.tp), None) or machine.node.gpus
    form = _format(found, tp, options)
    fits, refusal = _capacity(found, machine, options, (engine, tp, form))
    pool = _pool(options, fits, kv.logical(found, TOKENS, form.stored) / TOKENS)
    drawn = _curve(found, machine, options, (tp, form, pool))
    tokens = _tokens(options, drawn)
    chosen = Options(
        kv_dtype=form.name,
        weights=_weights(found, options),
        tp=tp,
        engine=options.engine or "ideal",
        prefill=options.prefill,
        tiers=(tier(options),),
        latency={} if options.lookup_s is None else {"all": options.lookup_s},
        min_margin=options.min_margin,
        concurrency=options.concurrency,
    )
    answer = margin(found, machine, int(tokens.value), chosen)
    return Ground(options, found, machine, engine, tp, form, answer, fits, refusal, pool, tokens, drawn)


def tier(options: ChecklistOptions) -> str:
    """The tier that is asked about."""
    return options.tier or (options.sizes[0][0] if options.sizes else "dram")


def _model(model: Model | str | None, options: ChecklistOptions) -> Model:
    if model is not None:
        return catalog.model(model) if isinstance(model, str) else model
    named = next((each.model for each in every(options.read) if each.model), None)
    if named is None:
        raise UserError("--model is missing: nothing that was read names one; 'kvcalc models list' lists the profiles")
    try:
        return catalog.model(named)
    except UserError as error:
        raise UserError(f"{error}: it is the model that the metrics or the log name; add --model") from None


def _format(model: Model, tp: int, options: ChecklistOptions) -> Format:
    """As given, as stated, as the bytes of a hit token tell, or the engine's default."""
    if options.kv_dtype is not None:
        return Format(options.kv_dtype, formats.stored(model, options.kv_dtype), "given")
    stated = next((each.kv_dtype for each in every(options.read) if each.kv_dtype), None)
    if stated in formats.NAMES and stated != formats.AUTO:
        return Format(stated, formats.stored(model, stated), "stated")
    seen = bytes_per_hit_token(options.read)
    for name in TOLD if seen else ():
        if calibrates(model, name, tp, seen or 0.0):
            return Format(name, formats.stored(model, name), "bytes per hit token")
    origin = "stated" if stated else None
    return Format(formats.AUTO, formats.stored(model, formats.AUTO), origin)


def calibrates(model: Model, name: str, tp: int, seen: float) -> bool:
    """Are these the bytes of a token in this format, of one copy or of all ranks?"""
    try:
        stored = formats.stored(model, name)
    except UserError:
        return False
    sizes = (kv.logical(model, TOKENS, stored), kv.resident(model, TOKENS, stored, tp) * tp)
    return any(abs(seen * TOKENS / size - 1) <= SAME for size in sizes if size)


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


def _pool(options: ChecklistOptions, fits: Capacity | None, bytes_per_token: float) -> Known | None:
    if options.pool is not None:
        given = options.pool.tokens
        return Known(given if given is not None else (options.pool.bytes or 0.0) / bytes_per_token, "given")
    for each in options.read:
        if each.observation.kv_tokens:
            return Known(each.observation.kv_tokens, each.kind)
    return None if fits is None else Known(fits.fits.tokens, "predicted")


def _curve(
    model: Model, machine: Machine, options: ChecklistOptions, run: tuple[int, Format, Known | None]
) -> CurveAnswer | None:
    if options.trace is None:
        return None
    from kvcalc.answers.curve import curve
    from kvcalc.answers.placement import Placing

    tp, form, pool = run
    per_token = kv.resident(model, TOKENS, form.stored, tp) * tp / TOKENS
    sizes = {name: amount.bytes for name, amount in options.sizes if amount.bytes}
    chosen = Options(tp=tp, weights=_weights(model, options))
    hbm = pool.value * per_token if pool else None
    return curve(options.trace, Placing(model, machine, chosen, hbm, sizes))


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
