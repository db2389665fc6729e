"""The answer to `checklist` as tables: a page for a design review, complete by itself."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.checklist_result import UNKNOWN, Box, Checklist, Figure
from kvcalc.tables import checklist_seen, cited
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

HEADINGS = {1: "Hit rate", 2: "Margin", 3: "Host memory", 4: "Interconnect", 5: "Cheaper things"}
EFFECTS = {
    "blocks": "against",
    "cheaper": "first",
    "unknown": "not known",
    "supports": "for",
    "note": "note",
}


def page(result: Checklist) -> Page:
    """The verdict, the boxes, the reasons by weight, the figures, what was seen, and what to run."""
    main = _boxes(result)
    blocks: list[Table | Lines] = [
        main,
        Lines("Reasons, by weight", tuple(_reasons(result)), numbered=True),
        *_lines("To know more", [f"box {box.number}: {line}" for box in result.boxes for line in box.run]),
        *(_figures(box) for box in result.boxes),
        *checklist_seen.blocks(result.seen),
        *_lines("Warnings", list(result.warnings)),
        *cited.every(result.assumptions),
    ]
    engine = "no engine named" if result.engine == "ideal" else f"engine {result.engine}"
    ran = f"TP {result.tp}, {result.kv_stored} KV, {result.weights} weights, {engine}"
    if result.kv_stored == UNKNOWN:
        ran = "for which no profile is known"
    title = f"{result.model_title} on {result.hardware}, {ran}: should you build KV offload?"
    return Page(title, _summary(result), tuple(blocks), lambda: main)


def _summary(result: Checklist) -> str:
    first = result.reasons[0].text if result.reasons else ""
    return f"{result.verdict[:1].upper()}{result.verdict[1:]}: {first}."


def _boxes(result: Checklist) -> Table:
    columns = (
        Column("Box", "box"),
        Column("Question", "question"),
        Column("Answer", "answer"),
        Column("Because", "because"),
    )
    rows = tuple(
        (
            Cell(f"{box.number}", box.number),
            Cell(box.question),
            Cell(box.answer),
            Cell(box.reasons[0].text if box.reasons else ""),
        )
        for box in result.boxes
    )
    return Table("The five boxes", columns, rows)


def _reasons(result: Checklist) -> Iterator[str]:
    for each in result.reasons:
        yield f"{EFFECTS[each.effect]} ({HEADINGS[each.box].lower()}): {each.text}"


def _figures(box: Box) -> Table:
    columns = (Column("Figure", "figure"), Column("Value", "value", number=True), Column("From", "origin"))
    rows = tuple((Cell(each.name), _value(each), Cell(each.origin)) for each in box.figures)
    return Table(f"{box.number}. {HEADINGS[box.number]}: the figures", columns, rows)


def _value(figure: Figure) -> Cell:
    if figure.value is None:
        return Cell("unknown")
    if isinstance(figure.value, str):
        return Cell(figure.value)
    return Cell(_text(figure.value, figure.unit), figure.value)


def _text(value: float, unit: str) -> str:
    match unit:
        case "1":
            return f"{100 * value:.2f} %"
        case "x":
            return units.times(value)
        case "B":
            return units.both(value) if value >= 1_000_000 else f"{value:,.0f} B"
        case "s" | "B/s" | "B/h":
            return units.short(value, unit)
        case _:
            return f"{units.count(value)} {unit}".rstrip()


def _lines(title: str, lines: list[str]) -> Iterator[Lines]:
    if lines:
        yield Lines(title, tuple(lines))
