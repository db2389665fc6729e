"""Text to numbers and back for what is not physics: shares, requests a second, money with its day, endurance, spans."""

import re
from datetime import date

from kvcalc import units
from kvcalc.errors import UserError, shown
from kvcalc.units import DAY, HOUR, YEAR


def share(text: str) -> float:
    """A fraction from 0 to 1, in "0.6" or "60 %"."""
    value = units.percent(text) if text.strip().endswith("%") else units.number(text)
    if value > 1:
        raise UserError(f"{shown(text)} is more than the whole; write one like '0.6' or '60 %'")
    return value


def frequency(text: str) -> float:
    """Times a second, in "2", "2/s", "120/min" or "500/h"."""
    amount, _, period = text.partition("/")
    seconds_of = {"": 1.0, "s": 1.0, "min": 60.0, "h": HOUR}
    if period.strip() not in seconds_of:
        raise UserError(f"{shown(text)} is not a frequency; write one like '2/s', '120/min' or '500/h'")
    return units.number(amount) / seconds_of[period.strip()]


def money(text: str) -> tuple[float, str, date]:
    """Amount, currency and day of a price in "2.50 USD@2026-11-29"."""
    found = re.fullmatch(r"(?P<amount>[\d.,_]+) ?(?P<currency>[A-Z]{3})(?: ?@ ?(?P<day>[\d-]+))?", text.strip())
    example = "'2.50 USD@2026-11-29'"
    if found is None:
        raise UserError(f"{shown(text)} is not an amount, a currency and the day it was read; write one like {example}")
    if found["day"] is None:
        raise UserError(f"{shown(text)} has no date, and prices move; write one like {example}")
    try:
        day = date.fromisoformat(found["day"])
    except ValueError:
        raise UserError(f"{shown(text)}: {shown(found['day'])} is not a day; write one like {example}") from None
    amount = units.number(found["amount"])
    if not amount:
        raise UserError(f"{shown(text)}: a price must be above zero")
    return amount, found["currency"], day


def endurance(text: str) -> tuple[float, float]:
    """Drive writes a day and seconds of rated life in "1 DWPD for 5 years"."""
    found = re.fullmatch(r"(?P<writes>\d{1,6}(\.\d+)?) ?DWPD for (?P<years>\d{1,3}(\.\d+)?) years?", text.strip())
    writes, years = (float(found["writes"]), float(found["years"])) if found else (0.0, 0.0)
    if not writes or not years or not units.physical(writes) or not units.physical(years):
        raise UserError(f"{shown(text)} is not the endurance of a drive; write one like '1 DWPD for 5 years'")
    return writes, years * YEAR


def span(value: float) -> str:
    """A time of any length: "59.6 ms", "12 min", "5.1 days", "2.3 years"."""
    for unit, least in (("years", YEAR), ("days", DAY), ("h", HOUR), ("min", 60.0)):
        if value >= 1.995 * least:
            return f"{units.ratio(value / least)} {unit}"
    return units.short(value, "s")


def priced(value: float, currency: str) -> str:
    """An amount of money with three significant digits: "0.0213 USD"."""
    return f"{'-' if value < 0 else ''}{units.ratio(abs(value))} {currency}"
