"""The KV format in use: as given, as stated, as the bytes of a hit token tell, or the engine's default."""

from kvcalc.answers.checklist_options import ChecklistOptions
from kvcalc.answers.checklist_seen import bytes_per_hit_token, every
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics import formats, kv
from kvcalc.profiles.model import Model

TOKENS = 20_000  # of a prefix, where nobody says; the chapter's
SAME = 0.02  # by how much bytes a token may be off and still tell the format
TOLD = ("fp8", "bf16")  # the formats that a calibration tells apart


@frozen
class Format:
    """The KV format in use: as it is asked for, as it is stored, and who says so; None: nobody does."""

    name: str
    stored: str
    origin: str | None


def in_use(model: Model, tp: int, options: ChecklistOptions) -> Format:
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
