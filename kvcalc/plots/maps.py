"""Verdicts over two axes of numbers as a map: areas between numbers, cells between counts."""

from itertools import product
from typing import TYPE_CHECKING, Any

from kvcalc import units
from kvcalc.answers.sweep_result import Sweep
from kvcalc.physics.crossover import Verdict
from kvcalc.plots import figure as figures
from kvcalc.plots import grid
from kvcalc.plots.figure import VERDICTS
from kvcalc.tables import matrix
from kvcalc.tables.matrix import Index, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOUBT = "...."
MOST_PANELS = 4


def maps(result: Sweep, index: Index, across: str, up: str) -> "Figure":
    """One panel for each of the first paths."""
    wanted = grid.others(result, index, (across, up))
    panels = wanted[:MOST_PANELS]
    figure, axes = figures.start(len(panels))
    xs, ys = _Scale(result, across), _Scale(result, up)
    for panel, (title, path, fixed) in zip(axes, panels, strict=True):
        for (x_places, x_values), (y_places, y_values) in product(xs.bands(), ys.bands()):
            points = [[index.at(path, {**fixed, across: x, up: y}) for x in x_values] for y in y_values]
            _map(panel, points, (x_places, y_places), result.min_margin)
        panel.set_title(figures.wrapped(title, len(panels)))
        xs.name(panel, "x")
        ys.name(panel, "y")
        panel.label_outer()
    if len(panels) == 3:  # nothing stands below the second
        axes[1].tick_params(labelbottom=True)
    return figures.finish(
        figure, grid.title(result), grid.sources(result, index, len(wanted) - len(panels)), _key(result)
    )


class _Scale:
    """An axis of a map: logarithmic over numbers, cells over a few counts, between which there is nothing."""

    def __init__(self, result: Sweep, name: str) -> None:
        self._name, self._values = name, sorted(getattr(result.axes, name))
        self._cells = name in grid.COUNTS and len(self._values) <= grid.MOST_TICKS

    def bands(self) -> list[tuple[list[Any], list[Any]]]:
        """Places along the axis with their values: a pair of places around each cell, or all at once."""
        if not self._cells:
            values = matrix.some(self._values, grid.MOST_VALUES)
            return [(values, values)]
        return [([place - 0.5, place + 0.5], [value, value]) for place, value in enumerate(self._values)]

    def name(self, panel: "Axes", side: str) -> None:
        """What it is, and its ticks."""
        axis = {"x": panel.xaxis, "y": panel.yaxis}[side]
        panel.set(**{f"{side}label": grid.axis(self._name), f"{side}scale": "linear" if self._cells else "log"})
        if self._cells:
            figures.cells_axis(axis, self._values)
        else:
            grid.ticks(axis, self._name, tuple(self._values))


def _map(panel: "Axes", points: list[list[Point | None]], places: tuple[list[Any], list[Any]], least: float) -> None:
    import numpy as np

    margins, low, high = (
        np.array([[getattr(p.series.columns, key)[p.place] if p else np.nan for p in row] for row in points], float)
        for key in ("margin", "margin_low", "margin_high")
    )
    bounds = sorted({1.0, least})
    looks = [VERDICTS[verdict] for verdict in _verdicts(least)]
    panel.contourf(
        *places, margins, levels=[0, *bounds, np.inf], colors=[colour for colour, _ in looks],
        hatches=[hatch for _, hatch in looks],
    )  # fmt: skip
    doubt = np.max([np.minimum(1 - low / bound, high / bound - 1) for bound in bounds], axis=0)
    panel.contourf(*places, doubt, levels=[0, np.inf], colors=["#00000020"], hatches=[DOUBT])
    if np.nanmin(margins) < np.nanmax(margins):
        panel.contour(*places, margins, levels=bounds, colors="black", linewidths=1.4, linestyles=["-", "--"])


def _verdicts(least: float) -> list[Verdict]:
    """From the worst to the best; nothing is marginal where a margin of 1 is enough."""
    return ["recompute", "marginal", "restore"] if least > 1 else ["recompute", "restore"]


def _key(result: Sweep) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    least = units.times(result.min_margin)
    said = {"recompute": "recompute: margin below 1", "marginal": "marginal", "restore": f"restore: {least} or more"}
    handles: list[Any] = [
        Patch(
            facecolor=VERDICTS[each][0], hatch=VERDICTS[each][1], edgecolor="#808080", linewidth=0.5, label=said[each]
        )
        for each in _verdicts(result.min_margin)
    ]
    handles.append(Patch(facecolor="#00000020", hatch=DOUBT, label="not sure: the range holds another verdict too"))
    bounds: dict[float, Any] = dict(zip(sorted({1.0, result.min_margin}), ("-", "--"), strict=False))
    handles += [
        Line2D([], [], color="black", linewidth=1.4, linestyle=dashes, label=f"margin {units.times(margin)}")
        for margin, dashes in bounds.items()
    ]
    return handles
