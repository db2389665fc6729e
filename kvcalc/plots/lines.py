"""What the figures of `crossover` share: a look for each path, the same in every panel; titles and sources."""

from collections.abc import Sequence
from typing import Any

from kvcalc import units
from kvcalc.answers.crossover_result import Crossover, PathTurns
from kvcalc.plots import figure as figures
from kvcalc.plots.figure import Line

PER_DECADE = 20  # lengths at which lines are drawn


def lengths(shortest: int, longest: int) -> list[int]:
    """Even logarithmic steps from the shortest to the longest length, over a decade at least; a decade around one."""
    from math import ceil, log10

    if longest < 10 * shortest:
        middle = (shortest * longest) ** 0.5
        shortest = max(1, min(shortest, round(middle / 10**0.5)))
        longest = min(units.LONGEST_PROMPT, max(longest, 10 * shortest))
        shortest = min(shortest, longest // 10)
    steps = ceil(PER_DECADE * log10(longest / shortest))
    ratio = longest / shortest
    return sorted({round(shortest * ratio ** (step / steps)) for step in range(steps + 1)})


class Looks:
    """The lines of one answer, or of two side by side: a path over the same tier and links looks the same in both."""

    def __init__(self, results: Sequence[Crossover]) -> None:
        self._alone = len(results) == 1
        self._keys = list(dict.fromkeys(_key(path) for result in results for path in result.paths))

    def line(self, path: PathTurns) -> Line:
        """Its look."""
        return figures.line(self._keys.index(_key(path)))

    def marked(self, path: PathTurns) -> slice:
        """Where it has its markers."""
        return figures.places(self._keys.index(_key(path)), len(self._keys), len(path.by_length))

    def label(self, path: PathTurns) -> str:
        """Its tier and links; where there is only one answer, with its bandwidth and its crossings."""
        links = f"{path.links} link{'s' if path.links > 1 else ''}"
        rate = f" of {units.short(path.link_bytes_per_s, 'B/s')}" if self._alone else ""
        met = ", ".join(units.count(-(-tokens // 1)) for tokens in path.wins.tokens)
        return f"{path.tier}, {links}{rate}{f', meets at {met}' if self._alone and met else ''}"


def _key(path: PathTurns) -> tuple[str, int]:
    return path.tier, path.links


def panels(results: Sequence[Crossover], what: str) -> tuple[Any, list[Any], str]:
    """A figure with a panel for each answer, and its title."""
    figure, axes = figures.start(len(results))
    first = results[0]
    if len(results) == 1:
        return figure, axes, f"{first.model_title}, {_name(first)}: {what}"
    for panel, result in zip(axes, results, strict=True):
        panel.set_title(figures.wrapped(_name(result), len(results)))
    return figure, axes, f"{first.model_title}: {what}"


def _name(result: Crossover) -> str:
    return f"{result.hardware}, TP {result.tp}, {result.kv_dtype} KV"


def handles(axes: Sequence[Any]) -> list[Any]:
    """What the legend explains, each label once."""
    found = {label: handle for panel in axes for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    return list(found.values())


def sources(results: Sequence[Crossover]) -> str:
    """Where recompute times and bandwidths come from."""
    ways = dict.fromkeys(f"{result.recompute_way} ({result.recompute_basis})" for result in results)
    cited = dict.fromkeys(
        source.title
        for result in results
        for source in (*result.recompute_sources, *(each for path in result.paths for each in path.sources))
    )
    engine = "" if results[0].engine == "ideal" else f" Engine {results[0].engine}."
    return f"Recompute: {'; '.join(ways)}.{engine} Sources: {'; '.join(cited)}."
