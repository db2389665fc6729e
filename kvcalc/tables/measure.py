"""What was measured as tables: beside the shipped figures, part by part, and what was left out."""

from collections.abc import Sequence

from kvcalc import units
from kvcalc.answers.measure import Comparison, Measured
from kvcalc.measure.fits import Curve, Line
from kvcalc.measure.plan import Job
from kvcalc.measure.results import Law, Part, Reading, Skipped, Unit
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

FEW = 5  # samples: fewer are marked


def page(answer: Measured, written: str | None) -> Page:
    """The answer; `written` says where the profile is, or why there is none."""
    blocks: list[Table | Lines] = [_compared(answer)] if answer.comparisons else []
    for part in answer.parts:
        blocks.append(_readings(part))
        if part.laws:
            blocks.append(Lines(f"Laws fitted to {part.name}", tuple(map(_law, part.laws))))
    blocks += [Lines("Warnings", answer.warnings)] if answer.warnings else []
    blocks += [_skipped(answer.skipped)] if answer.skipped else []
    blocks.append(Lines("Conditions", (answer.conditions,)))
    return Page(f"Measured on {answer.machine.node}", written or "", tuple(blocks), lambda: _flat(answer))


def planned(jobs: Sequence[Job], skipped: Sequence[Skipped], budget_s: float) -> Page:
    """What would be measured."""
    columns = Column("Part", "part"), Column("What", "what")
    table = Table("Would be measured", columns, tuple((Cell(job.name), Cell(job.what)) for job in jobs))
    share = units.short(budget_s / max(1, len(jobs)), "s")
    left_out = (_skipped(skipped),) if skipped else ()
    return Page("Nothing is measured with --dry-run", f"About {share} a part.", (table, *left_out), lambda: table)


def _skipped(skipped: Sequence[Skipped]) -> Lines:
    """One line a reason."""
    names: dict[str, list[str]] = {}
    for each in skipped:
        names.setdefault(each.reason, []).append(each.name)
    return Lines("Not measured", tuple(f"{', '.join(parts)}: {reason}" for reason, parts in names.items()))


def _compared(answer: Measured) -> Table:
    columns = (
        Column("Tier", "tier"),
        Column("Figure", "figure"),
        Column("Measured", "measured", number=True),
        Column("Shipped", "shipped", number=True),
        Column("Ratio", "ratio", number=True),
        Column("Shipped profile", "shipped_from"),
    )
    return Table(f"Measured against {answer.against}", columns, tuple(map(_comparison, answer.comparisons)))


def _comparison(row: Comparison) -> tuple[Cell, ...]:
    return (
        Cell(row.tier),
        Cell(row.figure),
        Cell(_quantity(row.measured, row.unit), row.measured),
        Cell("-" if row.shipped is None else _quantity(row.shipped, row.unit), row.shipped),
        Cell("-" if row.ratio is None else units.times(row.ratio), row.ratio),
        Cell(row.shipped_from or "-"),
    )


def _readings(part: Part) -> Table:
    columns = (
        Column("What", "what"),
        Column("Median", "median", number=True),
        Column("Low", "low", number=True),
        Column("High", "high", number=True),
        Column("Samples", "samples", number=True),
    )
    few = any(reading.value.count < FEW for reading in part.readings)
    note = f"few: fewer than {FEW} samples, so that low and high say little" if few else ""
    return Table(part.name.capitalize(), columns, tuple(map(_reading, part.readings)), note)


def _reading(reading: Reading) -> tuple[Cell, ...]:
    values = reading.value.median, reading.value.low, reading.value.high
    cells = [Cell(_quantity(value, reading.unit), value) for value in values]
    count = reading.value.count
    return Cell(reading.what), *cells, Cell(f"{units.count(count)}{' (few)' if count < FEW else ''}", count)


def _quantity(value: float, unit: Unit) -> str:
    return units.short(value, unit) if unit else f"{value:.2f}"


def _law(found: Law) -> str:
    law = found.law
    error = f"mean error {law.mean_error:.1%}, worst {law.worst_error:.1%}, {law.points} points"
    if isinstance(law, Curve) and law.points == law.terms:
        error = f"{law.points} points for as many terms, so no error is known"
    match law:
        case Line():
            fixed, rate = units.short(law.fixed_s, "s"), units.short(law.bytes_per_s, "B/s")
            return f"{found.what}: {fixed} a copy + bytes / {rate}; {error}"
        case Curve():
            square = f" + {law.per_square_s:.3g} s x S^2" if law.per_square_s else ""
            each = units.short(law.per_token_s, "s")
            return f"{found.what}: {units.short(law.fixed_s, 's')} + {each} x S{square}; {error}"


def _flat(answer: Measured) -> Table:
    """One row a reading, in SI units."""
    keys = ("part", "what", "unit", "median", "low", "high", "samples")
    rows = []
    for part in answer.parts:
        for reading in part.readings:
            value = reading.value
            cells = (part.name, reading.what, reading.unit, value.median, value.low, value.high, value.count)
            rows.append(tuple(Cell(str(each)) for each in cells))
    return Table("Readings", tuple(Column(key, key) for key in keys), tuple(rows))
