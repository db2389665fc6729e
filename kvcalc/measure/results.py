"""What a measurement leaves: figures with their spread, fitted laws, and what they mean for a profile."""

from typing import Literal

from kvcalc.frozen import frozen
from kvcalc.measure.fits import Curve, Line
from kvcalc.measure.samples import Spread
from kvcalc.profiles.hardware import Weights

Unit = Literal["B/s", "s", "tok/s", "FLOP/s", ""]


@frozen
class Reading:
    """One figure that was measured."""

    what: str
    unit: Unit
    value: Spread


@frozen
class Law:
    """A law that readings of one kind follow."""

    what: str
    law: Line | Curve


@frozen
class TierFound:
    """What a profile says of a tier. Rates in bytes/s, one direction: lowest, usual, highest."""

    name: str
    medium: Literal["dram", "nvme", "store"]
    title: str
    path: str
    read: tuple[float, float, float]
    write: tuple[float, float, float] | None
    latency_s: float | None
    per_copy_s: float | None
    note: str


@frozen
class Setup:
    """What runs where a prefill is measured."""

    model: str
    tp: int
    weights: Weights
    kv_bits: Literal[8, 16]


@frozen
class CurveFound:
    """Seconds to prefill whole prompts: (tokens, s)."""

    setup: Setup
    points: tuple[tuple[int, float], ...]
    note: str


@frozen
class Achieved:
    """What a prefill's kernels achieved a second at the longest prompt, and the most of any at any length."""

    gemm_flops: float
    attention_flops: float
    element_bytes: float
    peak_flops: float


@frozen
class Part:
    """What one part of the measurement found, and what to know about it."""

    name: str
    readings: tuple[Reading, ...]
    laws: tuple[Law, ...] = ()
    tier: TierFound | None = None
    curve: CurveFound | None = None
    achieved: Achieved | None = None
    warnings: tuple[str, ...] = ()


@frozen
class Skipped:
    """A part that was not measured, and why."""

    name: str
    reason: str
