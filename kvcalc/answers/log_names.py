"""The profile of a model by the name that a log has for it."""

import re

from kvcalc.errors import UserError
from kvcalc.profiles import catalog, places
from kvcalc.profiles.model import Model

# Words of a name that tell nothing of the layers: formats and tuning.
FORMATS = "fp8 fp4 nvfp4 mxfp4 int4 int8 bf16 fp16 awq gptq gguf autoround w8a8 w4a16 quantized dynamic static modelopt"
ASIDE = frozenset(f"meta instruct it chat base hf thinking mtp {FORMATS}".split())


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
