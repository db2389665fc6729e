"""Recompute and fetch times over length, with their ranges and where they meet."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kvcalc import units
from kvcalc.answers.crossover_result import Crossover, PathTurns
from kvcalc.plots import figure as figures
from kvcalc.plots import lines
from kvcalc.plots.lines import Looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.2  # of the axis: within so much of its ends a label stands towards its middle
NEAR = 0.1  # of the axis, in decades: crossings that share a label


def times(results: Sequence[Crossover]) -> "Figure":
    """One answer, or two side by side. They are drawn at the lengths that they tell of."""
    figure, axes, title = lines.panels(results, "time to recompute and to fetch")
    looks = Looks(results)
    for panel, result in zip(axes, results, strict=True):
        _panel(panel, result, looks)
    axes[0].set_ylabel("time (s)")
    note = "Shaded: the range of the recompute time; strokes: the ranges of fetch times; rings: crossovers."
    return figures.finish(figure, title, f"{note} {lines.sources(results)}", lines.handles(axes))


def _panel(axes: "Axes", result: Crossover, looks: Looks) -> None:
    at, recompute, low, high = (
        [getattr(need, key) for need in result.paths[0].by_length]
        for key in ("tokens", "recompute_s", "recompute_low_s", "recompute_high_s")
    )
    axes.fill_between(at, low, high, color="#b0b0b0", alpha=0.45, linewidth=0, label="recompute, its range")
    axes.plot(at, recompute, color="black", linewidth=2.4, label="recompute")
    for path in result.paths:
        _path(axes, path, looks)
    _crossings(axes, [meeting for path in result.paths for meeting in _meetings(path, at)], (at[0], at[-1]))
    axes.set(xscale="log", yscale="log", xlabel="prefix length (tokens)", xlim=(at[0], at[-1]))
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.5)
    figures.tokens_axis(axes.xaxis)
    figures.unit_axis(axes.yaxis, "s")


def _path(axes: "Axes", path: PathTurns, looks: Looks) -> None:
    """Its usual fetch time, and its range where it is marked."""
    at, fetch, low, high = (
        [getattr(need, key) for need in path.by_length] for key in ("tokens", "fetch_s", "fetch_low_s", "fetch_high_s")
    )
    look, marked = looks.line(path), looks.marked(path)
    axes.vlines(at[marked], low[marked], high[marked], color=look.colour, linewidth=0.8)
    axes.plot(at, fetch, label=looks.label(path), **look.keywords(marked))


def _crossings(axes: "Axes", meetings: list[tuple[float, float]], ends: tuple[float, float]) -> None:
    """Ringed, with their lengths on both sides in turn; those that are near each other have one label."""
    from math import log

    begin, span = ends[0], ends[1] / ends[0]
    for tokens, seconds in meetings:
        axes.plot([tokens], [seconds], "o", markersize=9, markerfacecolor="none", color="black", markeredgewidth=1.2)
    for number, group in enumerate(_groups(sorted(meetings), span)):
        first, last = (units.count(-(-group[place][0] // 1)) for place in (0, -1))
        share = log(group[0][0] / begin) / log(span)  # of the axis, left of the label
        left = share > MARGIN if share < MARGIN or share > 1 - MARGIN else number % 2 == 0
        x, y, side, (tokens, seconds) = (-4, 7, "right", group[0]) if left else (4, -12, "left", group[-1])
        text = first if len(group) == 1 else f"{first if first == last else f'{first}-{last}'}, {len(group)} paths"
        axes.annotate(
            text,
            (tokens, seconds),
            xytext=(x, y),
            textcoords="offset points",
            fontsize=7.5,
            ha=side,
            bbox=figures.PAPER,
        )


def _groups(meetings: list[tuple[float, float]], span: float) -> Iterator[list[tuple[float, float]]]:
    """Runs of crossings of which each is so near the one before that labels would cover each other."""
    group = meetings[:1]
    for each in meetings[1:]:
        if each[0] > group[-1][0] * span**NEAR:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _meetings(path: PathTurns, at: list[int]) -> Iterator[tuple[float, float]]:
    """Each crossover within the lengths that are drawn, and the time there, between its neighbours."""
    from bisect import bisect_left
    from math import exp, log

    for tokens in path.wins.tokens:
        if at[0] < tokens < at[-1]:
            place = bisect_left(at, tokens)
            before, after = path.by_length[place - 1], path.by_length[place]
            part = log(tokens / before.tokens) / log(after.tokens / before.tokens)
            yield tokens, exp(log(before.recompute_s) * (1 - part) + log(after.recompute_s) * part)
