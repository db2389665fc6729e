"""The answer to `curve` as tables: here its numbers get their units."""

from collections.abc import Iterator
from dataclasses import fields

from kvcalc import units
from kvcalc.answers.curve_result import CurveAnswer, CurvePoint, TierPlace
from kvcalc.tables import cited
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

TIERS = "Tokens and hits are those of a tier with all above it, as one cache. Margin: recompute time / fetch time."


def page(answer: CurveAnswer) -> Page:
    """The trace, the curve, the tiers on it, and what both rest on."""
    blocks: list[Table | Lines] = [
        _trace(answer),
        *_lines("What looks wrong", answer.trace.notes),
        _points(answer),
        *_places(answer),
        *_lines("Warnings", answer.warnings),
        *(block for block in cited.every(answer.assumptions) if block.lines),
    ]
    on = f" for {answer.model_title} on {answer.hardware}" if answer.model else ""
    title = f"{answer.trace.path}: hit rate by cache capacity{on}"
    return Page(title, answer.recommendation, tuple(blocks), lambda: _flat(answer))


def _lines(title: str, lines: tuple[str, ...]) -> Iterator[Lines]:
    if lines:
        yield Lines(title, lines)


def _trace(answer: CurveAnswer) -> Table:
    facts, ceiling = answer.trace, answer.ceiling
    lengths = ", ".join(
        f"{name} {units.count(value)}"
        for name, value in (
            ("mean", facts.input_tokens_mean),
            ("p50", facts.input_tokens_p50),
            ("p95", facts.input_tokens_p95),
            ("max", facts.input_tokens_max),
        )
    )
    blocks = f"{units.count(facts.tokens_per_block)} tokens" + (
        " (mean)" if facts.tokens_per_block != facts.block_size else ""
    )
    half, most = _tokens(facts.reuse_p50_tokens), _tokens(facts.reuse_p90_tokens)
    rows = (
        ("Format", f"{facts.format}, times in {facts.time_unit}, blocks of {blocks}"),
        ("Requests", f"{units.count(facts.requests)}{_sessions(facts.sessions)}"),
        ("Duration", f"{units.count(facts.duration_s)} s, {facts.requests_per_s:.3g} requests/s"),
        ("Input tokens", f"{units.count(facts.input_tokens)}; {lengths}"),
        ("Output tokens", units.count(facts.output_tokens)),
        ("Blocks", f"{units.count(facts.block_references)} referenced, {units.count(facts.distinct_blocks)} distinct"),
        ("Distinct tokens", _tokens(facts.distinct_tokens)),
        ("Reuse distance", f"{half} for half of the hits, {most} for 90 %"),
        ("Ceiling of any cache", f"{_rate(ceiling.token_rate)} of the tokens, 1/(1-h) = {_work(ceiling.work)}"),
    )  # fmt: skip
    return Table("Trace", (Column("Property", "property"), Column("Value", "value")), tuple(map(_cells, rows)))


def _cells(texts: tuple[str, ...]) -> tuple[Cell, ...]:
    return tuple(map(Cell, texts))


def _sessions(sessions: int) -> str:
    return f" in {units.counted(sessions, 'session')}" if sessions else ""


def _points(answer: CurveAnswer) -> Table:
    sized, sampled = answer.model is not None, answer.trace.sampled < 1
    columns = (
        Column("Tokens", "capacity_tokens", number=True),
        *((Column(f"{answer.places[0].kv_dtype} KV", "capacity_bytes", number=True),) if sized else ()),
        Column("Tokens hit", "token_rate", number=True),
        Column("Blocks hit", "block_rate", number=True),
        *((Column("95 % bound", "bound", number=True),) if sampled else ()),
        Column("Full blocks hit", "full_block_rate", number=True),
        Column("Tokens hit, warm", "warm_token_rate", number=True),
        Column("1/(1-h)", "work", number=True),
        Column("", "mark"),
    )

    def row(point: CurvePoint) -> tuple[Cell, ...]:
        size = units.short(point.capacity_bytes, "B") if point.capacity_bytes is not None else ""
        return (
            Cell(_tokens(point.capacity_tokens), point.capacity_tokens),
            *((Cell(size, point.capacity_bytes),) if sized else ()),
            Cell(_rate(point.token_rate), point.token_rate),
            Cell(_rate(point.block_rate), point.block_rate),
            *((Cell(f"± {100 * point.bound:.1f}", point.bound),) if sampled else ()),
            Cell(_rate(point.full_block_rate), point.full_block_rate),
            Cell(_rate(point.warm_token_rate), point.warm_token_rate),
            Cell(_work(point.work), point.work),
            Cell(point.mark),
        )

    return Table("Hit rate by capacity", columns, tuple(map(row, answer.points)))


def _places(answer: CurveAnswer) -> Iterator[Table]:
    """A row a tier and format, the formats of a tier below each other."""
    if not answer.places:
        return
    by_format: dict[str, list[TierPlace]] = {}
    for place in answer.places:
        by_format.setdefault(place.kv_dtype, []).append(place)
    columns = (
        Column("Tier", "tier"),
        Column("Size", "tier_bytes", number=True),
        Column("KV", "kv_dtype"),
        Column("Tokens", "reach_tokens", number=True),
        Column("Hit", "token_rate", number=True),
        Column("Adds", "added_rate", number=True),
        Column("1/(1-h)", "work", number=True),
        Column("Margin", "margin", number=True),
        Column("Verdict", "verdict"),
    )
    rows = tuple(_place(place) for together in zip(*by_format.values(), strict=True) for place in together)
    yield Table("Tiers on the curve", columns, rows, TIERS)


def _place(place: TierPlace) -> tuple[Cell, ...]:
    return (
        Cell(place.tier),
        Cell(units.short(place.tier_bytes, "B"), place.tier_bytes),
        Cell(place.kv_dtype),
        Cell(_tokens(place.reach_tokens), place.reach_tokens),
        Cell(_rate(place.token_rate), place.token_rate),
        Cell(f"+{100 * place.added_rate:.1f}", place.added_rate),
        Cell(_work(place.work), place.work),
        Cell("" if place.margin is None else units.times(place.margin), place.margin),
        Cell(place.verdict or "", place.verdict),
    )


def _flat(answer: CurveAnswer) -> Table:
    """For spreadsheets: a row a capacity, the columns keys of the JSON."""
    keys = [each.name for each in fields(CurvePoint)]
    rows = tuple(tuple(_raw(getattr(point, key)) for key in keys) for point in answer.points)
    return Table("Points", tuple(Column(key, key) for key in keys), rows)


def _raw(value: float | int | str | None) -> Cell:
    return Cell("" if value is None else str(value))


def _rate(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _tokens(tokens: int) -> str:
    return units.short(tokens, "").strip()


def _work(work: float) -> str:
    """1/(1-h), of which two digits would say little near 1."""
    return f"{work:.2f}x" if work < 10 else units.times(work)
