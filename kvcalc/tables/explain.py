"""The arithmetic of an answer to `margin`, line by line with the numbers in it."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.margin_result import GroupSize, Margin, PathAnswer
from kvcalc.tables import words


def lines(result: Margin) -> tuple[str, ...]:
    """KV bytes, recompute time, break-even bandwidth, then each path."""
    return (*_bytes(result), *_recompute(result), *_break_even(result), *_paths(result))


def _bytes(result: Margin) -> Iterator[str]:
    yield from (_group(group) for group in result.kv_groups if group.bytes)
    yield f"KV of the prefix = {units.count(result.kv_bytes)} B = {units.both(result.kv_bytes)}"


def _group(group: GroupSize) -> str:
    parts = []
    if group.bytes_per_token:
        parts.append(f"{units.count(group.bytes_per_token)} B a token x {units.count(group.held_tokens)} tokens kept")
    elif group.bytes > group.state_bytes:
        parts.append(f"{units.count(group.bytes - group.state_bytes)} B of entries and window")
    if group.state_bytes:
        parts.append(f"{units.count(group.state_bytes)} B of state")
    return f"{group.kind}, {group.layers} layers: {' + '.join(parts)} = {units.count(group.bytes)} B"


def _recompute(result: Margin) -> Iterator[str]:
    found = result.recompute
    for term in found.terms:
        yield f"recompute, {term.name}: {units.short(term.seconds, 's')} ({term.arithmetic})"
    if result.new_tokens:
        whole = f"{units.short(found.whole_s, 's')} (all {units.count(result.tokens + result.new_tokens)} tokens)"
        rest = f"{units.short(found.rest_s, 's')} (the {units.count(result.new_tokens)} new ones after a cached prefix)"
        yield f"recompute = {whole} - {rest} = {units.short(found.seconds, 's')}"
    rate = f"{units.count(result.tokens)} tokens / {units.count(found.tokens_per_s)} tok/s"
    yield f"recompute = {rate} = {units.short(found.seconds, 's')} ({found.way})"
    if found.low_s != found.high_s:
        yield f"recompute range = {units.short(found.low_s, 's')} to {units.short(found.high_s, 's')}"


def _break_even(result: Margin) -> Iterator[str]:
    size, seconds = units.short(result.kv_bytes, "B"), units.short(result.recompute.seconds, "s")
    yield f"break-even bandwidth = {size} / {seconds} = {units.short(result.break_even_bytes_per_s, 'B/s')}"


def _paths(result: Margin) -> Iterator[str]:
    for path in result.paths:
        yield _fetch(path)
        if result.uses:  # whose margin is another
            continue
        fetch, recompute = units.short(path.fetch_s, "s"), units.short(result.recompute.seconds, "s")
        low, high = units.short(path.fetch_low_s, "s"), units.short(path.fetch_high_s, "s")
        margin = f"{recompute} / {fetch} = {words.times(path.margin, result)}"
        yield f"{words.name(path)}: margin = {margin}, {path.verdict}; fetch range {low} to {high}"


def _fetch(path: PathAnswer) -> str:
    moved, rate = units.short(path.moved_bytes, "B"), units.short(path.bandwidth_bytes_per_s, "B/s")
    copies = f"{units.count(path.copies)} {'copy' if path.copies == 1 else 'copies'}"
    fixed = f"{units.short(path.fixed_s, 's')} fixed ({copies}, latency, engine)"
    return f"{words.name(path)}: fetch = {fixed} + {moved} / {rate} = {units.short(path.fetch_s, 's')}"
