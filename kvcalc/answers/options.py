"""What a question may be asked with, apart from the model, the node and the length."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Literal

from kvcalc.frozen import frozen

Nothing: Mapping[str, float] = MappingProxyType({})


@frozen
class Options:
    """Choices with the defaults of the command line. Rates are bytes/s and one direction, times are seconds."""

    kv_dtype: str = "fp8"
    weights: str | None = None  # None: fp8, or the checkpoint's own format where that is smaller
    tp: int | None = None  # None: all GPUs of the node
    engine: str = "ideal"
    prefill: Literal["profile", "model", "textbook"] | float | None = None  # a number is tokens/s
    tiers: tuple[str, ...] = ()  # of the node: only these; of the catalog: these too
    bandwidth: Mapping[str, float] = field(default_factory=lambda: Nothing)  # of one link, by tier
    latency: Mapping[str, float] = field(default_factory=lambda: Nothing)  # by tier
    links: int | Literal["all"] | None = None  # None: one link and all links
    layout: str | None = None  # None: the engine's
    page: int | None = None  # tokens; None: the engine's
    new: int = 0  # tokens after the prefix
    min_margin: float = 3.0
