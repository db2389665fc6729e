"""One row of the answer for each path: fetch time, margin, verdict, crossovers, split, flips."""

from dataclasses import replace

from kvcalc.answers import flips
from kvcalc.answers.flips import State
from kvcalc.answers.margin_result import PathAnswer, RecomputeTime
from kvcalc.answers.paths import Path, available
from kvcalc.answers.setting import Setting
from kvcalc.physics import crossover
from kvcalc.physics.transfer import Route


class _Lengths:
    """What every path needs at every prompt length, worked out once."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._recompute: dict[int, float] = {}
        self.grid = crossover.lengths()
        self.recomputed = [self.recompute(tokens) for tokens in self.grid]
        self._loads = [setting.loads(tokens) for tokens in self.grid]

    def recompute(self, tokens: int) -> float:
        found = self._recompute.get(tokens)
        if found is None:
            found = self._recompute[tokens] = self._setting.recompute(self._setting.ways.chosen, tokens)
        return found

    def fetched(self, route: Route) -> list[float]:
        """Fetch times on the grid."""
        known = self._setting.loads.fetched
        if route not in known:
            known[route] = [route.seconds(load) for load in self._loads]
        return known[route]


def paths(setting: Setting, recompute: RecomputeTime) -> tuple[PathAnswer, ...]:
    """The answer for every path of the question."""
    lengths = _Lengths(setting)
    return tuple(_path(setting, path, recompute, lengths) for path in setting.paths)


def _path(setting: Setting, path: Path, recompute: RecomputeTime, lengths: _Lengths) -> PathAnswer:
    tokens, least = setting.tokens, setting.options.min_margin
    load = setting.loads(tokens)
    fetch, low, high = (route.fetch(load) for route in (path.typical, path.fast, path.slow))
    margin, worst, best = (
        recompute.seconds / fetch.seconds,
        recompute.low_s / high.seconds,
        recompute.high_s / low.seconds,
    )
    verdicts = [crossover.verdict(each, least) for each in (margin, worst, best)]

    def gain(length: int) -> float:
        return lengths.recompute(length) - fetch_s(length)

    def fetch_s(length: int) -> float:
        return path.typical.seconds(setting.loads(length))

    fetched = lengths.fetched(path.typical)
    gains = [computed - waited for computed, waited in zip(lengths.recomputed, fetched, strict=True)]
    margins = [computed / waited for computed, waited in zip(lengths.recomputed, fetched, strict=True)]
    state = _state(setting, path, recompute, lengths, margins)
    return PathAnswer(
        tier=path.tier.name,
        medium=path.tier.medium,
        path=path.tier.path,
        links=path.links,
        busy_links=fetch.own.links,
        bandwidth_bytes_per_s=fetch.rate,
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
        moved_bytes=round(fetch.own.share.together),
        copies=round(fetch.own.share.copies * fetch.own.links),
        crossovers=tuple(crossover.changes(gains, lengths.grid, gain)),
        fetch_wins_short=gains[0] > 0,
        split_s=crossover.split(lengths.recompute, fetch_s, tokens),
        flips=flips.flips(state),
    )


def _state(setting: Setting, path: Path, recompute: RecomputeTime, lengths: _Lengths, margins: list[float]) -> State:
    load = setting.loads(setting.tokens)
    fetch = path.typical.fetch(load)

    def margin(length: int) -> float:
        return lengths.recompute(length) / path.typical.seconds(setting.loads(length))

    def with_links(links: int) -> float:
        return recompute.seconds / path.way.route(links, "typical").seconds(load)

    def with_bandwidth(rate: float) -> float:
        own, *others = path.typical.hops
        share = fetch.own.share
        hops = (replace(own, bandwidth=rate * share.bytes / share.together), *others)
        return recompute.seconds / replace(path.typical, hops=hops).seconds(load)

    return State(
        tokens=setting.tokens,
        recompute_s=recompute.seconds,
        fetch=fetch,
        links=path.links,
        least=setting.options.min_margin,
        margin=margin,
        grid=lengths.grid,
        margins=margins,
        most_links=available(path.tier, setting.tp),
        with_links=with_links,
        with_bandwidth=with_bandwidth,
    )
