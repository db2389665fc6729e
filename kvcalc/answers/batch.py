"""All points of one combination and path: over arrays with numpy, or one by one without it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from kvcalc.answers import contention, paths
from kvcalc.answers.options import Options
from kvcalc.answers.paths import CORNERS, Path
from kvcalc.answers.setting import Setting
from kvcalc.answers.sweep_result import Columns
from kvcalc.frozen import frozen
from kvcalc.physics import grid, kv, queueing, together
from kvcalc.physics.recompute import Stated, Way
from kvcalc.profiles.hardware import Tier
from kvcalc.profiles.sources import Figure, Range, exactly


@frozen
class Varied:
    """What is swept within a combination."""

    rates: tuple[float, ...]  # tokens/s; empty: as the profiles have it
    bandwidths: tuple[float, ...]  # bytes/s of one link; empty: as the profiles have it
    tier: str  # whose bandwidth; "all"
    tokens: tuple[int, ...]
    requests: int  # that begin together

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many rates, bandwidths and lengths."""
        return max(1, len(self.rates)), max(1, len(self.bandwidths)), len(self.tokens)

    def options(self, options: Options, rate: int = 0, bandwidth: int = 0) -> Options:
        """Options with the rate and the bandwidth of these places."""
        if self.rates:
            options = replace(options, prefill=self.rates[rate])
        if self.bandwidths:
            options = replace(options, bandwidth={**options.bandwidth, self.tier: self.bandwidths[bandwidth]})
        return options


@frozen
class Batch:
    """The figures of one path."""

    path: Path
    bandwidths: tuple[float, ...]  # bytes/s of one of the tier's links, as they are swept
    kv_bytes: Sequence[int]
    columns: Columns


def numpy_is_there() -> bool:
    """Can whole arrays be worked out at once?"""
    from importlib.util import find_spec

    return find_spec("numpy") is not None


def one_by_one(setting: Setting, varied: Varied, settled: Callable[[Options], Setting]) -> list[Batch]:
    """Every point by the functions that answer `margin`; `settled` settles the question with other options."""
    places = product(*map(range, varied.shape[:2]))
    settings = [settled(varied.options(setting.options, *place)) for place in places]
    sizes = [kv.logical(setting.model, tokens, setting.kv) for tokens in varied.tokens]
    found = []
    for number, path in enumerate(setting.paths):
        figures = [
            _point(each, each.paths[number], tokens, varied.requests) for each in settings for tokens in varied.tokens
        ]
        bandwidths = tuple(each.paths[number].typical.hops[0].bandwidth for each in settings[: varied.shape[1]])
        found.append(Batch(path, bandwidths, sizes, Columns(*zip(*figures, strict=True))))
    return found


def _point(setting: Setting, path: Path, tokens: int, requests: int) -> tuple[float, ...]:
    load, gpus = setting.loads(tokens), contention.gpus(setting, path)
    turns = queueing.together(1.0, _replicas(setting), requests)
    recompute, rest = (turns * find(setting.ways.chosen, tokens) for find in (setting.recompute, setting.rest))
    least, most = (turns * seconds for seconds in setting.recompute_range(tokens))
    fast, typical, slow = (together.through(path.at(corner), load, requests, gpus) for corner in CORNERS)
    return recompute, typical, rest, recompute / typical, least / slow, most / fast


def _replicas(setting: Setting) -> int:
    """Of the model, on the node's GPUs."""
    return setting.machine.node.gpus // setting.tp


def at_once(setting: Setting, varied: Varied) -> list[Batch]:
    """The same over arrays with the axes (rate, bandwidth, length)."""
    import numpy as np

    lengths = np.array(varied.tokens, dtype=np.int64)
    load = grid.load(setting.model, setting.kv, setting.tp, setting.loads.pages, lengths)
    turns = queueing.together(1.0, _replicas(setting), varied.requests)
    chosen = _with_rates(setting.ways.chosen, varied)
    recompute, rest = (turns * find(setting, chosen, lengths) for find in (_recompute, _rest))
    least, most = (turns * seconds for seconds in _recompute_range(setting, varied, lengths))
    sizes = grid.logical(setting.model, lengths, setting.kv)

    def flat(array: Any) -> Any:
        return np.broadcast_to(array, varied.shape).reshape(-1)

    found = []
    for path in _paths(setting, varied):
        gpus = contention.gpus(setting, path)
        fast, typical, slow = (grid.through(path.at(corner), load, varied.requests, gpus) for corner in CORNERS)
        figures = (recompute, typical, rest, recompute / typical, least / slow, most / fast)
        bandwidths = np.broadcast_to(path.typical.hops[0].bandwidth, (varied.shape[1], 1)).reshape(-1).tolist()
        found.append(Batch(path, tuple(bandwidths), sizes, Columns(*map(flat, figures))))
    return found


def _with_rates(way: Way, varied: Varied) -> Way:
    import numpy as np

    if not varied.rates or not isinstance(way, Stated):
        return way
    rates: Any = np.array(varied.rates).reshape(-1, 1, 1)
    return replace(way, rate=rates)


def _recompute(setting: Setting, way: Way, lengths: Any) -> Any:
    """`Setting.recompute`."""
    return grid.seconds(way, lengths + setting.options.new, 0) - _rest(setting, way, lengths)


def _rest(setting: Setting, way: Way, lengths: Any) -> Any:
    """`Setting.rest`."""
    return grid.seconds(way, setting.options.new, lengths) if setting.options.new else 0.0


def _recompute_range(setting: Setting, varied: Varied, lengths: Any) -> tuple[Any, Any]:
    """`Setting.recompute_range`."""
    from functools import reduce

    import numpy as np

    lows, highs = [], []
    for bound in setting.bounds:
        way = _with_rates(bound, varied)
        seconds = _recompute(setting, way, lengths)
        shorter, longer = grid.band(way, lengths)
        lows.append(seconds * (1 - shorter))
        highs.append(seconds * (1 + longer))
    return reduce(np.minimum, lows), reduce(np.maximum, highs)


def _paths(setting: Setting, varied: Varied) -> tuple[Path, ...]:
    """The paths of the setting, with arrays for the bandwidth that is swept."""
    import numpy as np

    if not varied.bandwidths:
        return setting.paths
    rates = np.array(varied.bandwidths).reshape(-1, 1)
    given = setting.options.bandwidth
    others = {word: rate for word, rate in given.items() if word != varied.tier}
    chosen = paths.tiers(setting.machine, replace(setting.options, bandwidth=others))
    swept = paths.by_tier(chosen, {word: float(word == varied.tier) for word in given}, "--bandwidth")
    tiers = tuple(_with_bandwidths(tier, rates) if swept.get(tier.name) else tier for tier in chosen)
    return paths.paths(setting.machine, tiers, setting.tp, setting.engine, setting.options.links)


def _with_bandwidths(tier: Tier, rates: Any) -> Tier:
    """As `paths.tiers` gives a tier a bandwidth: exactly, and its ceiling carries at least one link."""
    from numpy import where

    choose: Any = where  # of arrays, for numbers
    asked = exactly(Figure(rates, tier.read.bandwidth.typical.source))
    ceiling = tier.node_ceiling
    if ceiling is not None:
        usual = ceiling.typical.value
        low, typical, high = (
            Figure(choose(usual < rates, rates, each.value), each.source)
            for each in (ceiling.low, ceiling.typical, ceiling.high)
        )
        ceiling = Range(low, typical, high)
    return replace(tier, read=replace(tier.read, bandwidth=asked), node_ceiling=ceiling)
