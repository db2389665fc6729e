"""The KV pool that a vLLM log states beside the one that model, device and utilization give."""

from collections.abc import Iterator

from kvcalc.answers.log_result import Comparison
from kvcalc.answers.log_setting import Seen
from kvcalc.errors import UserError
from kvcalc.physics import weights
from kvcalc.physics.budget import activation
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model

FIGURE = "bytes of the KV pool"
BUDGET = "vllm-0.19"
SPREAD = 0.02  # beyond 1 %: nine fitted runs of ten are within 1.5 %, all but one within 3 %
UNKNOWN = 0.49  # of other versions and engines only a pool of about half or twice is worth a word


def comparison(seen: Seen) -> Iterator[Comparison]:
    """Nothing where the log does not say what vLLM may use, or where the weights are not known."""
    log, requested = seen.log, _requested(seen)
    if log.engine != "vllm" or seen.model is None or not requested or not log.available_kv_bytes:
        return
    size = _weights(seen, seen.model)
    if size is None:
        return
    known = catalog.budget(BUDGET)
    context = known.non_torch_alone if seen.tp == 1 else known.non_torch_parallel
    peak = activation(seen.model, known, _form(seen), known.batch)
    predicted = requested - size - peak - context.value
    fitted = (log.version or "").startswith(known.version)
    ratio = log.available_kv_bytes / predicted if predicted > 0 else None
    slack = SPREAD if fitted else UNKNOWN
    yield Comparison(FIGURE, "bytes", log.available_kv_bytes, max(predicted, 0.0) or None, ratio, slack)


def unchecked(seen: Seen) -> str | None:
    """Why the pool itself is not predicted, where the log states one."""
    if not seen.log.available_kv_bytes or seen.model is None:
        return None
    if seen.log.engine != "vllm":
        asked = seen.setup.hardware or seen.setup.memory_utilization or seen.setup.weights_bytes
        return "the pool itself is not checked: what lies beside it is known of vLLM only" if asked else None
    if not _requested(seen):
        return "the pool itself is not checked, its device is not known: give --hardware"
    if _weights(seen, seen.model) is None:
        return "the pool itself is not checked, its weights can't be counted: give --weights-gib"
    return None


def _requested(seen: Seen) -> float | None:
    """What vLLM may use: as stated, unless an option says another thing of the device or its share."""
    log, setup = seen.log, seen.setup
    if log.requested_bytes and setup.hardware is None and setup.memory_utilization is None:
        return log.requested_bytes
    default = catalog.budget(BUDGET).utilization
    share = setup.memory_utilization or log.memory_utilization or (default.value if default else None)
    device = log.device_bytes
    if setup.hardware is not None:
        gpu = setup.hardware.accelerator
        device = (gpu.device_memory or gpu.memory).value
    elif device is None and log.requested_bytes and log.memory_utilization:
        device = log.requested_bytes / log.memory_utilization
    return share * device if share and device else None


def _form(seen: Seen) -> str:
    """The weights' format by the log's word; 16 bits if it is not one that is known here."""
    return seen.log.weight_dtype if seen.log.weight_dtype in weights.BYTES else "bf16"


def _weights(seen: Seen, model: Model) -> float | None:
    if seen.setup.weights_bytes is not None:
        return seen.setup.weights_bytes
    if seen.log.weights_bytes is not None:
        return seen.log.weights_bytes
    try:
        return weights.rank_bytes(model, _form(seen), seen.tp, seen.pp)
    except UserError:
        return None
