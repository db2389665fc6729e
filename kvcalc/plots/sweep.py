"""The answer to `sweep` as a figure: a map of verdicts over two axes, or margins along one."""

from typing import TYPE_CHECKING, Any

from kvcalc import units
from kvcalc.answers.axes import TITLES
from kvcalc.answers.sweep_result import Sweep
from kvcalc.plots import figure as figures
from kvcalc.plots.figure import VERDICTS, Line
from kvcalc.tables import matrix
from kvcalc.tables.matrix import Coordinates, Index, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COUNTS, MOST_TICKS = ("concurrency", "tp", "links", "page"), 8
NUMBERS = ("tokens", "bandwidth", "prefill", "concurrency", "tp", "links", "page")
DOUBT = "...."
MOST_PANELS, MOST_LINES, MOST_ROWS, MOST_VALUES = 4, 10, 24, 200
LABEL: dict[str, Any] = {"xytext": (2, 3), "textcoords": "offset points", "fontsize": 7.5}


def draw(result: Sweep) -> "Figure":
    """A map if two axes hold numbers, lines if one does, else a row for each point."""
    index = Index(result)
    numbers = [name for name in matrix.upright(result.axes) if name in NUMBERS and _numeric(result, name)]
    if len(numbers) > 1:
        return _maps(result, index, numbers[0], numbers[1])
    return _lines(result, index, numbers[0]) if numbers else _rows(result, index)


def _numeric(result: Sweep, name: str) -> bool:
    return all(isinstance(value, int | float) for value in getattr(result.axes, name))


def _others(result: Sweep, index: Index, drawn: tuple[str, ...]) -> list[tuple[str, tuple[str, int], Coordinates]]:
    """A title, a path and coordinates for every combination of what is not an axis of the figure."""
    rest = [name for name in matrix.upright(result.axes) if name not in drawn]
    found = []
    for fixed in matrix.each_of(result.axes, rest):
        said = ", ".join(f"{TITLES[name]} {matrix.text(name, value)}" for name, value in fixed.items())
        found += [(f"{index.title(path)}{f', {said}' if said else ''}", path, fixed) for path in index.paths]
    return found


def _maps(result: Sweep, index: Index, across: str, up: str) -> "Figure":
    """One panel for each of the first paths."""
    wanted = _others(result, index, (across, up))
    panels = wanted[:MOST_PANELS]
    figure, axes = figures.start(len(panels))
    xs = matrix.some(sorted(getattr(result.axes, across)), MOST_VALUES)
    ys = matrix.some(sorted(getattr(result.axes, up)), MOST_VALUES)
    for panel, (title, path, fixed) in zip(axes, panels, strict=True):
        points = [[index.at(path, {**fixed, across: x, up: y}) for x in xs] for y in ys]
        _map(panel, points, xs, ys, result.min_margin)
        panel.set_title(title)
        _name(result, panel, across, up)
        panel.label_outer()
    return figures.finish(figure, _title(result), _sources(result, len(wanted) - len(panels)), _key(result))


def _map(panel: "Axes", points: list[list[Point | None]], xs: list[Any], ys: list[Any], least: float) -> None:
    import numpy as np

    margins, low, high = (
        np.array([[getattr(p.series.columns, key)[p.place] if p else np.nan for p in row] for row in points], float)
        for key in ("margin", "margin_low", "margin_high")
    )
    looks = [VERDICTS[verdict] for verdict in ("recompute", "marginal", "restore")]
    panel.contourf(
        xs, ys, margins, levels=[0, 1, least, np.inf], colors=[colour for colour, _ in looks],
        hatches=[hatch for _, hatch in looks],
    )  # fmt: skip
    doubt = np.max([np.minimum(1 - low / bound, high / bound - 1) for bound in (1, least)], axis=0)
    panel.contourf(xs, ys, doubt, levels=[0, np.inf], colors=["#00000020"], hatches=[DOUBT])
    drawn = panel.contour(xs, ys, margins, levels=[1, least], colors="black", linewidths=1.4, linestyles=["-", "--"])
    for label in panel.clabel(drawn, fmt=lambda margin: f"margin {units.times(margin)}", fontsize=7, inline=False):
        label.set_bbox({"facecolor": "white", "alpha": 0.8, "pad": 0.8, "linewidth": 0})


def _key(result: Sweep) -> list[Any]:
    from matplotlib.patches import Patch

    least = units.times(result.min_margin)
    said = {"recompute": "recompute: margin below 1", "marginal": "marginal", "restore": f"restore: {least} or more"}
    handles = [
        Patch(facecolor=VERDICTS[each][0], hatch=VERDICTS[each][1], edgecolor="#808080", linewidth=0.5, label=text)
        for each, text in said.items()
    ]
    doubt = Patch(facecolor="#00000020", hatch=DOUBT, label="not sure: the range holds another verdict too")
    return [*handles, doubt]


def _name(result: Sweep, panel: "Axes", across: str, up: str) -> None:
    panel.set(xscale="log", yscale="log", xlabel=_axis(across), ylabel=_axis(up))
    for axis, name in ((panel.xaxis, across), (panel.yaxis, up)):
        _ticks(axis, name, getattr(result.axes, name))


def _ticks(axis: Any, name: str, values: tuple[Any, ...]) -> None:
    if name in COUNTS and len(values) <= MOST_TICKS:
        figures.counts_axis(axis, values)
    elif name == "bandwidth":
        figures.unit_axis(axis, "B/s")
    else:
        figures.tokens_axis(axis)


def _axis(name: str) -> str:
    said = {
        "tokens": "prefix length (tokens)",
        "bandwidth": "bandwidth of a link (bytes per second)",
        "prefill": "prefill rate (tokens per second)",
        "concurrency": "restores that begin together",
        "tp": "tensor-parallel degree (GPUs)",
        "links": "links used at once",
        "page": "page (tokens)",
    }
    return said[name]


def _lines(result: Sweep, index: Index, across: str) -> "Figure":
    """The margin of every path along one axis."""
    figure, (axes,) = figures.start()
    wanted = _others(result, index, (across,))
    xs = matrix.some(sorted(getattr(result.axes, across)), MOST_VALUES)
    for number, (title, path, fixed) in enumerate(wanted[:MOST_LINES]):
        found = [(x, point) for x in xs if (point := index.at(path, {**fixed, across: x}))]
        _line(axes, found, title, figures.line(number))
    axes.set(xscale="log", yscale="log", xlabel=_axis(across), ylabel="margin: recompute time / fetch time")
    _ticks(axes.xaxis, across, getattr(result.axes, across))
    figures.tokens_axis(axes.yaxis)
    for margin, text, style in _bounds(result):
        axes.axhline(margin, color="black", linewidth=1.2, linestyle=style)
        axes.annotate(text, (0.005, margin), xycoords=("axes fraction", "data"), **LABEL)
    handles = axes.get_legend_handles_labels()[0]
    note = f"Hollow: not sure, the range holds another verdict too. {_sources(result, len(wanted) - MOST_LINES)}"
    return figures.finish(figure, _title(result), note, handles)


def _line(axes: "Axes", found: list[tuple[Any, Point]], title: str, look: Line) -> None:
    """Margins, with a hollow marker where the verdict is not sure."""
    at, margins = [x for x, _ in found], [point.series.columns.margin[point.place] for _, point in found]
    step = max(1, len(found) // 30)
    axes.plot(at, margins, label=title, **look.keywords(slice(None, None, step)))
    for x, margin, (_, point) in list(zip(at, margins, found, strict=True))[::step]:
        if not point.series.sure(point.place):
            axes.plot(x, margin, look.marker, color=look.colour, markersize=4, markerfacecolor="white", zorder=3)


def _bounds(result: Sweep) -> list[tuple[float, str, str]]:
    """The margins 1 and the minimum, in words, with the dashes of their lines."""
    return [
        (1.0, "fetch = recompute", "-"),
        (result.min_margin, f"restore from {units.times(result.min_margin)}", "--"),
    ]


def _rows(result: Sweep, index: Index) -> "Figure":
    """Margins with their ranges, one row for each point."""
    figure, (axes,) = figures.start()
    wanted = _others(result, index, ())
    left = len(wanted) - MOST_ROWS
    found = [(title, point) for title, path, fixed in wanted[:MOST_ROWS] if (point := index.at(path, fixed))]
    for number, (_, point) in enumerate(found):
        columns, place = point.series.columns, point.place
        look = figures.line(index.paths.index(_path_of(point, index)))
        ends = [columns.margin_low[place], columns.margin_high[place]]
        axes.plot(ends, [number, number], color=look.colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
        axes.plot(columns.margin[place], number, look.marker, color=look.colour, markersize=6)
    axes.set_yticks(range(len(found)), [title for title, _ in found])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="margin: recompute time / fetch time, and its range")
    figures.tokens_axis(axes.xaxis)
    for (margin, text, style), side in zip(_bounds(result), ("right", "left"), strict=True):
        axes.axvline(margin, color="black", linewidth=1.2, linestyle=style)
        axes.annotate(text, (margin, 1.0), xycoords=("data", "axes fraction"), ha=side, **LABEL)
    return figures.finish(figure, _title(result), _sources(result, left), [])


def _path_of(point: Point, index: Index) -> tuple[str, int]:
    return next(path for path in index.paths if path[0] == point.series.tier)


def _title(result: Sweep) -> str:
    fixed = [
        f"{matrix.text(name, getattr(result.axes, name)[0])}{' KV' if name == 'kv_dtype' else ''}"
        for name in ("model", "hardware", "kv_dtype")
        if name not in result.axes.swept
    ]
    by = " and ".join(TITLES[name] for name in matrix.upright(result.axes))
    return f"{', '.join(fixed)}: verdicts{f' by {by}' if by else ''}"


def _sources(result: Sweep, left: int) -> str:
    """What is not drawn, and where the recompute times and bandwidths come from."""
    ways = dict.fromkeys(each.recompute_way for each in result.points.series)
    cited = dict.fromkeys(source.title for each in result.points.series for source in each.sources)
    more = f"Not drawn: {left} more. " if left > 0 else ""
    return f"{more}Recompute: {'; '.join(ways)}. Sources: {'; '.join(cited)}."
