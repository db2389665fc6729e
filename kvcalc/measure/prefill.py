"""Prefill of a model's own dimensions with random weights: its kernels timed apart, a few layers scaled to all."""

from collections.abc import Callable
from functools import partial
from operator import truediv
from typing import Any

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.measure import fits
from kvcalc.measure.device import MemoryFull, Stopwatch, refusals
from kvcalc.measure.results import Achieved, CurveFound, Law, Part, Reading, Setup
from kvcalc.measure.samples import Budget, Spread, repeat
from kvcalc.physics import kv
from kvcalc.profiles.model import Full, Model

LENGTHS = tuple(512 * 2**step for step in range(9))  # 512 to 128 Ki tokens
LAYERS = 2  # so that no cache holds the weights from one use to the next
BYTES = 2  # of a bf16 element
FAR = 4  # times the longest length measured: beyond, a curve is not to be trusted


@frozen
class Shard:
    """One rank's part of a layer, and how many layers there are."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    width: int  # of a head
    feed_forward: int

    def gemm_flops(self, tokens: int) -> float:
        """Of one layer's projections."""
        attention = self.hidden * self.width * 2 * (self.heads + self.kv_heads)
        return 2.0 * tokens * (attention + 3 * self.hidden * self.feed_forward)

    def attention_flops(self, tokens: int) -> float:
        """Of one layer's causal attention: half of the square."""
        return 2.0 * self.heads * 2 * self.width * tokens * tokens / 2

    def element_bytes(self, tokens: int) -> float:
        """Read and written by one layer's norms, residuals and activation."""
        return BYTES * float(tokens) * (2 * (2 + 3) * self.hidden + 3 * self.feed_forward)


def shard(model: Model, tp: int) -> Shard:
    """A rank's dimensions. Raises UserError for layers other than full attention with one dense, gated block."""
    kv.check_split(model, tp)
    groups, blocks = model.groups, model.feed_forward or ()
    group = groups[0]
    if len(groups) > 1 or not isinstance(group, Full) or group.key_width != group.value_width or group.gated:
        raise UserError(f"{model.name!r} can't be measured: only models of plain full attention can")
    if len(blocks) != 1 or blocks[0].experts or not blocks[0].gated:
        raise UserError(f"{model.name!r} can't be measured: only dense gated feed-forward blocks can")
    kv_heads = max(1, group.kv_heads // tp)
    return Shard(group.layers, model.hidden, group.heads // tp, kv_heads, group.key_width, blocks[0].width // tp)


def measure(model: Model, tp: int, device: str, budget: Budget, lengths: tuple[int, ...] = LENGTHS) -> Part:
    """Lengths from the shortest on, as far as memory and time allow."""
    one = shard(model, tp)
    kernels, warnings = _kernels(one, device)
    found: dict[int, tuple[Spread, Spread, Spread]] = {}
    for tokens in (each for each in lengths if model.context is None or each <= model.context):
        if found and 4 * _cost(found) > budget.left_s:  # twice the tokens may take four times as long
            warnings.append(f"prefill stops at {units.count(max(found))} tokens: longer ones do not fit the budget")
            break
        try:
            with refusals(device, "raise --tp"):
                found[tokens] = kernels.seconds(tokens, budget)
        except MemoryFull:
            warnings.append(
                f"prefill stops before {units.count(tokens)} tokens: they do not fit the memory of {device}"
            )
            break
    if not found:
        raise UserError(f"the shortest prefill of {model.name!r} does not fit {device}; raise --tp")
    points = tuple((tokens, one.layers * sum(each.median for each in found[tokens])) for tokens in found)
    laws = (Law("prefill of the whole model", fits.curve(points)),) if len(points) >= 3 else ()
    readings = _readings(one, found)
    note = f"{kernels.layers} of {one.layers} layers, random bf16 weights, kernels timed apart, no all-reduce, TP {tp}."
    longest = max(found)
    works = one.gemm_flops(longest), one.attention_flops(longest), one.element_bytes(longest)
    gemm, attention, elements = (work / each.median for work, each in zip(works, found[longest], strict=True))
    peak = max(reading.value.median for reading in readings if reading.unit == "FLOP/s")
    if FAR * longest < (model.context or lengths[-1]):
        end = units.count(FAR * longest)
        far = f"Beyond {end} tokens, {FAR} times the longest prompt measured, it is extrapolated far."
        note = f"{note} {far}"
        warnings.append(f"the curve ends at {units.count(longest)} tokens. {far}")
    achieved = Achieved(gemm, attention, elements, peak)
    curve = CurveFound(Setup(model.name, tp, "bf16", 16), points, note)
    return Part("prefill", readings, laws, curve=curve, achieved=achieved, warnings=tuple(warnings))


def _kernels(one: Shard, device: str) -> tuple["_Kernels", list[str]]:
    """A few layers, or as many as the device takes. Raises UserError where it takes none."""
    remedy = "raise --tp, or free memory there"
    try:
        with refusals(device, remedy):
            return _Kernels(one, device, LAYERS), []
    except MemoryFull:
        pass  # what was made for the first try goes with its exception, before the second
    with refusals(device, remedy):
        return _Kernels(one, device, 1), [f"{LAYERS} layers do not fit the memory of {device}: one is measured"]


def _cost(found: dict[int, tuple[Spread, Spread, Spread]]) -> float:
    """Seconds that the longest length took to measure."""
    return LAYERS * sum(each.median * (each.count + 1) for each in found[max(found)])


def _readings(one: Shard, found: dict[int, tuple[Spread, Spread, Spread]]) -> tuple[Reading, ...]:
    readings = []
    for tokens, (gemm, attention, elements) in found.items():
        many = f"{units.count(tokens)} tokens"
        readings += [
            Reading(f"GEMMs, {many}", "FLOP/s", gemm.map(partial(truediv, one.gemm_flops(tokens)))),
            Reading(f"attention, {many}", "FLOP/s", attention.map(partial(truediv, one.attention_flops(tokens)))),
            Reading(f"norms, activations, {many}", "B/s", elements.map(partial(truediv, one.element_bytes(tokens)))),
        ]
    readings += [Reading(f"prefill, {units.count(tokens)} tokens", "s", _sum(one, found[tokens])) for tokens in found]
    return tuple(readings)


def _sum(one: Shard, kernels: tuple[Spread, Spread, Spread]) -> Spread:
    """Of all layers; low and high where all kernels are, so wider than that of the sum."""
    median, low, high = (
        one.layers * sum(ends) for ends in zip(*((each.median, each.low, each.high) for each in kernels), strict=True)
    )
    return Spread(median, low, high, min(each.count for each in kernels))


class _Kernels:
    """A few layers on a device."""

    def __init__(self, one: Shard, device: str, layers: int) -> None:
        import torch

        self.layers = layers
        self._one, self._watch = one, Stopwatch(device)
        self._make = partial(torch.randn, dtype=torch.bfloat16, device=device)
        queries, keys = one.heads * one.width, one.kv_heads * one.width
        shapes = [(queries + 2 * keys, one.hidden), (one.hidden, queries), (2 * one.feed_forward, one.hidden)]
        shapes.append((one.hidden, one.feed_forward))
        self._weights = [[self._make(shape) for shape in shapes] for _ in range(layers)]

    def seconds(self, tokens: int, budget: Budget) -> tuple[Spread, Spread, Spread]:
        """Of one layer: GEMMs, attention, the rest."""
        works = self._gemms(tokens), self._attention(tokens), self._elements(tokens)
        shares = [repeat(partial(self._watch, work), budget.share(10), least=1, most=10) for work in works]
        gemm, attention, elements = shares
        return gemm.map(lambda s: s / self.layers), attention, elements

    def _gemms(self, tokens: int) -> Callable[[], object]:
        from torch.nn.functional import linear

        inputs = {weight.shape[1]: self._make((tokens, weight.shape[1])) for weight in self._weights[0]}
        pairs: list[Any] = [(inputs[weight.shape[1]], weight) for layer in self._weights for weight in layer]
        return lambda: [linear(given, weight) for given, weight in pairs]

    def _attention(self, tokens: int) -> Callable[[], object]:
        from torch.nn.functional import scaled_dot_product_attention

        one = self._one
        query = self._make((1, one.heads, tokens, one.width))
        key, value = (self._make((1, one.kv_heads, tokens, one.width)) for _ in range(2))
        grouped = one.heads != one.kv_heads
        return lambda: scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=grouped)

    def _elements(self, tokens: int) -> Callable[[], object]:
        from torch.nn.functional import rms_norm, silu

        one = self._one
        state, added = (self._make((tokens, one.hidden)) for _ in range(2))
        gate, up = (self._make((tokens, one.feed_forward)) for _ in range(2))
        weight = self._make((one.hidden,))

        def run() -> None:
            for _ in range(2):
                rms_norm(state + added, (one.hidden,), weight)
            silu(gate).mul_(up)

        return run
