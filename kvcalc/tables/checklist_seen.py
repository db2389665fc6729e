"""What engines were seen to do, for the page of `checklist`: look-ups, copies, and how the pool stands."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.checklist_result import LookupSeen, Seen, TransferSeen
from kvcalc.tables.page import Cell, Column, Lines, Table


def blocks(seen: tuple[Seen, ...]) -> Iterator[Table | Lines]:
    """Tables of every source, and the notes."""
    if not seen:
        return
    yield _engines(seen)
    lookups = [(each, one) for each in seen for one in each.lookups]
    if lookups:
        yield _lookups(lookups)
    moved = [(each, one) for each in seen for one in each.transfers]
    if moved:
        yield _transfers(moved)
    notes = tuple(dict.fromkeys(f"{each.engine}: {note}" for each in seen for note in each.notes))
    if notes:
        yield Lines("Notes on what was read", notes)


def _engines(seen: tuple[Seen, ...]) -> Table:
    columns = (Column("Seen", "figure"), *(Column(f"{each.engine}, {each.source}", each.source, True) for each in seen))
    rows: tuple[tuple[str, str, str], ...] = (
        ("over", "elapsed_s", "s"),
        ("KV format stated", "kv_dtype", ""),
        ("tokens in the pool", "kv_tokens", "tokens"),
        ("blocks x block size", "block_product", "tokens"),
        ("tokens in the host's pool", "host_tokens", "tokens"),
        ("host bytes a token, one rank", "host_bytes_per_token", "tokens"),
        ("bytes of the pool, one rank", "available_kv_bytes", "B"),
        ("pool in use by requests", "pool_usage", "1"),
        ("hit rate", "hit_rate", "1"),
        ("bytes per hit token", "bytes_per_hit_token", "tokens"),
        ("evicted", "evicted", "tokens"),
        ("evicted an hour", "evicted_per_hour", "tokens"),
        ("preemptions", "preemptions", "tokens"),
        ("mean prompt, tokens", "mean_prompt_tokens", "tokens"),
        ("mean time to first token", "mean_ttft_s", "s"),
    )
    found = []
    for title, name, unit in rows:
        values = [getattr(each, name) for each in seen]
        if any(value is not None for value in values):
            found.append((Cell(title), *(Cell(_text(value, unit), value) for value in values)))
    return Table("What the engines say", columns, tuple(found))


def _text(value: float | str | None, unit: str) -> str:
    if value is None:
        return "not stated"
    if isinstance(value, str):
        return value
    if unit == "1":
        return f"{100 * value:.2f} %"
    return units.count(value) if unit == "tokens" else units.short(value, unit)


def _lookups(found: list[tuple[Seen, LookupSeen]]) -> Table:
    columns = (
        Column("Engine", "engine"),
        Column("Tier", "tier"),
        Column("Asked", "asked", number=True),
        Column("Found", "found", number=True),
        Column("Unit", "unit"),
        Column("Hit rate", "hit_rate", number=True),
    )
    rows = tuple(
        (
            Cell(seen.engine),
            Cell(each.tier),
            Cell(_text(each.asked, "tokens"), each.asked),
            Cell(_text(each.found, "tokens"), each.found),
            Cell(each.unit),
            Cell("unknown" if each.hit_rate is None else f"{100 * each.hit_rate:.2f} %", each.hit_rate),
        )
        for seen, each in found
    )
    return Table("Asked and found, tier by tier", columns, rows)


def _transfers(found: list[tuple[Seen, TransferSeen]]) -> Table:
    columns = (
        Column("Engine", "engine"),
        Column("From", "source"),
        Column("To", "target"),
        Column("Moved", "bytes", number=True),
        Column("Rate", "bytes_per_s", number=True),
    )
    rows = tuple(
        (Cell(seen.engine), Cell(each.source), Cell(each.target), _moved(each), _rate(each)) for seen, each in found
    )
    return Table("Copied", columns, rows)


def _moved(each: TransferSeen) -> Cell:
    if each.bytes is not None:
        return Cell(units.short(each.bytes, "B"), each.bytes)
    amount, unit = (each.tokens, "tokens") if each.tokens is not None else (each.blocks, "blocks")
    return Cell("not stated" if amount is None else f"{units.count(amount)} {unit}")


def _rate(each: TransferSeen) -> Cell:
    if each.bytes_per_s is not None:
        thread = " a thread" if each.thread_seconds else ""
        return Cell(f"{units.short(each.bytes_per_s, 'B/s')}{thread}", each.bytes_per_s)
    if each.tokens_per_s is not None:
        return Cell(f"{units.count(each.tokens_per_s)} tok/s")
    return Cell("unknown")
