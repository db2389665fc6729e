"""The answer to `capacity --log` as tables: what was found, what was predicted, and why they differ."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.log_result import Comparison, HostPool, LogAnswer
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
        *_lines("Options against the log", list(result.contradictions)),
        main,
        *_lines("Why", _why(result)),
        _token(result),
        *_host(result.host),
        _found(result),
        *_lines("Notes", list(result.notes)),
        *_lines("Warnings", list(result.warnings)),
        *(cited.every(result.assumptions) if result.assumptions else ()),
    ]
    version = f" {result.engine_version}" if result.engine_version else ""
    model = result.model or "a model that is not named"
    title = f"{result.engine}{version}, {model}, TP {result.tp}" + (f" x PP {result.pp}" if result.pp > 1 else "")
    return Page(f"{title}: what the log says", _summary(result), tuple(blocks), lambda: main)


def _why(result: LogAnswer) -> list[str]:
    """What is left first; what the prediction has in it explains the plain formula alone."""
    gap = [f"{result.gap.code}: {result.gap.text}"] if result.gap else []
    counted = " (the prediction has that in it)" if result.gap else ""
    return gap + [f"{each.code}: {each.text}{counted}" for each in result.reasons]


def _host(pool: HostPool | None) -> Iterator[Table]:
    if pool is None:
        return
    columns = (Column("Host pool of a rank", "line"), Column("Bytes", "bytes", number=True))
    asked = [("asked for, --hicache-size", pool.asked_bytes)] if pool.asked_bytes else []
    lines = (*asked, ("allocated, as printed", pool.allocated_bytes), ("used: pinned, a power of two", pool.used_bytes))
    rows = tuple((Cell(text), Cell(units.both(size), size)) for text, size in lines)
    yield Table("Host memory: asked for and used", columns, rows)


def _summary(result: LogAnswer) -> str:
    """What options say against the log, then the figures."""
    against = [f"{each[0].upper()}{each[1:]}." for each in result.contradictions]
    return " ".join((*against, _figures(result)))


def _figures(result: LogAnswer) -> str:
    weighed = [each for each in result.comparisons if each.ratio is not None]
    why = f"; {result.headline.text}" if result.headline else ""
    if not weighed:
        return f"Nothing is predicted{why}."
    off = [each for each in weighed if each.differs]
    if not off:
        supposed = f", supposing {result.variant}" if result.variant else ""
        return f"Every figure is what the engine's rule gives, within 1 %{supposed}{why}."
    said = ", ".join(f"{each.figure} {_percent(each.ratio)}" for each in off)
    if result.gap:
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
        (Cell(each.words), Cell(_stated(each), each.value), Cell(str(each.line), each.line)) for each in latest.values()
    )
    return Table("Found in the log", columns, rows)


def _stated(finding: Finding) -> str:
    """Its value with its unit, whole where it is whole."""
    value, unit = finding.value, finding.unit
    if isinstance(value, str):
        return value
    if unit == "bytes":
        return f"-{units.both(-value)}" if value < 0 else units.both(value)
    number = units.count(value) if value == int(value) else f"{value:,.10g}"
    return number if unit in ("ranks", "fraction") else f"{number} {'%' if unit == 'percent' else unit}"


def _lines(title: str, lines: list[str]) -> Iterator[Lines]:
    if lines:
        yield Lines(title, tuple(lines))
