"""The answer to `sweep` as tables: a compact matrix of verdicts, and every point where they are few."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kvcalc import units
from kvcalc.answers.axes import TITLES
from kvcalc.answers.sweep_result import KEYS, Sweep
from kvcalc.physics.crossover import BEST_FIRST
from kvcalc.tables import cited, matrix
from kvcalc.tables.matrix import Coordinates, Index, Path, Point
from kvcalc.tables.page import Cell, Column, Lines, Page, Rows, Table

LETTERS = {"restore": "R", "marginal": "m", "recompute": "c"}
WITH_MARGINS = 12  # columns up to which the cells of a matrix hold margins
MOST_TABLES = 12
MOST_POINTS = 40  # rows of the table of points
READING = "R restore, m marginal, c recompute, with the margin; ? where the range holds another verdict too."


def page(result: Sweep) -> Page:
    """The matrices, the points if they are few, what was left out, assumptions and sources."""
    index = Index(result)
    blocks = [
        *_matrices(result, index),
        *_points(result, index),
        *([Lines("Warnings", result.warnings)] if result.warnings else []),
        *_left_out(result),
        *cited.blocks((each, "") for each in result.assumptions),
    ]
    return Page(_title(result), _summary(result), tuple(blocks), lambda: Rows(KEYS, result.points.rows()))


def _title(result: Sweep) -> str:
    first = result.points.series[0]
    named = {"model": first.model_title, "hardware": first.hardware, "tokens": f"{units.count(first.tokens[0])} tokens"}
    fixed = [text for name, text in named.items() if name not in result.axes.swept]
    by = " x ".join(TITLES[name] for name in matrix.upright(result.axes))
    return f"{', '.join(fixed)}: fetch or recompute{f' over {by}' if by else ''}?" if fixed else f"Verdicts over {by}"


def _summary(result: Sweep) -> str:
    counts: Counter[str] = Counter()
    for series in result.points.series:
        counts.update(series.judged())
    said = (f"{verdict} at {units.count(counts[verdict])}" for verdict in BEST_FIRST if counts[verdict])
    text = f"{', '.join(said)} of {units.count(len(result.points))} points."
    return text[0].upper() + text[1:]


def _matrices(result: Sweep, index: Index) -> Iterator[Table | Lines]:
    names = matrix.upright(result.axes)
    if not names:
        return
    if len(names) == 1:
        yield _by_path(result, index, names[0])
        return
    down, across, *rest = names
    if len(getattr(result.axes, across)) > WITH_MARGINS >= len(getattr(result.axes, down)):
        down, across = across, down  # a page is longer than it is wide
    wanted = [
        (path, fixed)
        for fixed in matrix.each_of(result.axes, rest)
        for path in index.paths
        if any(index.at(path, {**fixed, **each}) for each in matrix.each_of(result.axes, (down, across)))
    ]
    yield from (_matrix(result, index, path, fixed, (down, across)) for path, fixed in wanted[:MOST_TABLES])
    if len(wanted) > MOST_TABLES:
        left = f"{units.count(len(wanted) - MOST_TABLES)} more matrices; --format csv has every point"
        yield Lines("Not shown", (left,))


def _by_path(result: Sweep, index: Index, down: str) -> Table:
    """One axis: its values down, the paths across."""
    values = matrix.some(getattr(result.axes, down), matrix.MOST_ROWS)
    points = [[index.at(path, {down: value}) for path in index.paths] for value in values]
    names = [(index.title(path), f"verdict_{number}") for number, path in enumerate(index.paths)]
    note = _note(index, True, _thinned(result, down, len(values)))
    return _filled("Verdicts", (down, values), names, [[_cell(point, True) for point in row] for row in points], note)


def _matrix(result: Sweep, index: Index, path: Path, fixed: Coordinates, names: tuple[str, str]) -> Table:
    """Two axes for one path."""
    down, across = names
    downs = matrix.some(getattr(result.axes, down), matrix.MOST_ROWS)
    acrosses = matrix.some(getattr(result.axes, across), matrix.MOST_COLUMNS)
    points = [[index.at(path, {**fixed, down: value, across: other}) for other in acrosses] for value in downs]
    said = ", ".join(f"{TITLES[name]} {matrix.text(name, value)}" for name, value in fixed.items())
    title = f"{index.title(path)}{f', {said}' if said else ''}: {TITLES[across]} across"
    columns = [(matrix.text(across, other), f"{across}_{number}") for number, other in enumerate(acrosses)]
    thinned = f"{_thinned(result, down, len(downs))}{_thinned(result, across, len(acrosses))}"
    margins = len(acrosses) <= WITH_MARGINS
    cells = [[_cell(point, margins) for point in row] for row in points]
    return _filled(title, (down, downs), columns, cells, _note(index, margins, thinned))


def _filled(
    title: str, down: tuple[str, list[Any]], names: list[tuple[str, str]], cells: list[list[Cell | None]], note: str
) -> Table:
    """The rows and the columns that hold a point."""
    name, values = down
    kept = [place for place in range(len(names)) if any(row[place] for row in cells)]
    columns = (Column(matrix.heading(name), name), *(Column(*names[place]) for place in kept))
    rows = tuple(
        (Cell(matrix.text(name, value)), *(row[place] or Cell("") for place in kept))
        for value, row in zip(values, cells, strict=True)
        if any(row)
    )
    return Table(title, columns, rows, note, repeated=1)


def _thinned(result: Sweep, name: str, shown: int) -> str:
    """A word on the values that a matrix leaves out."""
    count = len(getattr(result.axes, name))
    left = f" {units.count(shown)} of {units.count(count)} values of {TITLES[name]} are shown; --format csv has all."
    return left if shown < count else ""


def _note(index: Index, margins: bool, thinned: str) -> str:
    legend = index.places.legend()
    reading = READING if margins else READING.replace(", with the margin", "")
    return f"{reading}{thinned}{f' {legend}.' if legend else ''}"


def _cell(point: Point | None, margins: bool) -> Cell | None:
    if point is None:
        return None
    series, place = point.series, point.place
    verdict = series.verdict(place)
    doubt = "" if series.sure(place) else "?"
    margin = f" {units.times(series.columns.margin[place], (1.0, series.min_margin))}" if margins else ""
    return Cell(f"{LETTERS[verdict]}{margin}{doubt}", verdict)


def _points(result: Sweep, index: Index) -> Iterator[Table]:
    """Every point with its times, where they are few."""
    if len(result.points) > MOST_POINTS:
        return
    names = [name for name in matrix.upright(result.axes) if name != "bandwidth"]
    columns = (
        *(Column(matrix.heading(name), name) for name in names),
        Column("Tier", "tier"),
        Column("Path", "path"),
        Column("Bandwidth of a link", "link_bytes_per_s", number=True),
        Column("KV", "kv_bytes", number=True),
        Column("Recompute", "recompute_s", number=True),
        Column("Fetch", "fetch_s", number=True),
        *([Column("First token", "first_token_s", number=True)] if _new(result) else []),
        Column("Margin", "margin", number=True),
        Column("Verdict", "verdict"),
    )
    rows: list[tuple[Cell, ...]] = []
    for coordinates in matrix.each_of(result.axes, matrix.upright(result.axes)):
        rows += [
            (*(Cell(matrix.text(name, coordinates[name])) for name in names), *_figures(point, _new(result)))
            for _, point in index.distinct(coordinates)
        ]
    yield Table("Points", columns, tuple(rows), repeated=len(names) + 2)


def _figures(point: Point, new: bool) -> tuple[Cell, ...]:
    series, place = point.series, point.place
    columns, length = series.columns, place % len(series.tokens)
    rate = series.bandwidths[place // len(series.tokens) % len(series.bandwidths)]
    bounds = (1.0, series.min_margin)
    low, usual, high = (
        units.times(each[place], bounds) for each in (columns.margin_low, columns.margin, columns.margin_high)
    )
    return (
        Cell(series.tier),
        Cell(f"{series.path}, {series.links} link{'s' if series.links > 1 else ''}"),
        Cell(units.short(rate, "B/s")),
        Cell(units.short(series.kv_bytes[length], "B")),
        Cell(units.short(columns.recompute_s[place], "s")),
        Cell(units.short(columns.fetch_s[place], "s")),
        *([_first_token(point)] if new else []),
        Cell(usual if low == high else f"{usual} ({low} to {high})"),
        Cell(series.verdict(place), series.verdict(place)),
    )


def _new(result: Sweep) -> bool:
    """Do tokens follow the prefix?"""
    return any(series.new_tokens for series in result.points.series)


def _first_token(point: Point) -> Cell:
    """With the prefix in the tier, and without it."""
    columns, place = point.series.columns, point.place
    fetched, computed = (
        units.short(s[place] + columns.rest_s[place], "s") for s in (columns.fetch_s, columns.recompute_s)
    )
    return Cell(f"{fetched} ({computed} without)")


def _left_out(result: Sweep) -> Iterator[Lines]:
    if result.left_out:
        yield Lines("Left out", tuple(f"{each.combination}: {each.why}" for each in result.left_out))
