"""Text to numbers and back for what is not physics: shares, requests a second, money with its day, endurance, spans."""

import re
from datetime import date, timedelta

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
    amount, slash, period = text.partition("/")
    seconds_of = {"s": 1.0, "min": 60.0, "h": HOUR}
    if slash and period.strip() not in seconds_of:
        raise UserError(f"{shown(text)} is not a frequency; write one like '2/s', '120/min' or '500/h'")
    return units.number(amount) / (seconds_of[period.strip()] if slash else 1.0)


def money(text: str) -> tuple[float, str, date]:
    """Amount, currency and day of a price in "2.50 USD@2026-11-29"."""
    pattern = r"(?P<amount>[\d.,_]+) ?(?P<currency>[A-Z]{3})(?: ?@ ?(?P<day>[\d-]+))?"
    found = re.fullmatch(pattern, text.strip(), re.ASCII)
    example = "'2.50 USD@2026-11-29'"
    if found is None:
        raise UserError(f"{shown(text)} is not an amount, a currency and the day it was read; write one like {example}")
    if found["day"] is None:
        raise UserError(f"{shown(text)} has no date, and prices move; write one like {example}")
    day = _day(text, found["day"], example)
    amount = units.number(found["amount"])
    if not amount:
        raise UserError(f"{shown(text)}: a price must be above zero")
    return amount, found["currency"], day


def _day(text: str, word: str, example: str) -> date:
    """A day that was: somewhere on Earth it may be tomorrow already."""
    try:
        day = date.fromisoformat(word if re.fullmatch(r"\d{4}-\d\d-\d\d", word, re.ASCII) else "")
    except ValueError:
        raise UserError(f"{shown(text)}: {shown(word)} is not a day; write one like {example}") from None
    if day > date.today() + timedelta(days=1):
        raise UserError(f"{shown(text)}: {day} is yet to come; give the day on which the price was read")
    return day


def endurance(text: str) -> tuple[float | None, float, float | None]:
    """Drive writes a day, seconds of rated life, bytes in all: "1 DWPD for 5 years", "7 PBW for 5 years".

    Of daily writes and bytes one is None, and both are of the whole capacity.
    """
    pattern = r"(?P<amount>\d{1,6}(\.\d+)?) ?(?P<unit>DWPD|[TP]BW)( for (?P<years>\d{1,3}(\.\d+)?) years?)?"
    found, examples = re.fullmatch(pattern, text.strip(), re.ASCII), "'1 DWPD for 5 years' or '7 PBW for 5 years'"
    if found and not found["years"]:
        example = shown(f"{text.strip()} for 5 years")
        raise UserError(f"{shown(text)} does not say for how long; add the years of its warranty: {example}")
    amount, years = (float(found["amount"]), float(found["years"])) if found else (0.0, 0.0)
    if not found or not amount or not years or not units.physical(amount) or not units.physical(years):
        raise UserError(f"{shown(text)} is not the endurance of a drive; write one like {examples}")
    if found["unit"] == "DWPD":
        return amount, years * YEAR, None
    return None, years * YEAR, units.size(f"{found['amount']} {found['unit'].removesuffix('W')}")


def span(value: float) -> str:
    """A time of any length: "59.6 ms", "12 min", "5.1 days", "2.3 years"."""
    for unit, least in (("years", YEAR), ("days", DAY), ("h", HOUR), ("min", 60.0)):
        if value >= 1.995 * least:
            return f"{units.ratio(value / least)} {unit}"
    return units.short(value, "s")


def priced(value: float, currency: str) -> str:
    """An amount of money with three significant digits: "0.0213 USD"."""
    return f"{'-' if value < 0 else ''}{units.ratio(abs(value))} {currency}"
