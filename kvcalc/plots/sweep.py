"""The answer to `sweep` as a figure: a map of verdicts over two axes, or margins along one."""

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kvcalc import units
from kvcalc.answers.sweep_result import Sweep
from kvcalc.plots import figure as figures
from kvcalc.plots import grid, maps
from kvcalc.plots.figure import Line
from kvcalc.tables import matrix
from kvcalc.tables.matrix import Index, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERS = ("tokens", "bandwidth", "prefill", "concurrency", "tp", "links", "page", "new")
MOST_LINES, MOST_ROWS = 10, 24
LABEL: dict[str, Any] = {"xytext": (2, 3), "textcoords": "offset points", "fontsize": 7.5, "bbox": figures.PAPER}


def draw(result: Sweep) -> "Figure":
    """A map if two axes hold numbers, lines if one does, else a row for each point."""
    index = Index(result)
    numbers = [name for name in matrix.upright(result.axes) if name in NUMBERS and _numeric(result, name)]
    if len(numbers) > 1:
        return maps.maps(result, index, numbers[0], numbers[1])
    return _lines(result, index, numbers[0]) if numbers else _rows(result, index)


def _numeric(result: Sweep, name: str) -> bool:
    """Has it a place on a logarithmic axis?"""
    return all(isinstance(value, int | float) and value > 0 for value in getattr(result.axes, name))


def _lines(result: Sweep, index: Index, across: str) -> "Figure":
    """The margin of every path along one axis."""
    figure, (axes,) = figures.start()
    wanted = grid.others(result, index, (across,))
    xs = matrix.some(sorted(getattr(result.axes, across)), grid.MOST_VALUES)
    for number, (title, path, fixed) in enumerate(wanted[:MOST_LINES]):
        found = [(x, point) for x in xs if (point := index.at(path, {**fixed, across: x}))]
        _line(axes, found, title, figures.line(number))
    axes.set(xscale="log", yscale="log", xlabel=grid.axis(across), ylabel="margin: recompute time / fetch time")
    grid.ticks(axes.xaxis, across, getattr(result.axes, across))
    figures.tokens_axis(axes.yaxis)
    for margin, text, style in _bounds(result):
        axes.axhline(margin, color="black", linewidth=1.2, linestyle=style)
        axes.annotate(text, (0.005, margin), xycoords=("axes fraction", "data"), **LABEL)
    handles = axes.get_legend_handles_labels()[0]
    broken = " Gaps: the basis of the recompute time changes." if result.warnings else ""
    more = grid.sources(result, index, len(wanted) - MOST_LINES)
    note = f"Hollow: not sure, the range holds another verdict too.{broken} {more}"
    return figures.finish(figure, grid.title(result), note, handles)


def _line(axes: "Axes", found: list[tuple[Any, Point]], title: str, look: Line) -> None:
    """Margins, with a hollow marker where the verdict is not sure; broken where the recompute time's basis changes."""
    step = max(1, len(found) // 30)
    for number, (_, run) in enumerate(groupby(found, key=lambda each: each[1].series.recompute_basis)):
        points = list(run)
        at, margins = [x for x, _ in points], [point.series.columns.margin[point.place] for _, point in points]
        axes.plot(at, margins, label=title if number == 0 else None, **look.keywords(slice(None, None, step)))
        for x, margin, (_, point) in list(zip(at, margins, points, strict=True))[::step]:
            if not point.series.sure(point.place):
                axes.plot(x, margin, look.marker, color=look.colour, markersize=4, markerfacecolor="white", zorder=3)


def _bounds(result: Sweep) -> list[tuple[float, str, str]]:
    """The margins 1 and the minimum, in words, with the dashes of their lines."""
    even, enough = (1.0, "fetch = recompute", "-"), f"restore from {units.times(result.min_margin)}"
    return [even, (result.min_margin, enough, "--")] if result.min_margin > 1 else [even]


def _rows(result: Sweep, index: Index) -> "Figure":
    """Margins with their ranges, one row for each point."""
    figure, (axes,) = figures.start()
    every = [
        (f"{index.title(path)}{grid.said(coordinates)}", path, point)
        for coordinates in matrix.each_of(result.axes, matrix.upright(result.axes))
        for path, point in index.distinct(coordinates)
    ]
    found = every[:MOST_ROWS]
    for number, (_, path, point) in enumerate(found):
        columns, place = point.series.columns, point.place
        look = figures.line(index.paths.index(path))
        ends = [columns.margin_low[place], columns.margin_high[place]]
        axes.plot(ends, [number, number], color=look.colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
        axes.plot(columns.margin[place], number, look.marker, color=look.colour, markersize=6)
    axes.set_yticks(range(len(found)), [title for title, _, _ in found])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="margin: recompute time / fetch time, and its range")
    figures.tokens_axis(axes.xaxis)
    for (margin, text, style), side in zip(_bounds(result), ("right", "left"), strict=False):
        axes.axvline(margin, color="black", linewidth=1.2, linestyle=style)
        axes.annotate(text, (margin, 1.0), xycoords=("data", "axes fraction"), ha=side, **LABEL)
    return figures.finish(figure, grid.title(result), grid.sources(result, index, len(every) - len(found)), [])
