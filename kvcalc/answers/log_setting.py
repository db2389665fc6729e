"""An engine's log with the model it is of, and the degrees and the format it ran with."""

import re

from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.observe.observation import Observation
from kvcalc.physics import formats, kv
from kvcalc.profiles import catalog, places
from kvcalc.profiles.model import Chunked, Cross, Full, Latent, LayerGroup, Model, Recurrent, Sliding

KEYED = (Full, Sliding, Chunked, Cross, Latent)
# Words of a name that tell nothing of the layers: formats and tuning.
FORMATS = "fp8 fp4 nvfp4 mxfp4 int4 int8 bf16 fp16 awq gptq gguf autoround w8a8 w4a16 quantized dynamic static modelopt"
ASIDE = frozenset(f"meta instruct it chat base hf thinking mtp {FORMATS}".split())


@frozen
class Seen:
    """What the log says and what was asked; the options win."""

    log: Observation
    model: Model | None
    named_by: str | None
    tp: int
    pp: int
    kv: str | None  # stored format, None without a model or where it is not known

    @property
    def parallel(self) -> int:
        """GPUs that one copy of the model runs on."""
        return self.tp * self.pp


def settle(log: Observation, model: Model | None, tp: int | None, pp: int | None, kv_dtype: str | None) -> Seen:
    """Match the model by the log's name where none is given. Raises UserError for a split or format that can't be."""
    named_by = "option" if model else None
    if model is None and log.model:
        model, exact = named(log.model)
        named_by = ("log" if exact else "likeness") if model else None
    degree = tp or log.tp or 1
    if model is not None:
        kv.check_split(model, degree)
    return Seen(log, model, named_by, degree, pp or log.pp or 1, _format(log, model, kv_dtype))


def named(name: str) -> tuple[Model | None, bool]:
    """The profile of a model by the name in a log, and whether that is the very name of its repository."""
    wanted = name.rstrip("/")
    try:
        return catalog.model(wanted), True
    except UserError:
        fitting = [each for each in places.names(Model) if stem(wanted) in _stems(each)]
    return (catalog.model(fitting[0]) if len(fitting) == 1 else None), False


def _stems(profile: str) -> tuple[str, ...]:
    return stem(profile), stem(catalog.model(profile).huggingface or profile)


def stem(name: str) -> str:
    """The name without organisation, folder, and the words for format and tuning."""
    words = re.split(r"[-_. ]", name.lower().rsplit("/", 1)[-1])
    return "-".join(word for word in words if word not in ASIDE)


def _format(log: Observation, model: Model | None, asked: str | None) -> str | None:
    asked = None if asked == formats.AUTO else asked
    word = asked or log.kv_dtype or log.k_format
    if asked and asked not in formats.NAMES:
        raise UserError(f"no KV format {shown(asked)}; one of {', '.join(formats.NAMES)}")
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
