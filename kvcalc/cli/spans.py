"""Lists and ranges in options: "1,2,4,8", "1k..1M" by doubling, "1k..1M:25" in so many even logarithmic steps."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from kvcalc.answers.axes import LARGEST, too_large
from kvcalc.cli.options import read
from kvcalc.errors import UserError, shown

T = TypeVar("T")
Number = TypeVar("Number", int, float)


def words(option: str, given: Iterable[str]) -> tuple[str, ...]:
    """The words of a list such as "fp8,bf16", each once; an option may also be given several times."""
    return tuple(dict.fromkeys(word for text in given for word in _parts(option, text)))


def numbers(option: str, given: Iterable[str], reads: Callable[[str], Number]) -> tuple[Number, ...]:
    """The numbers of lists and ranges, each once, in the order in which they are given. Raises UserError."""
    found = (value for text in given for part in _parts(option, text) for value in _span(option, part, reads))
    return tuple(dict.fromkeys(found))


def count(text: str) -> int:
    """A whole number from 1, of GPUs or links say."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise UserError(f"{shown(text)} is not a whole number from 1")
    return int(text)


def _parts(option: str, text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise UserError(f"{option}: {shown(text)} has an empty part; write a list like '1,2,4' or a range like '1..8'")
    return parts


def _span(option: str, text: str, reads: Callable[[str], Number]) -> Iterator[Number]:
    """One number, or the numbers of a range."""
    if text[0] == "0" and text[1:2].isdecimal():
        raise UserError(f"{option}: {shown(text)} begins with 0; commas part values, so write 20000 instead of 20,000")
    first, separator, rest = text.partition("..")
    if not separator:
        if ":" in text:
            raise UserError(f"{option}: {shown(text)} has steps but no end; write a range like '1k..1M:25'")
        yield read(option, text, reads)
        return
    if rest.startswith("."):
        raise UserError(f"{option}: {shown(text)} has too many points; write a range like '1k..1M'")
    last, colon, steps = rest.partition(":")
    if not first.strip() or not last.strip():
        raise UserError(f"{option}: {shown(text)} is a range without an end; write one like '1k..1M'")
    low, high = read(option, first, reads), read(option, last, reads)
    if low > high:
        raise UserError(f"{option}: {shown(text)} is reversed; write {last.strip()}..{first.strip()}")
    if low <= 0:
        raise UserError(f"{option}: {shown(text)} begins at zero; steps are logarithmic, so begin above it")
    yield from _even(low, high, _steps(option, steps)) if colon else _doubling(low, high)


def _steps(option: str, text: str) -> int:
    wanted = read(option, text.strip(), _at_least_two)
    if wanted > LARGEST:
        raise too_large(wanted)
    return wanted


def _at_least_two(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 15 or int(text) < 2:
        raise UserError(f"{shown(text)} is not a number of steps; write one like '1k..1M:25', with at least 2")
    return int(text)


def _even(low: Number, high: Number, steps: int) -> Iterator[Number]:
    """Both ends and the values between them; counts are rounded to whole ones."""
    kind = type(low)
    ratio = math.log(high / low) / (steps - 1)
    yield low
    for step in range(1, steps - 1):
        value = low * math.exp(ratio * step)
        yield kind(round(value)) if kind is int else kind(value)
    yield high


def _doubling(low: Number, high: Number) -> Iterator[Number]:
    """Each twice the one before, and the end."""
    while low < high:
        yield low
        low = type(low)(2 * low)
    yield high
