"""What would make the weights fit where they leave nothing for KV cache."""

from collections.abc import Iterator
from dataclasses import replace

from kvcalc import units
from kvcalc.answers.capacity_memory import budget
from kvcalc.answers.capacity_setting import CapacitySetting
from kvcalc.errors import UserError
from kvcalc.physics import kv
from kvcalc.physics.weights import BYTES

SMALLER = ("fp8", "nvfp4", "int4")  # weight formats that most models are served in, from the largest


def remedies(setting: CapacitySetting) -> tuple[str, ...]:
    """The smallest tensor-parallel degree, and the largest weight format, with which the weights leave something."""
    options = setting.options
    if options.reserve and _left(replace(setting, options=replace(options, reserve=0.0))):
        bare = _left(replace(setting, options=replace(options, reserve=0.0)))
        return (f"without --reserve {units.both(bare)} of each GPU are left for KV cache",)
    if options.weights_bytes is not None:
        return ("the weights are as given: no other degree or format can be weighed against them",)
    degrees, forms = _degrees(setting), _formats(setting)
    alone = (
        *_first(setting, [(tp, setting.weights) for tp in degrees]),
        *_first(setting, [(setting.tp, form) for form in forms]),
    )
    if alone:
        return alone
    both = tuple(_first(setting, [(tp, form) for form in forms for tp in degrees]))
    most = max((setting.tp, *degrees))
    nothing = f"nothing known here fits on {setting.machine.name}: TP up to {most}, weights down to {SMALLER[-1]}"
    return both or (f"{nothing}; use more or larger GPUs",)


def _degrees(setting: CapacitySetting) -> list[int]:
    """Larger ones that the node has GPUs for and the model can be split over."""
    most = setting.machine.node.gpus // (setting.options.pp * setting.options.dp)
    return [tp for tp in range(setting.tp + 1, most + 1) if kv.splits(setting.model, tp)]


def _formats(setting: CapacitySetting) -> list[str]:
    return [form for form in SMALLER if BYTES[form] < BYTES[setting.weights]]


def _first(setting: CapacitySetting, tries: list[tuple[int, str]]) -> Iterator[str]:
    for tp, form in tries:
        if left := _left(replace(setting, tp=tp, weights=form)):
            changed = ([f"--tp {tp}"] if tp != setting.tp else []) + (
                [f"--weights {form}"] if form != setting.weights else []
            )
            yield f"{' '.join(changed)} leaves {units.both(left)} of each GPU for KV cache"
            return


def _left(setting: CapacitySetting) -> float:
    """Bytes of the pool; 0 where nothing is left."""
    try:
        return budget(setting).pool_bytes
    except UserError:
        return 0.0
