"""The answer to `capacity --log` as tables: what was found, what was predicted, and why they differ."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.log_result import Comparison, LogAnswer
from kvcalc.observe.observation import Finding
from kvcalc.tables import cited
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

MEANING = {
    "blocks": "blocks x block size / groups",
    "concurrency": "concurrency x the longest length",
}


def page(result: LogAnswer) -> Page:
    """The comparison first, then the lines it rests on."""
    main = _comparison(result)
    blocks: list[Table | Lines] = [
        main,
        *_lines("Why", [f"{each.code}: {each.text}" for each in result.reasons]),
        _token(result),
        _found(result),
        *_lines("Notes", list(result.notes)),
        *_lines("Warnings", list(result.warnings)),
        *(cited.every(result.assumptions) if result.assumptions else ()),
    ]
    version = f" {result.engine_version}" if result.engine_version else ""
    model = result.model or "a model that is not named"
    title = f"{result.engine}{version}, {model}, TP {result.tp}" + (f" x PP {result.pp}" if result.pp > 1 else "")
    return Page(f"{title}: what the log says", _summary(result), tuple(blocks), lambda: main)


def _summary(result: LogAnswer) -> str:
    weighed = [each for each in result.comparisons if each.ratio is not None]
    why = f"; {result.reasons[0].text}" if result.reasons else ""
    if not weighed:
        return f"Nothing is predicted{why}."
    off = [each for each in weighed if each.differs]
    if not off:
        supposed = f", supposing {result.variant}" if result.variant else ""
        return f"Every figure is what the engine's rule gives, within 1 %{supposed}{why}."
    said = ", ".join(f"{each.figure} {_percent(each.ratio)}" for each in off)
    if result.reasons and result.reasons[0].predicted:
        said += ", beyond what the prediction has in it already"
    return f"Against the prediction: {said}{why}."


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * (ratio - 1):+.2f} %"


def _comparison(result: LogAnswer) -> Table:
    columns = (
        Column("Figure", "figure"),
        Column("Printed", "printed", number=True),
        Column("Predicted", "predicted", number=True),
        Column("Difference", "ratio", number=True),
    )
    rows = tuple(
        (
            Cell(each.figure),
            Cell(_value(each, each.printed), each.printed),
            Cell("-" if each.predicted is None else _value(each, each.predicted), each.predicted),
            Cell(_percent(each.ratio), each.ratio),
        )
        for each in result.comparisons
    )
    return Table("Printed and predicted", columns, rows)


def _value(comparison: Comparison, value: float) -> str:
    if comparison.unit == "requests":
        return f"{value:,.2f}"
    return units.count(value) if comparison.unit == "tokens" or value < 10_000_000 else units.both(value)


def _token(result: LogAnswer) -> Table:
    columns = (Column("Bytes of a token on one rank", "basis"), Column("Bytes", "bytes_per_token", number=True))
    lines = (
        ("as printed: pool over tokens", result.bytes_per_token),
        ("by the engine's rule", result.rule_bytes_per_token),
        ("by the plain formula: K and V of every layer over all ranks", result.plain_bytes_per_token),
    )
    rows = tuple((Cell(text), Cell("-" if size is None else f"{size:,.1f}", size)) for text, size in lines)
    kv = f", {result.kv_dtype} KV" if result.kv_dtype else ""
    counted = f"; the token line counts {MEANING[result.kv_tokens_meaning]}" if result.kv_tokens_meaning else ""
    return Table(f"A token{kv}{counted}", columns, rows)


def _found(result: LogAnswer) -> Table:
    columns = (Column("Found", "field"), Column("Value", "value", number=True), Column("Line", "line", number=True))
    latest = {(each.field, each.value): each for each in result.findings}
    rows = tuple(
        (Cell(each.field), Cell(_found_value(each), each.value), Cell(str(each.line), each.line))
        for each in latest.values()
    )
    return Table("Found in the log", columns, rows)


def _found_value(finding: Finding) -> str:
    if isinstance(finding.value, str):
        return finding.value
    return units.both(finding.value) if finding.field.endswith("_bytes") else f"{finding.value:,g}"


def _lines(title: str, lines: list[str]) -> Iterator[Lines]:
    if lines:
        yield Lines(title, tuple(lines))
