"""The coefficients of the prefill model for a model on a machine."""

from math import sqrt

from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics.attention import Attention
from kvcalc.physics.prefill import AllReduce, Prefill
from kvcalc.physics.work import Shape
from kvcalc.profiles.hardware import Accelerator, Constants, EngineConstants, Fit, Rates
from kvcalc.profiles.sources import Basis, Figure

WEIGHT_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "nvfp4": 0.5625, "mxfp4": 0.53125}
SIXTEEN_BIT = ("bf16", "fp16")
SMALL = 5e9  # parameters below which a dense model is fitted less well


@frozen
class Gpus:
    """So many GPUs in tensor parallel, with the constants that serve them."""

    gpu: Accelerator
    fit: Fit
    engine: str  # "any": not named
    tp: int

    @property
    def constants(self) -> Constants:
        """Fitted to the engines each, or to all of them together."""
        return self.fit.any if self.engine == "any" else self.fit.named

    @property
    def of_engine(self) -> EngineConstants:
        """What differs between engines."""
        found = self.constants.engines.get(self.engine)
        if found is None:
            raise UserError(f"no prefill constants of {self.engine} for {self.gpu.name!r}; leave out --engine")
        return found

    @property
    def memory(self) -> float:
        """Bytes/s that one GPU's element-wise kernels reach."""
        return self.fit.form.memory.value * self.gpu.memory_bandwidth.value

    def computes(self, weights: str) -> str:
        """The format in which dense GEMMs are computed: 16 bits where the GPU has no arithmetic for the weights."""
        if weights in SIXTEEN_BIT or weights == "mxfp4":
            return "bf16"
        peak = self.gpu.peak.fp8 if weights == "fp8" else self.gpu.peak.fp4
        return weights if peak and getattr(self.constants.gemm, weights) else "bf16"

    def gemm_rate(self, computed: str) -> float:
        """FLOP/s that one GPU reaches in large dense GEMMs."""
        peak, achieved = self.gpu.peak.bf16, self.gpu.achieved and self.gpu.achieved.bf16
        if computed == "fp8" and self.gpu.peak.fp8:
            peak, achieved = self.gpu.peak.fp8, self.gpu.achieved and self.gpu.achieved.fp8
        if computed == "nvfp4" and self.gpu.peak.fp4:
            peak, achieved = self.gpu.peak.fp4, None
        reached = peak.value * _rate(self.constants.gemm, computed).value
        return min(reached, achieved.value) if achieved and self.gpu.fit_basis == "estimate" else reached


def _rate(rates: Rates, name: str) -> Figure:
    found: Figure | None = getattr(rates, "bf16" if name == "fp16" else name)
    if found is None:
        raise UserError(f"no prefill constants for {name} weights on this GPU; give a rate with --prefill RATE")
    return found


def build(shape: Shape, gpus: Gpus, weights: str, kv_bits: int) -> Prefill:
    """The prefill model of a model's shape on GPUs. Raises UserError for what the constants don't cover.

    `weights` is the format of the weights, `kv_bits` the width of an element of the KV cache.
    """
    counted, ranks = shape.parameters, gpus.tp
    computed = gpus.computes(weights)
    low = computed not in SIXTEEN_BIT
    reads = ranks * gpus.gpu.memory_bandwidth.value / WEIGHT_BYTES[weights]  # weights/s of all ranks together
    engine = "engine not named" if gpus.engine == "any" else gpus.engine
    return Prefill(
        title=f"prefill model ({gpus.fit.name} constants, {engine})",
        basis=_basis(shape, gpus),
        sources=(gpus.constants.launch.source,),
        bands=_bands(shape, gpus),
        live=gpus.fit.bands.live.value,
        launch=_launch(shape, gpus, low),
        elementwise=_elementwise(shape, gpus, low),
        gemm=2 * counted.linear / (ranks * gpus.gemm_rate(computed)),
        weights=0.0 if counted.experts else counted.linear / reads,
        experts=_experts(shape, gpus, weights),
        expert_weights=counted.experts / reads,
        attention=_attention(shape, gpus, kv_bits),
        all_reduce=_all_reduce(shape, gpus),
    )


def _launch(shape: Shape, gpus: Gpus, low: bool) -> float:
    form, layer = gpus.fit.form, gpus.constants.launch.value
    total = shape.layers * (layer + (form.launch_low.value if low else 0.0))
    total += shape.expert_layers * form.launch_experts.value
    return total + (shape.sparse_layers * gpus.of_engine.sparse_launch.value if shape.sparse_layers else 0.0)


def _elementwise(shape: Shape, gpus: Gpus, low: bool) -> float:
    """Norms and residuals on every rank, activations split; then the inputs of the four GEMMs of a layer."""
    hidden, width = shape.hidden, shape.dense_width
    moved = 2 * (8 * hidden + 3 * width / gpus.tp)
    if low:
        moved += gpus.fit.form.quantise.value * (2 * hidden + (shape.value_width + width) / gpus.tp)
    return shape.layers * moved / gpus.memory


def _experts(shape: Shape, gpus: Gpus, weights: str) -> float:
    routed = shape.parameters.routed
    if not routed:
        return 0.0
    busiest: float = gpus.tp**gpus.fit.form.imbalance.value
    rate = gpus.tp * gpus.gpu.peak.bf16.value * _rate(gpus.of_engine.experts, weights).value
    return 2 * routed * busiest / rate


def _attention(shape: Shape, gpus: Gpus, kv_bits: int) -> tuple[tuple[float, Attention], ...]:
    found = shape.absorbed if gpus.of_engine.latent_absorbed else shape.attention
    return tuple((_pair(group, gpus, kv_bits), group) for group in found)


def _pair(group: Attention, gpus: Gpus, kv_bits: int) -> float:
    """Seconds of one visible pair. Sparse attention and its index run whole on every rank."""
    peak, form, constants = gpus.gpu.peak.bf16.value, gpus.fit.form, gpus.constants
    flops = 2 * group.width * group.heads * group.layers
    if group.role == "sparse":
        return flops / (peak * form.sparse_attention.value)
    if group.role == "index":
        return flops / (peak * form.index.value)
    engine = gpus.of_engine
    if group.role == "state":
        return flops / (gpus.tp * peak * engine.attention_kv16.value)
    usual = 256  # key and value of 128 elements each
    width = usual + constants.head_width.value * (group.width - usual)
    heads = group.heads / gpus.tp + constants.spare_heads.value
    narrow = engine.attention_kv8 if kv_bits == 8 and group.role == "dense" else None
    return 2 * width * heads * group.layers / (peak * (narrow or engine.attention_kv16).value)


def _all_reduce(shape: Shape, gpus: Gpus) -> AllReduce:
    ranks, constants = gpus.tp, gpus.constants
    if ranks == 1:
        return AllReduce(0.0, 1.0, 0.0)
    if gpus.gpu.gpu_link is None:
        raise UserError(
            f"the GPU link of {gpus.gpu.name!r} is not known; use --tp 1 or give a rate with --prefill RATE"
        )
    fraction = constants.link_2 if ranks <= 2 else constants.link_4 if ranks <= 4 else constants.link_8
    message = 2 * shape.hidden  # bytes a token
    count = 2 * shape.layers
    link = count * message * 2 * (ranks - 1) / ranks / (gpus.gpu.gpu_link.value * fraction.value)
    latency = count * gpus.of_engine.all_reduce.value * sqrt(ranks / 8)
    return AllReduce(latency, gpus.fit.form.small_message.value / message, link)


def _basis(shape: Shape, gpus: Gpus) -> Basis:
    return gpus.gpu.fit_basis if shape.tested else "estimate"


def _bands(shape: Shape, gpus: Gpus) -> tuple[float, float]:
    bands, counted = gpus.fit.bands, shape.parameters
    named = gpus.engine != "any"
    classes = [bands.dense if named else bands.dense_any]
    if counted.experts:
        classes = [bands.experts if named else bands.experts_any]
    elif counted.linear < SMALL:
        classes.append(bands.small)
    if shape.sparse_layers:
        classes.append(bands.sparse)
    if _basis(shape, gpus) == "estimate":
        classes.append(bands.untested)
    widest = max(band.value for band in classes)
    return max(widest, bands.short.value), widest
