"""The answer to `sweep` as tables: a compact matrix of verdicts, and every point where they are few."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from kvcalc import units
from kvcalc.answers.axes import TITLES
from kvcalc.answers.sweep_result import KEYS, Sweep
from kvcalc.physics.crossover import BEST_FIRST
from kvcalc.tables import cited, matrix
from kvcalc.tables.matrix import Coordinates, Index, Point
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
        *_left_out(result),
        *cited.blocks((each, "") for each in result.assumptions),
    ]
    return Page(_title(result), _summary(result), tuple(blocks), lambda: Rows(KEYS, result.points.rows()))


def _title(result: Sweep) -> str:
    fixed = [
        matrix.text(name, getattr(result.axes, name)[0])
        for name in ("model", "hardware", "tokens")
        if name not in result.axes.swept
    ]
    if "tokens" not in result.axes.swept:
        fixed[-1] += " tokens"
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
    wanted = [(path, fixed) for fixed in matrix.each_of(result.axes, rest) for path in index.paths]
    tables = (_matrix(result, index, path, fixed, down, across) for path, fixed in wanted)
    shown = list(islice((table for table in tables if table), MOST_TABLES))
    yield from shown
    if len(wanted) > MOST_TABLES:
        left = f"{units.count(len(wanted) - len(shown))} more matrices; --format csv has every point"
        yield Lines("Not shown", (left,))


def _by_path(result: Sweep, index: Index, down: str) -> Table:
    """One axis: its values down, the paths across."""
    paths = index.paths
    columns = (
        Column(matrix.heading(down), down),
        *(Column(index.title(path), f"verdict_{number}") for number, path in enumerate(paths)),
    )
    values = matrix.some(getattr(result.axes, down), matrix.MOST_ROWS)
    rows = tuple(
        (Cell(matrix.text(down, value)), *(_cell(index.at(path, {down: value}), True) for path in paths))
        for value in values
    )
    return Table("Verdicts", columns, rows, READING)


def _matrix(
    result: Sweep, index: Index, path: tuple[str, int], fixed: Coordinates, down: str, across: str
) -> Table | None:
    """Two axes for one path; None where nothing could be answered."""
    downs = matrix.some(getattr(result.axes, down), matrix.MOST_ROWS)
    acrosses = matrix.some(getattr(result.axes, across), matrix.MOST_COLUMNS)
    margins = len(acrosses) <= WITH_MARGINS
    points = [[index.at(path, {**fixed, down: value, across: other}) for other in acrosses] for value in downs]
    if not any(any(row) for row in points):
        return None
    columns = (
        Column(matrix.heading(down), down),
        *(Column(matrix.text(across, other), f"{across}_{number}") for number, other in enumerate(acrosses)),
    )
    rows = tuple(
        (Cell(matrix.text(down, value)), *(_cell(point, margins) for point in row))
        for value, row in zip(downs, points, strict=True)
    )
    said = ", ".join(f"{TITLES[name]} {matrix.text(name, value)}" for name, value in fixed.items())
    title = f"{index.title(path)}{f', {said}' if said else ''}: {TITLES[across]} across"
    return Table(title, columns, rows, READING if margins else READING.replace(", with the margin", ""))


def _cell(point: Point | None, margins: bool) -> Cell:
    if point is None:
        return Cell("")
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
    rows = []
    for coordinates in matrix.each_of(result.axes, matrix.upright(result.axes)):
        for path in index.paths:
            point = index.at(path, coordinates)
            if point:
                rows.append((*(Cell(matrix.text(name, coordinates[name])) for name in names), *_figures(point)))
    yield Table("Points", columns, tuple(rows))


def _figures(point: Point) -> tuple[Cell, ...]:
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
        *_first_token(point),
        Cell(usual if low == high else f"{usual} ({low} to {high})"),
        Cell(series.verdict(place), series.verdict(place)),
    )


def _new(result: Sweep) -> bool:
    """Do tokens follow the prefix?"""
    return any(series.new_tokens for series in result.points.series)


def _first_token(point: Point) -> tuple[Cell, ...]:
    """With the prefix in the tier, and without it."""
    columns, place = point.series.columns, point.place
    if not point.series.new_tokens:
        return ()
    fetched, computed = (
        units.short(s[place] + columns.rest_s[place], "s") for s in (columns.fetch_s, columns.recompute_s)
    )
    return (Cell(f"{fetched} ({computed} without)"),)


def _left_out(result: Sweep) -> Iterator[Lines]:
    if result.left_out:
        yield Lines("Left out", tuple(f"{each.combination}: {each.why}" for each in result.left_out))
