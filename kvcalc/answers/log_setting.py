"""An engine's log with the model it is of, and the degrees and the format it ran with."""

import math
from dataclasses import replace
from typing import Literal

from kvcalc.answers import log_given, log_names, log_sglang
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.observe.observation import Observation
from kvcalc.physics import formats, kv
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.model import Chunked, Cross, Full, Latent, LayerGroup, Model, Recurrent, Sliding

KEYED = (Full, Sliding, Chunked, Cross, Latent)


@frozen
class Setup:
    """What a log may leave unsaid of its run, and whoever reads it may know."""

    max_model_len: int | None = None
    hardware: Machine | None = None
    memory_utilization: float | None = None
    weights_bytes: float | None = None  # on one GPU

    def check(self) -> None:
        """Refuse what no run can have had. Raises UserError."""
        share, weights = self.memory_utilization, self.weights_bytes
        if share is not None and not 0 < share <= 1:
            raise UserError(f"--memory-utilization: {share:g} is not above 0 and at most 1; 0.9 is usual")
        if weights is not None and not 0 < weights < math.inf:
            raise UserError(f"--weights-gib: a size must be above zero, not {weights:g}")


NOTHING = Setup()


@frozen
class Seen:
    """What the log says and what was asked; the options win."""

    log: Observation
    model: Model | None
    named_by: str | None
    tp: int
    pp: int
    kv: str | None  # stored format, None without a model or where it is not known
    setup: Setup = NOTHING
    length_by: Literal["log", "option", "model"] | None = None  # whose longest length `log` has
    contradictions: tuple[str, ...] = ()  # of options to the log

    @property
    def parallel(self) -> int:
        """GPUs that one copy of the model runs on."""
        return self.tp * self.pp


def settle(
    log: Observation, model: Model | None, tp: int | None, pp: int | None, kv_dtype: str | None, setup: Setup = NOTHING
) -> Seen:
    """Match the model by the log's name where none is given. Raises UserError for a split or format that can't be."""
    setup.check()
    said = log
    named_by = "option" if model else None
    if model is None and log.model:
        model, exact = log_names.named(log.model)
        named_by = ("log" if exact else "likeness") if model else None
    degree = tp or log.tp or 1
    if model is not None:
        kv.check_split(model, degree)
    kv_format = _format(log, model, kv_dtype)
    log, length_by = _length(log, model, setup)
    log = log_sglang.sorted_pools(log, model, kv_format, degree)
    apart = log_given.contradictions(said, (model, tp, pp, kv_dtype), setup.max_model_len, setup.memory_utilization)
    return Seen(log, model, named_by, degree, pp or log.pp or 1, kv_format, setup, length_by, apart)


def _length(
    log: Observation, model: Model | None, setup: Setup
) -> tuple[Observation, Literal["log", "option", "model"] | None]:
    """The log with the longest length that is given; for vLLM's token line that of the model, where none is stated."""
    if setup.max_model_len is not None:
        return replace(log, max_model_len=setup.max_model_len), "option"
    if log.max_model_len is not None:
        return log, "log"
    if log.engine in ("vllm", "dynamo") and log.kv_tokens is not None and model is not None and model.context:
        return replace(log, max_model_len=model.context), "model"
    return log, None


def _format(log: Observation, model: Model | None, asked: str | None) -> str | None:
    asked = None if asked in (None, formats.AUTO) else formats.named(asked)
    word = asked or log.kv_dtype or log.k_format
    if not asked and not log.kv_format_known:
        return None  # its bytes are not known, so nothing is predicted
    if model is None:
        return word if word in formats.NAMES else None
    try:
        return formats.stored(model, word if word in formats.NAMES else formats.AUTO)
    except UserError:
        if asked:
            raise
        return None  # the engine knows a format for this model that is not known here


def expanded_bytes(model: Model, element: int) -> int:
    """Bytes of a token where latent attention is kept as the heads' own keys and values."""
    return sum(
        group.layers * group.heads * (group.nope + group.rope + group.value_width) * element
        for group in model.groups
        if isinstance(group, Latent)
    )


def _element(kv_format: str) -> float:
    """Bytes of an element by the name of its format alone, scales left out."""
    known = formats.FORMATS.get(kv_format)
    bits = 8 * known.block_bytes / known.block if known else 8
    return bits // 4 * 4 / 8


def plain_bytes(seen: Seen) -> float | None:
    """The formula that planners use: 2 x layers x KV heads x head width, cut over all ranks, at least one head each."""
    if seen.model is None or seen.kv is None:
        return None
    width = _element(seen.kv)
    total = sum(_plain(group, width, seen) for group in seen.model.groups)
    recurrent = sum(group.layers for group in seen.model.groups if isinstance(group, Recurrent))
    attention = sum(group.layers for group in seen.model.groups if isinstance(group, KEYED))
    return total * (attention + recurrent) / attention if total else None


def _plain(group: LayerGroup, width: float, seen: Seen) -> float:
    """Latent attention too as K and V of every head, which is what the formula takes it for."""
    match group:
        case Latent():
            return group.layers * group.heads * 2 * group.value_width * width / seen.parallel
        case Full() | Sliding() | Chunked() | Cross():
            heads = max(group.kv_heads / seen.tp, 1)
            return group.layers * heads * (group.key_width + group.value_width) * width / seen.pp
        case _:
            return 0.0
