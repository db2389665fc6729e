"""A grid as a compact matrix: where a point's figures stand, which axes go across, which values are shown."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from kvcalc import units
from kvcalc.answers.axes import NAMES, TITLES, Axes
from kvcalc.answers.sweep_result import Series, Sweep
from kvcalc.frozen import frozen
from kvcalc.tables.places import Places

Coordinates = dict[str, Any]  # a value of every axis that is swept
DISCRETE = ("model", "hardware", "tp", "kv_dtype", "page", "links", "concurrency", "new")
Path = tuple[str, int]  # a place, and 0 or -1: the first or the last of its paths, over the fewest or the most links
MOST_ROWS, MOST_COLUMNS = 24, 24
UPRIGHT = (
    "tokens", "bandwidth", "prefill", "new", "concurrency", "tp", "links", "page", "kv_dtype", "hardware", "model",
)  # fmt: skip


@frozen
class Point:
    """One cell of a matrix: a path's figures at one place of the grid."""

    series: Series
    place: int


class Index:
    """Finds the figures of a path at coordinates of a grid."""

    def __init__(self, result: Sweep) -> None:
        self.axes = result.axes
        self._found: dict[tuple[Any, ...], list[Series]] = {}
        keyed = [(_key(each), each) for each in result.points.series]
        self.places = Places(keyed, "hardware" in result.axes.swept)
        for key, each in keyed:
            self._found.setdefault((key, self.places.name(key, each.tier)), []).append(each)
        most: dict[str, int] = {}
        for (_, place), paths in self._found.items():
            most[place] = max(most.get(place, 0), len(paths))
        self.paths: list[Path] = [
            (place, which) for place, count in most.items() for which in ((0, -1)[: min(2, count)])
        ]

    def at(self, path: Path, coordinates: Coordinates) -> Point | None:
        """The figures of a path; None where the combination is left out or lacks the place."""
        full = {name: coordinates.get(name, next(iter(getattr(self.axes, name)), None)) for name in NAMES}
        rated = isinstance(full["prefill"], int | float)
        key = (*(full[name] for name in DISCRETE), None if rated else full["prefill"], rated)
        paths = self._found.get((key, path[0]))
        if paths is None:
            return None
        series = paths[path[1]]
        rate = series.rates.index(full["prefill"]) if rated else 0
        bandwidth = self.axes.bandwidth.index(full["bandwidth"]) if full["bandwidth"] is not None else 0
        return Point(series, series.place(rate, bandwidth, self.axes.tokens.index(full["tokens"])))

    def distinct(self, coordinates: Coordinates) -> Iterator[tuple[Path, Point]]:
        """Every path at these coordinates once: one link of a place that has no more is all of them."""
        found: dict[tuple[int, int], tuple[Path, Point]] = {}
        for path in self.paths:
            point = self.at(path, coordinates)
            if point:
                found.setdefault((id(point.series), point.place), (path, point))
        yield from found.values()

    def title(self, path: Path) -> str:
        """A path's place, and its links where they are the same everywhere."""
        tier, which = path
        links = {paths[which].links for (_, name), paths in self._found.items() if name == tier}
        if len(links) == 1:
            (count,) = links
            return f"{tier}, {count} link{'s' if count > 1 else ''}"
        return tier if len(self._found) and "links" in self.axes.swept else f"{tier}, all links"


def _key(series: Series) -> tuple[Any, ...]:
    asked = series.asked
    return (*(getattr(asked, name) for name in DISCRETE), asked.way, bool(asked.rates))


def upright(axes: Axes) -> list[str]:
    """The swept axes in the order in which they become rows, then columns, then tables of their own."""
    return sorted(axes.swept, key=UPRIGHT.index)


def some(values: Sequence[Any], most: int) -> list[Any]:
    """At most so many of the values, evenly, with both ends."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]


def each_of(axes: Axes, names: Sequence[str]) -> Iterator[Coordinates]:
    """Every combination of the values of these axes."""
    for values in product(*(getattr(axes, name) for name in names)):
        yield dict(zip(names, values, strict=True))


def heading(name: str) -> str:
    """An axis as a column is headed."""
    return TITLES[name][0].upper() + TITLES[name][1:]


def text(name: str, value: Any) -> str:
    """A value of an axis with its unit."""
    if value is None:
        return "as in the profile"
    if name == "prefill" and not isinstance(value, str):
        return f"{units.count(value)} tok/s"
    shown: dict[str, Callable[[Any], str]] = {
        "bandwidth": lambda rate: units.short(rate, "B/s"),
        "tokens": units.count,
        "new": units.count,
        "concurrency": units.count,
    }
    return shown[name](value) if name in shown else str(value)
