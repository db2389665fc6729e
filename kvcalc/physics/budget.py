"""From a GPU's memory to its KV pool: weights, activations, context, and what a fraction is a fraction of."""

from kvcalc.frozen import frozen
from kvcalc.profiles.budget import Batch, Budget
from kvcalc.profiles.hardware import Accelerator
from kvcalc.profiles.model import Model


@frozen
class Memory:
    """What is taken of one GPU, in bytes; the pool may come out negative."""

    device: float
    utilization: float  # of the device, or of what is free, as the engine reads it
    weights: float
    activation: float
    non_torch: float
    reserved: float  # by the user, for something else

    def free(self, share: str) -> float:
        """Bytes beside what was there before the pool; activations that live in what the utilization leaves aside."""
        beside = share == "of-device-with-activations-beside"
        return self.device - self.reserved - self.weights - self.non_torch - (0.0 if beside else self.activation)

    def withheld(self, share: str) -> float:
        """Bytes that the utilization leaves: of the device, or of what is free."""
        return (1 - self.utilization) * (max(self.free(share), 0.0) if share == "of-free" else self.device)

    def pool(self, share: str) -> float:
        """Bytes of the KV pool; below zero what is lacking."""
        return self.free(share) - self.withheld(share)


def batch(budget: Budget, gpu: Accelerator) -> Batch:
    """What the engine puts in a step on this GPU (vLLM 0.19, engine/arg_utils.py: get_batch_defaults)."""
    if budget.small_batch is None or budget.small_memory is None:
        return budget.batch
    small = (gpu.device_memory or gpu.memory).value < budget.small_memory.value or gpu.name.startswith("a100")
    return budget.small_batch if small else budget.batch


def activation(model: Model, budget: Budget, form: str, run: Batch, last: bool = True) -> float:
    """Bytes of the profiling run's peak; a pipeline's other stages compute no logits."""
    each = budget.activation
    tokens, sequences = run.tokens / budget.batch.tokens, run.sequences / budget.batch.sequences
    wide = form in ("bf16", "fp16", "fp32")
    sent = max((block.top_k or 0 for block in model.feed_forward or ()), default=0) if wide else 0
    logits = each.vocabulary.value * (model.vocabulary or 0) * sequences if last else 0.0
    return each.fixed.value + logits + (each.hidden.value + sent * each.expert.value) * model.hidden * tokens
