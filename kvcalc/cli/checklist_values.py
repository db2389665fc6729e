"""Texts of `checklist`'s options: amounts of KV, series of values, and what is scraped or read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import typer

from kvcalc import amounts, units
from kvcalc.answers.checklist_options import Kv, Measured, Outcome, Read
from kvcalc.errors import UserError, shown

T = TypeVar("T")

SCRAPES = 6  # of a watch, beside the first, where --every doesn't say
LONGEST_S = 15.0  # between two of them


def kv(text: str) -> Kv:
    """An amount of KV cache in "60 GB", "2.7M" tokens, or "50x10000": prefixes times their tokens."""
    bare = text.strip().removesuffix("tokens").removesuffix("tok").strip()
    if bare.upper().endswith("B") and not bare[:1].isalpha():
        size = units.size(bare)
        if not size:
            raise UserError(f"{shown(text)}: an amount must be above zero")
        return Kv(bytes=size)
    number, times, length = bare.partition("x")
    try:
        count = units.number(number) * (units.tokens(length) if times else 1)
    except UserError:
        way_out = "write one like '60GB', '2.7M' tokens or '50x10000' (prefixes times tokens)"
        raise UserError(f"{shown(text)} is not an amount of KV cache; {way_out}") from None
    if not count:
        raise UserError(f"{shown(text)}: an amount must be above zero")
    return Kv(tokens=count)


def duration(text: str) -> float:
    """Seconds, above zero, in "60s", "10min" or "1h"."""
    for unit, seconds in (("min", units.HOUR / 60), ("h", units.HOUR)):
        if text.strip().endswith(unit):
            value = units.number(text.strip().removesuffix(unit)) * seconds
            break
    else:
        value = units.seconds(text)
    if not value:
        raise UserError(f"{shown(text)} is no time; write one like '60s', '10min' or '1h'")
    return value


def outcome(text: str) -> Outcome:
    """A time, of which less is better, or a rate like "1200 tok/s" or "3/s", of which more is."""
    bare = text.strip()
    kind: Measured
    if not bare.endswith(("/s", "/min", "/h")):
        amount, kind = units.seconds(bare), "a time"
    elif bare[0].isdigit() and "tok" not in bare:
        amount, kind = amounts.frequency(bare), "requests a second"
    else:
        amount, kind = units.token_rate(bare), "tokens a second"
    if not amount:
        raise UserError(f"{shown(text)}: it must be above zero")
    return Outcome(amount if kind == "a time" else 1 / amount, bare, kind)


def host_pool(text: str) -> tuple[float | None, float | None]:
    """A size, or a multiple of the pool in HBM, in "32GB" or "2x"."""
    bare = text.strip()
    size, ratio = (None, units.number(bare[:-1])) if bare.endswith("x") else (units.size(bare), None)
    if not (size or ratio):
        raise UserError(f"{shown(text)}: it must be above zero")
    return size, ratio


def series(text: str, reads: Callable[[str], T]) -> tuple[T, ...]:
    """Values in the order of time, in "0,0.5,0.8"."""
    return tuple(reads(each) for each in text.split(","))


def metrics(sources: Sequence[str], timeout_s: float) -> tuple[Read, ...]:
    """Totals of each source."""
    from kvcalc.observe import metrics as reader
    from kvcalc.observe import scrape

    twice = next((each for each in sources if list(sources).count(each) > 1), None)
    if twice is not None:
        raise UserError(f"--metrics: {shown(twice)} is given twice; name each replica once")
    return tuple(
        Read(source, "metrics", reader.observe(scrape.take(source, timeout_s=timeout_s))) for source in sources
    )


def between(before: str, after: str, interval_s: float | None) -> tuple[Read, ...]:
    """What happened between two stored scrapes; rates only where their distance is given."""
    from kvcalc.observe import metrics as reader
    from kvcalc.observe import scrape

    start = replace(scrape.take(before), at_s=None if interval_s is None else 0.0)
    end = replace(scrape.take(after), at_s=interval_s)
    return (Read(after, "metrics", reader.observe(end, start)),)


def watched(source: str, duration_s: float, every_s: float | None) -> tuple[Read, ...]:
    """What happens while it is watched; what a scrape misses is said on stderr."""
    from kvcalc.observe import metrics as reader
    from kvcalc.observe import scrape

    pause = every_s or min(duration_s / SCRAPES, LONGEST_S)
    scrapes = list(scrape.watch(source, duration_s, pause, missed=_missed))
    if len(scrapes) == 1:
        typer.echo("kvcalc: one scrape only: totals since the engine started, no rates", err=True)
    return (Read(source, "metrics", reader.over(scrapes)),)


def _missed(reason: str) -> None:
    typer.echo(f"kvcalc: left out: {reason}", err=True)


def log(source: str) -> Read:
    """What a start-up log says."""
    from kvcalc.observe import logs

    return Read(source, "log", logs.read(source))


def exists(trace: Path | None) -> Path | None:
    """A trace that is there. Raises UserError."""
    if trace is not None and not trace.exists():
        raise UserError(f"--trace: no file or folder {shown(str(trace))}")
    return trace
