"""Profiles as tables: lists of them, one in full, and the bytes that a model keeps."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import get_type_hints

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.physics import formats, kv, work
from kvcalc.profiles.fields import Profile, Reads
from kvcalc.profiles.model import LayerGroup, Model
from kvcalc.profiles.sources import Figure, Range, Source
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

LENGTHS = (4096, 32768, 131072)
DEGREES = (1, 2, 4, 8, 16)
FAR = 10_000_000  # tokens; past every window


def models(found: Sequence[Model]) -> Page:
    """All models, one a row: bytes a token past every window, what is kept once, the kinds of layers."""
    columns = (
        Column("Name", "name"),
        Column("Context", "context_tokens", number=True),
        Column("bf16 a token", "bf16_bytes_per_token", number=True),
        Column("fp8 a token", "fp8_bytes_per_token", number=True),
        Column("Kept once", "bf16_constant_bytes", number=True),
        Column("Layers", "layers"),
    )
    rows = tuple(_model(model) for model in found)
    table = Table("Models", columns, rows)
    return Page("Models: what a sequence keeps", "", (table,), lambda: table)


def _model(model: Model) -> tuple[Cell, ...]:
    bf16, fp8 = (kv.marginal(model, FAR, formats.stored(model, each)) for each in ("bf16", "fp8"))
    once = round(kv.logical(model, FAR, "bf16") - bf16 * FAR)
    return (
        Cell(model.name),
        Cell(_known(model.context), model.context),
        Cell(f"{units.count(bf16)} B", bf16),
        Cell(f"{units.count(fp8)} B", fp8),
        Cell(units.short(once, "B") if once else "-", once),
        Cell(_layers(model.groups)),
    )


def _known(count: int | None) -> str:
    return "-" if count is None else units.count(count)


def _layers(groups: tuple[LayerGroup, ...]) -> str:
    """The number of layers of each kind: "12 full, 36 gated-delta"."""
    counts: dict[str, int] = {}
    for group in groups:
        counts[_kind(group)] = counts.get(_kind(group), 0) + group.layers
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def _kind(group: LayerGroup) -> str:
    return getattr(group, "rule", group.kind)


def model(found: Model) -> Page:
    """One model: its layer groups, its bytes at three lengths and on each rank, its parameters, its sources."""
    main = _bytes(found)
    blocks: list[Table | Lines] = [_facts(found), _groups(found), main, _ranks(found), *_notes(found), _sources(found)]
    return Page(f"{found.title} ({found.name})", "", tuple(blocks), lambda: main)


def _facts(found: Model) -> Lines:
    facts = [
        f"Hugging Face: {found.huggingface or 'not there'}",
        f"context {_known(found.context)} tokens, hidden width {units.count(found.hidden)}, "
        f"vocabulary {_known(found.vocabulary)}, checkpoint {found.checkpoint}",
    ]
    if found.kv_cache:
        facts.append(f"KV cache of the checkpoint: {found.kv_cache}")
    if found.mtp:
        facts.append(f"draft layers (MTP), with speculative decoding only: {_layers(found.mtp)}")
    try:
        counted = work.parameters(found)
        embedding = "embedding" if found.tied else "embedding and LM head"
        facts.append(
            f"{units.billions(counted.total)} parameters; a token passes {units.billions(counted.active)} of them, "
            f"{embedding} apart"
        )
    except UserError:
        facts.append(f"{_given(found)}no feed-forward fields: the prefill can't be modelled, give --prefill RATE")
    return Lines("Model", tuple(facts))


def _given(found: Model) -> str:
    """The parameters as given, where there are any."""
    known = [(found.total_parameters, "parameters"), (found.active_parameters, "active")]
    said = ", ".join(f"{units.billions(count)} {what}" for count, what in known if count)
    return f"{said} (given); " if said else ""


def _groups(found: Model) -> Table:
    columns = (Column("Kind", "kind"), Column("Layers", "layers", number=True), Column("Shape", "shape"))
    rows = []
    for group in found.groups:
        shape = [
            f"{field.name} {getattr(group, field.name)}" for field in fields(group)[2:] if getattr(group, field.name)
        ]
        rows.append((Cell(group.kind), Cell(str(group.layers), group.layers), Cell(", ".join(shape).replace("_", " "))))
    return Table("Layer groups", columns, tuple(rows))


def _bytes(found: Model) -> Table:
    columns = (
        Column("Tokens", "tokens", number=True),
        *(Column(name, f"{name}_bytes", number=True) for name in ("bf16", "fp8")),
    )
    rows = []
    for tokens in LENGTHS:
        sizes = [kv.logical(found, tokens, formats.stored(found, name)) for name in ("bf16", "fp8")]
        cells = [Cell(f"{units.count(size)} B = {units.both(size)}", size) for size in sizes]
        rows.append((Cell(units.count(tokens), tokens), *cells))
    return Table("Logical bytes of a prefix", columns, tuple(rows))


def _ranks(found: Model) -> Table:
    columns = (Column("TP", "tp", number=True), Column("bf16 a token and rank", "bytes_per_token", number=True))
    rows = []
    for tp in DEGREES:
        try:
            kv.check_split(found, tp)
        except UserError:
            rows.append((Cell(str(tp), tp), Cell("engines refuse this split")))
            continue
        size = kv.marginal(found, FAR, "bf16", tp)
        rows.append((Cell(str(tp), tp), Cell(f"{units.count(size)} B", size)))
    return Table("On each rank, past every window", columns, tuple(rows))


def hardware(found: Sequence[tuple[str, Profile]]) -> Page:
    """All hardware profiles, one a row."""
    columns = (Column("Kind", "kind"), Column("Name", "name"), Column("Title", "title"))
    table = Table("Hardware", columns, tuple((Cell(kind), Cell(each.name), Cell(each.title)) for kind, each in found))
    return Page("Hardware profiles", "", (table,), lambda: table)


def profile(found: Profile) -> Page:
    """One hardware profile: every figure with its unit and the number of its source."""
    names = {source: f"S{number}" for number, source in enumerate(found.sources.values(), 1)}
    columns = (Column("Field", "field"), Column("Value", "value"), Column("Source", "source"))
    table = Table("Figures", columns, tuple(_rows(found, "", names)))
    return Page(f"{found.title} ({found.name})", "", (table, *_notes(found), _sources(found)), lambda: table)


def _rows(part: object, place: str, names: dict[Source, str]) -> Iterator[tuple[Cell, ...]]:
    hints = get_type_hints(type(part), include_extras=True)
    for field in fields(part):  # type: ignore[arg-type]
        value, name = getattr(part, field.name), f"{place}{field.name}"
        if value is None or field.name in ("name", "title", "notes", "sources"):
            continue
        yield from _cells(value, name, _unit(hints[field.name]), names)


def _cells(value: object, name: str, unit: str, names: dict[Source, str]) -> Iterator[tuple[Cell, ...]]:
    if isinstance(value, Figure):
        yield Cell(name), Cell(_quantity(value.value, unit), value.value), Cell(names.get(value.source, ""))
    elif isinstance(value, Range):
        parts = zip(("low", "typical", "high"), (value.low, value.typical, value.high), strict=True)
        known = [(word, figure) for word, figure in parts if word == "typical" or figure != value.typical]
        for word, figure in known:
            label = name if len(known) == 1 else f"{name}.{word}"
            yield Cell(label), Cell(_quantity(figure.value, unit), figure.value), Cell(names.get(figure.source, ""))
    elif isinstance(value, Source):
        yield Cell(name), Cell(value.title), Cell(names.get(value, ""))
    elif is_dataclass(value):
        yield from _rows(value, f"{name}.", names)
    elif isinstance(value, tuple) and value and is_dataclass(value[0]):
        for number, each in enumerate(value):
            yield from _rows(each, f"{name}.{number}.", names)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _cells(each, f"{name}.{key}", unit, names)
    else:
        text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        yield Cell(name), Cell(units.exact(value, "s") if isinstance(value, float) else text), Cell("")


def _unit(hint: object) -> str:
    """The unit that a field's figures are read in."""
    for each in (hint, *getattr(hint, "__args__", ())):
        for mark in getattr(each, "__metadata__", ()):
            if isinstance(mark, Reads):
                return mark.unit
    return ""


def _quantity(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.4g} %"
    if unit == "tok/s":
        return f"{units.count(value)} tok/s"
    return units.exact(value, unit) if unit else f"{value:g}"


def _notes(found: Profile) -> Iterator[Lines]:
    if found.notes:
        yield Lines("Notes", found.notes)


def _sources(found: Profile) -> Lines:
    texts = []
    for number, source in enumerate(found.sources.values(), 1):
        note = f" ({source.note.rstrip('.')})" if source.note else ""
        texts.append(f"S{number} {source.basis}, {source.checked}: {source.title}{note}; {source.address}")
    return Lines("Sources", tuple(texts))
