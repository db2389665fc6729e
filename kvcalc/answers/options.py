"""What a question may be asked with, apart from the model, the node and the length."""

import math
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Literal, get_args

from kvcalc import units
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.profiles.hardware import Layout, Weights

WayName = Literal["profile", "model", "textbook"]

Nothing: Mapping[str, float] = MappingProxyType({})


@frozen
class Options:
    """Choices with the defaults of the command line; the comments give what else each may be.

    Rates are bytes/s and one direction, times are seconds:
    `Options(bandwidth={"dram": 50e9}, latency={"nvme": 80e-6})`.
    """

    kv_dtype: str = "fp8"
    weights: str | None = None  # None: fp8, or the checkpoint's own format where that is smaller
    tp: int | None = None  # None: all GPUs of the node
    engine: str = "ideal"
    prefill: WayName | float | None = None  # a number is tokens/s
    tiers: tuple[str, ...] = ()  # of the node: only these; of the catalog: these too
    bandwidth: Mapping[str, float] = field(default_factory=lambda: Nothing)  # of one link, by tier
    latency: Mapping[str, float] = field(default_factory=lambda: Nothing)  # by tier
    links: int | Literal["all"] | None = None  # None: one link and all links
    layout: str | None = None  # None: the engine's
    page: int | None = None  # tokens; None: the engine's
    new: int = 0  # tokens after the prefix
    min_margin: float = 3.0


def check(tokens: int, options: Options) -> None:
    """Refuse what no answer can be asked with. Raises UserError."""
    if not all(type(count) is int for count in (tokens, options.new)):
        raise UserError(f"tokens are counted in whole numbers, not {shown(tokens)} and {shown(options.new)}")
    if not 1 <= tokens <= units.LONGEST_PROMPT or not 0 <= options.new <= units.LONGEST_PROMPT:
        raise UserError(f"a prompt has 1 to {units.count(units.LONGEST_PROMPT)} tokens, not {tokens} and {options.new}")
    if not isinstance(options.tiers, tuple | list):
        raise UserError(f"tiers are a tuple of names, not {shown(options.tiers)}; write one like ('dram',)")
    for name, given in {"bandwidth": options.bandwidth, "latency": options.latency}.items():
        if not isinstance(given, Mapping):
            raise UserError(f"{name} is a mapping of tier to number, not {shown(given)}")
    if not 1 <= _number(options.min_margin, "a minimum margin") < math.inf:
        raise UserError(f"a minimum margin is a number from 1, not {options.min_margin:g}; a slower fetch wins nothing")
    _words(options)
    _numbers(options)


def _words(options: Options) -> None:
    prefill = options.prefill if isinstance(options.prefill, str) else None
    known = {"weights": Weights, "layout": Layout, "prefill": WayName}
    for name, word in {"weights": options.weights, "layout": options.layout, "prefill": prefill}.items():
        if word is not None and word not in get_args(known[name]):
            raise UserError(f"--{name}: {shown(word)} is none of {', '.join(get_args(known[name]))}")


def _numbers(options: Options) -> None:
    for name, count in {"tp": options.tp, "links": options.links, "page": options.page}.items():
        if count is not None and count != "all" and (type(count) is not int or count < 1):
            raise UserError(f"--{name}: {shown(count)} is not a whole number from 1")
    rates = {f"--bandwidth {tier}": rate for tier, rate in options.bandwidth.items()}
    if options.prefill is not None and not isinstance(options.prefill, str):
        rates["--prefill"] = options.prefill
    for name, rate in rates.items():
        if not 0 < _number(rate, f"{name}: a rate in plain units a second") < math.inf:
            raise UserError(f"{name}: a rate must be above zero, not {rate:g}")
    for tier, seconds in options.latency.items():
        if not 0 <= _number(seconds, f"--latency {tier}: a time in seconds") < math.inf:
            raise UserError(f"--latency {tier}: a time must be zero or more, not {seconds:g}")


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{what} is a number, not {shown(value)}")
    if not units.physical(abs(value)):
        raise UserError(f"{what}: nothing measured is so small or so large as {value:g}")
    return value
