"""Shares, requests a second, prices with their day, endurance and spans of time: text to numbers and back."""

from datetime import date, timedelta

import pytest

from kvcalc import amounts
from kvcalc.errors import UserError


@pytest.mark.parametrize(
    ("text", "value"), [("0.6", 0.6), ("60 %", 0.6), ("60%", 0.6), ("0", 0), ("100%", 1), ("1", 1)]
)
def test_a_share_is_a_fraction_or_a_percentage(text, value):
    assert amounts.share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["1.01", "101%", "-0.1", "-10%", "60", "half", "", "%"])
def test_a_share_beyond_the_whole_is_refused(text):
    with pytest.raises(UserError):
        amounts.share(text)


@pytest.mark.parametrize(("text", "value"), [("2", 2), ("2/s", 2), ("120/min", 2), ("7200/h", 2), ("1.5 /s", 1.5)])
def test_a_frequency_is_times_a_second(text, value):
    assert amounts.frequency(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "/s", "2/", "2/ ", "2/day", "2/s/s", "-2/s", "two/s", "2 Hz"])
def test_a_frequency_of_another_kind_is_refused(text):
    with pytest.raises(UserError):
        amounts.frequency(text)


def test_money_has_an_amount_a_currency_and_a_day():
    assert amounts.money("2.50 USD@2026-11-29") == (2.5, "USD", date(2026, 11, 29))
    assert amounts.money("1,250 EUR @ 2026-01-02") == (1250, "EUR", date(2026, 1, 2))


@pytest.mark.parametrize(
    "text",
    [
        "2.50 USD",
        "2.50",
        "2.50@2026-11-29",
        "0 USD@2026-11-29",
        "2.5 usd@2026-11-29",
        "1.2.3 USD@2026-11-29",
        "2.50 USD@20261129",
        "2.50 USD@2026-W48-7",
        "٢.50 USD@2026-11-29",
    ],
)
def test_money_without_one_of_them_is_refused(text):
    with pytest.raises(UserError, match=r"2026-11-29|above zero|amount|plain number"):
        amounts.money(text)


def test_money_of_a_day_to_come_is_refused():
    ahead = date.today() + timedelta(days=2)
    with pytest.raises(UserError, match="yet to come"):
        amounts.money(f"2.50 USD@{ahead}")


def test_endurance_is_writes_a_day_and_a_life():
    assert amounts.endurance("1 DWPD for 5 years") == (1, 5 * 365.25 * 86_400, None)
    assert amounts.endurance("0.3 DWPD for 1 year") == (0.3, 365.25 * 86_400, None)


def test_endurance_is_bytes_in_all_where_the_maker_prints_them():
    assert amounts.endurance("7 PBW for 5 years") == (None, 5 * 365.25 * 86_400, 7e15)
    assert amounts.endurance("7008 TBW for 5 years") == (None, 5 * 365.25 * 86_400, 7.008e15)


@pytest.mark.parametrize("text", ["3 DWPD", "7 PBW"])
def test_endurance_without_years_is_asked_for_them(text):
    with pytest.raises(UserError, match=f"add the years of its warranty: '{text} for 5 years'"):
        amounts.endurance(text)


@pytest.mark.parametrize(
    "text", ["DWPD for 5 years", "0 DWPD for 5 years", "1 DWPD for 0 years", "7 PB", "", "١ DWPD for 5 years"]
)
def test_endurance_of_another_kind_is_refused(text):
    with pytest.raises(UserError, match="1 DWPD for 5 years"):
        amounts.endurance(text)


@pytest.mark.parametrize(("value", "text"), [
    (0.0596, "59.6 ms"), (90, "90 s"), (150, "2.5 min"), (5946, "99.1 min"), (86_400, "24 h"), (172_800, "2 days"),
    (5 * 365.25 * 86_400, "5 years"),
])  # fmt: skip
def test_a_span_has_the_unit_that_reads_best(value, text):
    assert amounts.span(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2.5, "2.5 USD"), (0.00134567, "0.00135 USD"), (-8.784, "-8.78 USD"), (0, "0 USD")]
)
def test_an_amount_has_three_digits(value, text):
    assert amounts.priced(value, "USD") == text
