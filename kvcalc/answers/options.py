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
Use = Literal["prefix", "preempt", "active", "shared"]

MOST = 10**6  # sequences, replicas or restores at once: more are a slip of the finger

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
    use: Use = "prefix"  # what offloading is for
    batch: int | None = None  # sequences that decode together, for the use "active"; None: 1
    replicas: int | None = None  # that share one copy, for the use "shared"; None: 2
    concurrency: int | None = None  # restores that begin together on the node
    rate: float | None = None  # requests a second that come to the node
    hit_rate: float | None = None  # the share of them whose prefix the tier holds


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
    _traffic(options)
    _of_use(options)


def _of_use(options: Options) -> None:
    """A number that only another use looks at would be passed over without a word."""
    for name, count, use in (("batch", options.batch, "active"), ("replicas", options.replicas, "shared")):
        if count is not None and options.use != use:
            raise UserError(f"--{name} is for --use {use}, not for --use {options.use}; add --use {use}")


def _words(options: Options) -> None:
    prefill = options.prefill if isinstance(options.prefill, str) else None
    known = {"weights": Weights, "layout": Layout, "prefill": WayName, "use": Use}
    given = {"weights": options.weights, "layout": options.layout, "prefill": prefill, "use": options.use}
    for name, word in given.items():
        if word is not None and word not in get_args(known[name]):
            raise UserError(f"--{name}: {shown(word)} is none of {', '.join(get_args(known[name]))}")


def _numbers(options: Options) -> None:
    large = {"batch": options.batch, "replicas": options.replicas, "concurrency": options.concurrency}
    for name, many in large.items():
        if type(many) is int and many > MOST:
            raise UserError(f"--{name}: {units.count(many)} are too many; at most {units.count(MOST)}")
    counts = {"tp": options.tp, "links": options.links, "page": options.page}
    for name, count in (counts | large).items():
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


def _traffic(options: Options) -> None:
    """A rate of requests says nothing of a link without the share of them that it serves."""
    if (options.rate is None) != (options.hit_rate is None):
        has, lacks = ("--hit-rate", "--rate") if options.rate is None else ("--rate", "--hit-rate")
        raise UserError(f"{has} needs {lacks}: give both, such as --rate 2/s --hit-rate 60%")
    if options.rate is None or options.hit_rate is None:
        return
    if not 0 < _number(options.rate, "--rate: requests a second") < math.inf:
        raise UserError(f"--rate: requests a second must be above zero, not {options.rate:g}")
    if not 0 <= _number(options.hit_rate, "--hit-rate: a share") <= 1:
        raise UserError(f"--hit-rate: a share is from 0 to 1, not {options.hit_rate:g}")


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{what} is a number, not {shown(value)}")
    if not units.physical(abs(value)):
        raise UserError(f"{what}: nothing measured is so small or so large as {value:g}")
    return value
