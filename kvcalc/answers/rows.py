"""One row of the answer for each path: fetch time, margin, verdict, crossovers, split, flips."""

from kvcalc.answers import flips
from kvcalc.answers.flips import State
from kvcalc.answers.margin_result import PathAnswer, RecomputeTime
from kvcalc.answers.paths import Path, available
from kvcalc.answers.setting import Setting
from kvcalc.physics import crossover
from kvcalc.physics.transfer import Load, Route


class _Lengths:
    """What every path needs at every prompt length: recompute time and load, worked out once."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._recompute: dict[int, float] = {}
        self._load: dict[int, Load] = {}
        self.grid = crossover.lengths()

    def recompute(self, tokens: int) -> float:
        if tokens not in self._recompute:
            self._recompute[tokens] = self._setting.recompute(self._setting.ways.chosen, tokens)
        return self._recompute[tokens]

    def fetch(self, route: Route, tokens: int) -> float:
        if tokens not in self._load:
            self._load[tokens] = self._setting.load(tokens)
        return route.seconds(self._load[tokens])


def paths(setting: Setting, recompute: RecomputeTime) -> tuple[PathAnswer, ...]:
    """The answer for every path of the question."""
    lengths = _Lengths(setting)
    return tuple(_path(setting, path, recompute, lengths) for path in setting.paths)


def _path(setting: Setting, path: Path, recompute: RecomputeTime, lengths: _Lengths) -> PathAnswer:
    tokens, least = setting.tokens, setting.options.min_margin
    load = setting.load(tokens)
    fetch, low, high = (route.fetch(load) for route in (path.typical, path.fast, path.slow))
    margin, worst, best = (
        recompute.seconds / fetch.seconds,
        recompute.low_s / high.seconds,
        recompute.high_s / low.seconds,
    )
    verdicts = [crossover.verdict(each, least) for each in (margin, worst, best)]

    def gain(length: int) -> float:
        return lengths.recompute(length) - lengths.fetch(path.typical, length)

    times = [(lengths.recompute(length), lengths.fetch(path.typical, length)) for length in lengths.grid]
    gains = [computed - fetched for computed, fetched in times]
    margins = [computed / fetched for computed, fetched in times]
    state = _state(setting, path, recompute, lengths, margins)
    return PathAnswer(
        tier=path.tier.name,
        medium=path.tier.medium,
        path=path.tier.path,
        links=path.links,
        busy_links=fetch.busy.links,
        bandwidth_bytes_per_s=fetch.slowest.rate,
        fetch_s=fetch.seconds,
        fetch_low_s=low.seconds,
        fetch_high_s=high.seconds,
        fixed_s=fetch.fixed,
        margin=margin,
        margin_low=worst,
        margin_high=best,
        verdict=verdicts[0],
        sure=len(set(verdicts)) == 1,
        verdict_low=verdicts[1],
        verdict_high=verdicts[2],
        moved_bytes=round(fetch.busy.bytes),
        copies=round(fetch.busy.copies * fetch.busy.links),
        crossovers=tuple(crossover.changes(gains, lengths.grid, gain)),
        fetch_wins_short=gains[0] > 0,
        split_s=crossover.split(lengths.recompute, lambda length: lengths.fetch(path.typical, length), tokens),
        flips=flips.flips(state),
    )


def _state(setting: Setting, path: Path, recompute: RecomputeTime, lengths: _Lengths, margins: list[float]) -> State:
    load = setting.load(setting.tokens)
    fetch = path.typical.fetch(load)

    def margin(length: int) -> float:
        return lengths.recompute(length) / lengths.fetch(path.typical, length)

    def with_links(links: int) -> float:
        return recompute.seconds / path.way.route(links, "typical").seconds(load)

    return State(
        tokens=setting.tokens,
        recompute_s=recompute.seconds,
        fetch_s=fetch.seconds,
        fixed_s=fetch.fixed,
        moved_bytes=fetch.slowest.bytes,
        rate=fetch.slowest.rate,
        links=path.links,
        least=setting.options.min_margin,
        margin=margin,
        grid=lengths.grid,
        margins=margins,
        by_links={links: with_links(links) for links in range(1, available(path.tier, setting.tp) + 1)},
    )
