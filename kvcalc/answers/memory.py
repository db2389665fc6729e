"""What lies in the GPUs' memory: weights, this prompt's KV, and how many prefixes of its length find room."""

from kvcalc.answers.margin_result import Room, TierRoom
from kvcalc.answers.setting import Setting
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics import formats, kv, weights


@frozen
class Needs:
    """Bytes in the memory of the GPUs that serve one request."""

    weights: float
    cache: float  # this prompt's
    held: float

    @property
    def fit(self) -> bool:
        """Is there room for both?"""
        return self.weights + self.cache <= self.held


def needs(setting: Setting) -> Needs | None:
    """What this prompt needs; None where the weights are not known."""
    try:
        held = setting.tp * weights.rank_bytes(setting.model, setting.weights, setting.tp)
    except UserError:
        return None
    gpu = setting.machine.accelerator
    cache = setting.tp * kv.resident(setting.model, setting.tokens + setting.options.new, setting.kv, setting.tp)
    return Needs(held, cache, setting.tp * (gpu.device_memory or gpu.memory).value)


def dense_weights(weights: str) -> str:
    """The format of what is not an expert."""
    return "bf16" if weights == "mxfp4" else weights


def room(setting: Setting, needed: Needs | None) -> Room:
    """How many prefixes of this length fit in HBM at most, and how many more in each tier whose capacity is known."""
    free = None if needed is None else max(0.0, needed.held - needed.weights)

    def held(form: str) -> int | None:
        resident = setting.tp * kv.resident(setting.model, setting.tokens, form, setting.tp)
        return None if free is None else int(free // resident)

    wide, narrow = (formats.stored(setting.model, name) for name in ("bf16", "fp8"))
    size, *sizes = (kv.logical(setting.model, setting.tokens, form) for form in (setting.kv, wide, narrow))
    return Room(
        hbm_kv_bytes=free,
        hbm_prefixes=held(setting.kv),
        hbm_prefixes_16_bit=held(wide),
        hbm_prefixes_fp8=held(narrow),
        fp8_ratio=sizes[0] / sizes[1],
        replicas=setting.machine.node.gpus // setting.tp,
        tiers=tuple(
            TierRoom(
                tier.name, tier.capacity.value, int(tier.capacity.value // size), int(tier.capacity.value // sizes[1])
            )
            for tier in setting.tiers
            if tier.capacity
        ),
    )
