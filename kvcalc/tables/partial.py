"""Partial hits of an answer to `margin`: the time to the first token, from each tier and without."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.margin_parts import PartialHit
from kvcalc.answers.margin_result import Margin
from kvcalc.tables import words
from kvcalc.tables.page import Cell, Column, Table

READING = (
    "Layer by layer: each layer is computed while the next is loading. "
    "Link-bound: from so many cached tokens on loading takes longer than computing."
)


def blocks(result: Margin, on: str) -> Iterator[Table]:
    """The rows without a tier, then one a path."""
    columns = (
        Column("From", "tier"),
        Column("Loaded, then computed", "first_token_s", number=True),
        Column("Layer by layer", "first_token_layered_s", number=True),
        Column("Waits for", "bound_by"),
        Column("Cached : new", "cached_to_new", number=True),
        Column("Link-bound", "link_bound_turns"),
    )
    none = (Cell(""), Cell(""), Cell(""))
    found = result.recompute
    without = (_seconds(found.whole_s), _seconds(found.whole_s), Cell("compute"))
    kept = (_seconds(found.rest_s), _seconds(found.rest_s), Cell("compute"))
    rows = [
        (Cell("nothing cached"), *without, *none[:2]),
        (Cell("HBM"), *kept, *none[:2]),
        *((Cell(words.path(hit.tier, hit.links)), *_row(hit)) for hit in result.partial_hits),
    ]
    alone = ", one request alone" if result.traffic else ""
    asked = f"{units.count(result.tokens)} tokens cached, {units.count(result.new_tokens)} new{alone}"
    yield Table(f"Time to first token, {asked}{on}", columns, tuple(rows), READING)


def _row(hit: PartialHit) -> tuple[Cell, ...]:
    return (
        _seconds(hit.first_token_s),
        _seconds(hit.first_token_layered_s),
        Cell(hit.bound_by),
        Cell(units.ratio(hit.cached_to_new), hit.cached_to_new),
        Cell(_turns(hit)),
    )


def _turns(hit: PartialHit) -> str:
    """At which cached lengths the link decides, and the ratio where one says it: "from 13,423 (6.71 : 1)"."""
    if not hit.link_bound_turns:
        return "always" if hit.link_bound_short else "never"
    said, bound = [], hit.link_bound_short
    for tokens in hit.link_bound_turns:
        said.append(f"{'below' if bound else 'from'} {units.count(tokens)}")
        bound = not bound
    ratio = hit.link_bound_cached_to_new
    return ", ".join(said) + (f" ({units.ratio(ratio)} : 1)" if ratio is not None else "")


def _seconds(value: float) -> Cell:
    return Cell(units.short(value, "s"), value)


def arithmetic(result: Margin) -> Iterator[str]:
    """How each time is made up."""
    found, new = result.recompute, units.count(result.new_tokens)
    rest = units.short(found.rest_s, "s")
    yield f"first token, nothing cached: {units.short(found.whole_s, 's')}; prefix in HBM: {rest} for {new} new tokens"
    for hit, path in zip(result.partial_hits, result.paths, strict=True):
        fixed, moving = units.short(path.fixed_s, "s"), units.short(path.fetch_s - path.fixed_s, "s")
        layered, plain = units.short(hit.first_token_layered_s, "s"), units.short(hit.first_token_s, "s")
        name = words.path(hit.tier, hit.links)
        yield f"{name}: first token = {units.short(path.fetch_s, 's')} fetch + {rest} = {plain}"
        parts = f"{fixed} + max({moving}, {rest}) + min({moving}, {rest}) / {result.layers} layers"
        yield f"{name}: layer by layer = {parts} = {layered}"
        if hit.linear:
            yield f"{name}: link-bound above cached / new = {_bound(hit, result.new_tokens)}"
        else:
            yield f"{name}: link-bound {_turns(hit)}; no one ratio holds at all lengths"


def _bound(hit: PartialHit, new: int) -> str:
    fetch, pairs = units.short(hit.fetch_s_per_token, "s"), units.short(new * hit.pair_s, "s")
    if hit.link_bound_cached_to_new is None:
        return f"never: a cached token is loaded in {fetch} and attended to in {pairs}"
    ratio = units.ratio(hit.link_bound_cached_to_new)
    return f"{units.short(hit.recompute_s_per_token, 's')} / ({fetch} - {pairs} of attention) = {ratio}"
