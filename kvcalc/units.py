"""Text with units to plain SI numbers and back: the only place that knows 10^9, 2^30 and bits.

Inside the program a size is bytes, a rate is bytes a second and one direction, a time is seconds, compute is FLOP/s.
GB is 10^9 bytes, GiB is 2^30 bytes, Gb is 10^9 bits.
"""

import math
import re

from kvcalc.errors import UserError, shown

SIZE = {"B": 1.0}
TIME = {"s": 1.0}
RATE = {"B/s": 1.0, "Bps": 1.0, "b/s": 1 / 8, "bps": 1 / 8, "bit/s": 1 / 8}
COMPUTE = {"FLOP/s": 1.0, "FLOPS": 1.0}
TOKEN_RATE = {"tok/s": 1.0, "token/s": 1.0, "tokens/s": 1.0}
COUNT = {"": 1.0}
PARAMETERS = {"M": 10**6, "B": 10**9, "T": 10**12}

SMALLEST_VALUE, LARGEST_VALUE = 1e-12, 1e24  # of anything measured, in SI units
GB = 1e9  # bytes
HOUR, DAY, YEAR = 3600.0, 86_400.0, 31_557_600.0  # seconds; a year has 365.25 days, a month is a twelfth of it
LARGEST_COUNT = 10**12  # no model or machine has so many of anything
LONGEST_PROMPT = 100_000_000  # tokens; ten times the longest context of any shipped profile

_GROUPED = re.compile(r"\s*[+-]?\d{1,3}(?:,\d{3})+(?![\d,])[^,]*")  # a comma parts thousands and nothing else
SMALLEST = 1e-6  # the last prefix of a time
_ABOVE_ONE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_BELOW_ONE = ((1.0, ""), (1e-3, "m"), (1e-6, "u"))


def _number(text: str, units: dict[str, float], what: str, example: str) -> float:
    if units.get("") and text.isascii() and text.isdecimal() and len(text) < 16:
        return float(text)  # the common case, without waiting for a library
    from quantiphy import InvalidNumber, Quantity

    refusal = UserError(f"{shown(text)} is not {what}; write one like {example}")
    if "," in text and not _GROUPED.fullmatch(text):
        raise refusal
    try:
        found = Quantity(text.strip(), binary=True)
    except InvalidNumber:
        raise refusal from None
    scale = units.get(found.units)
    if scale is None or (units is not TIME and _thousandths(text, found.units)):
        raise refusal
    value = float(found) if scale == 1 else float(found) * scale
    if not math.isfinite(value) or value < 0:
        raise UserError(f"{shown(text)} is not {what}: it must be finite and not negative")
    if not physical(value):
        raise UserError(f"{shown(text)} is not {what}: nothing measured is so small or so large")
    return value


def physical(value: float) -> bool:
    """Zero, or a size, rate or time that something in the world can have."""
    return value == 0 or SMALLEST_VALUE <= value <= LARGEST_VALUE


def _thousandths(text: str, unit: str) -> bool:
    """Does a prefix below one stand before the unit? Only times have one: 7 mB/s was meant to be 7 MB/s."""
    return bool(unit) and text.strip().removesuffix(unit)[-1:] in "munpµ"


def size(text: str) -> float:
    """Bytes in "80 GB", "2 TiB"."""
    return _number(text, SIZE, "a size", "'80 GB' or '2 TiB'")


def seconds(text: str) -> float:
    """Seconds in "10 us", "1.5 ms"."""
    return _number(text, TIME, "a time", "'10 us' or '1.5 ms'")


def rate(text: str) -> float:
    """Bytes a second, one direction, in "55 GB/s", "400 Gb/s", "3 GiB/s"; bits are divided by 8."""
    return _number(text, RATE, "a rate", "'55 GB/s' or '400 Gb/s'")


def compute(text: str) -> float:
    """FLOP/s, dense, in "989.4 TFLOP/s"."""
    return _number(text, COMPUTE, "a compute rate", "'989.4 TFLOP/s'")


def token_rate(text: str) -> float:
    """Tokens a second in "50000 tok/s"; on a command line the unit may be left out."""
    return _number(text, TOKEN_RATE | COUNT, "a rate in tokens a second", "'50000' or '50000 tok/s'")


def percent(text: str) -> float:
    """A fraction, from text like "14 %"."""
    return _number(text, {"%": 0.01}, "a percentage", "'14 %'")


def number(text: str) -> float:
    """A number without a dimension, from text like "0.35"."""
    return _number(text, COUNT, "a plain number", "'0.4'")


def parameters(text: str, least: int = 1) -> int:
    """A count of parameters in "70.6B" (10^9), "1.04T", "350M" or "70553706496", at least `least`."""
    example = "'70.6B', '350M' or '70553706496'"
    plain = text.strip()
    scale = PARAMETERS.get(plain[-1:].upper(), 1)
    value = _number(plain[:-1] if scale > 1 else plain, COUNT, "a count of parameters", example) * scale
    if least > value >= 1:
        raise UserError(
            f"{shown(text)} is fewer parameters than any model here has, {least:,}; write one like {example}"
        )
    if not 1 <= value <= LARGEST_COUNT * 100:
        raise UserError(f"{shown(text)} is not a count of parameters; write one like {example}")
    return round(value)


def tokens(text: str, least: int = 1) -> int:
    """A count of tokens in "20000", "20_000", "20k" (10^3) or "128Ki" (2^10): whole, at least `least`."""
    example = "'20000', '20k' (20,000) or '128Ki' (131,072)"
    value = _number(text, COUNT, "a count of tokens", example)
    if value != int(value):
        raise UserError(f"{shown(text)} is not a count of tokens: it is not whole; write one like {example}")
    if value < least:
        raise UserError(f"{shown(text)} is not a count of tokens: it must be at least {least}")
    if value > LONGEST_PROMPT:
        raise UserError(f"{shown(text)} tokens is longer than any prompt; the longest here is {count(LONGEST_PROMPT)}")
    return int(value)


def exact(value: float, unit: str) -> str:
    """Text that parses back to exactly `value`, with the SI prefix that reads best: "55 GB/s"."""
    from decimal import Decimal

    number = Decimal(repr(float(value)))
    for scale, prefix in _prefixes(unit):
        if value >= scale or scale == SMALLEST > value > 0:
            shifted = number.scaleb(-round(math.log10(scale))).normalize()
            if -7 < shifted.adjusted() < 15:
                return f"{shifted:f} {prefix}{unit}"
    return f"{number.normalize():f} {unit}"


def short(value: float, unit: str) -> str:
    """Text with three significant digits and an SI prefix, for tables: "59.6 ms", "3.28 GB", "55 GB/s"."""
    if value == 0:
        return f"0 {unit}"
    if not math.isfinite(value):
        return f"{value} {unit}"
    rounded = float(f"{value:.3g}")
    prefixes = _prefixes(unit)
    scale, prefix = next((each for each in prefixes if rounded >= each[0]), prefixes[-1])
    return f"{_digits(rounded / scale)} {prefix}{unit}"


def _prefixes(unit: str) -> tuple[tuple[float, str], ...]:
    """Those that go with a unit, the largest first: seconds have no kiloseconds, bytes no millibytes."""
    return _BELOW_ONE if unit in TIME else _ABOVE_ONE


def _digits(value: float) -> str:
    """Three significant digits."""
    return _plain(float(f"{value:.3g}"))


def _plain(value: float) -> str:
    """Without an exponent or trailing zeros; thousands apart."""
    return f"{value:,.12f}".rstrip("0").rstrip(".")


def count(value: float) -> str:
    """A whole number with thousands apart: "20,000"."""
    return f"{round(value):,}"


def counted(value: float, noun: str, more: str = "") -> str:
    """A number of things: "1 prefix", "2,000 prefixes" (of a noun whose plural is `more`, else with an s)."""
    return f"{count(value)} {noun if round(value) == 1 else more or f'{noun}s'}"


def billions(value: float) -> str:
    """A count of parameters: "70.55e9"."""
    return f"{value / 1e9:,.2f}e9"


def both(value: float) -> str:
    """A size in decimal and in binary units, which say which they are: "3.28 GB (3.05 GiB)"."""
    for scale, prefix in ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if value >= scale:
            return f"{short(value, 'B')} ({_digits(value / scale)} {prefix}B)"
    return f"{count(value)} B"


def gib(value: float) -> float:
    """Bytes as a number of GiB, for an option that takes one."""
    return value / 2**30


def gb(value: float) -> float:
    """Bytes as a number of GB of 10^9, for an option that takes one."""
    return value / 1e9


def ratio(value: float) -> str:
    """A bare number with three significant digits: "6.71", "1,040"."""
    return _digits(value)


def times(value: float, bounds: tuple[float, ...] = ()) -> str:
    """A ratio: "6.7x", "0.24x", "112x"; with more digits where two would put it on the other side of a bound."""
    if value >= 99.5:
        return f"{value:,.0f}x"
    for digits in range(2, 8):
        rounded = float(f"{value:.{digits}g}")
        if all((rounded >= bound) == (value >= bound) for bound in bounds):
            break
    return f"{_plain(rounded)}x"
