"""Text with units becomes numbers, and numbers become text, exactly or to three digits."""

from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc import units
from kvcalc.errors import UserError

Reader = Callable[[str], float]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("80 GB", 80 * 10**9),
        ("80GB", 80 * 10**9),
        ("1 kB", 1000),
        ("1 KiB", 1024),
        ("80 GiB", 85_899_345_920),  # 80 x 1,073,741,824
        ("2 TiB", 2_199_023_255_552),  # 2 x 1024^4
        ("30.72 TB", 30_720_000_000_000),
        ("656 B", 656),
        ("0 B", 0),
    ],
)
def test_a_size_is_in_bytes(text: str, value: int):
    assert units.size(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10 us", 10e-6),
        ("10 µs", 10e-6),  # the micro sign
        ("10 μs", 10e-6),  # the Greek letter
        ("1.5 ms", 0.0015),
        ("0.5 ns", 0.5e-9),
        ("2 s", 2),
        ("0 s", 0),
    ],
)
def test_a_time_is_in_seconds(text: str, value: float):
    assert units.seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("55 GB/s", 55 * 10**9),
        ("55GB/s", 55 * 10**9),
        ("3.35 TB/s", 3_350 * 10**9),
        ("3 GiB/s", 3_221_225_472),  # 3 x 1,073,741,824
        ("400 GBps", 400 * 10**9),
        # InfiniBand NDR is 400 Gb/s: 400 x 10^9 / 8 = 50 x 10^9 B/s
        ("400 Gb/s", 50 * 10**9),
        ("400 Gbps", 50 * 10**9),
        ("400 Gbit/s", 50 * 10**9),
        ("25 Gb/s", 3_125_000_000),  # 25G Ethernet
        ("8 Gib/s", 1_073_741_824),
        ("8 b/s", 1),
    ],
)
def test_a_rate_is_in_bytes_a_second_and_bits_are_divided_by_eight(text: str, value: int):
    assert units.rate(text) == value


def test_a_compute_rate_is_in_flops():
    assert units.compute("989.4 TFLOP/s") == 989.4e12
    assert units.compute("989.4 TFLOPS") == 989.4e12
    assert units.compute("2 PFLOP/s") == 2e15


@pytest.mark.parametrize("text", ["50000", "50,000", "50k", "50000 tok/s", "50 ktok/s", "50000 tokens/s"])
def test_a_token_rate_may_leave_its_unit_out(text: str):
    assert units.token_rate(text) == 50_000


def test_a_percentage_is_a_fraction():
    assert units.percent("14 %") == pytest.approx(0.14, rel=1e-15)
    assert units.percent("102%") == pytest.approx(1.02, rel=1e-15)


def test_a_plain_number_has_no_unit():
    assert units.number("0.4") == 0.4
    assert units.number("0") == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("20000", 20_000),
        ("20_000", 20_000),
        ("20,000", 20_000),
        (" 20000 ", 20_000),
        ("20k", 20_000),
        ("20 k", 20_000),
        ("1.5k", 1_500),
        ("128Ki", 131_072),  # 128 x 1,024, the usual context of "128k" models
        ("1M", 1_000_000),
        ("1Mi", 1_048_576),
        ("1e3", 1_000),
        ("100000000", 100_000_000),  # the longest prompt
    ],
)
def test_a_count_of_tokens_is_whole_and_k_is_a_thousand(text: str, value: int):
    found = units.tokens(text)
    assert found == value
    assert isinstance(found, int)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("-1", "negative"),
        ("0", "at least 1"),
        ("0.0", "at least 1"),
        ("1.5", "not whole"),
        ("1e12", "longer than any prompt"),
        ("100000001", "longer than any prompt"),
        ("99999999999999999999", "longer than any prompt"),
        ("nan", "finite"),
        ("inf", "finite"),
        ("-inf", "finite"),
        ("", "is not a count of tokens"),
        ("many", "is not a count of tokens"),
        ("20 tokens", "is not a count of tokens"),
        ("20 kB", "is not a count of tokens"),
        ("20%", "is not a count of tokens"),
        ("$20", "is not a count of tokens"),
        ("²", "is not a count of tokens"),
        ("0x10", "is not a count of tokens"),
    ],
)
def test_what_is_no_count_of_tokens_is_refused(text: str, why: str):
    with pytest.raises(UserError, match=why) as refusal:
        units.tokens(text)
    assert repr(text) in str(refusal.value)


EXAMPLES: dict[str, Reader] = {
    "5 GB": units.size,
    "5 us": units.seconds,
    "5 GB/s": units.rate,
    "5 TFLOP/s": units.compute,
    "5 %": units.percent,
    "5 tok/s": units.token_rate,
    "5": units.number,
}
WITH_A_UNIT = [read for read in EXAMPLES.values() if read not in (units.number, units.token_rate)]
MISMATCHED = [
    (read, text)
    for read in EXAMPLES.values()
    for text in (*EXAMPLES, "5 V", "5 gb", "5 min")
    if EXAMPLES.get(text) is not read and not (text == "5" and read is units.token_rate)
]


@pytest.mark.parametrize("read", WITH_A_UNIT)
@pytest.mark.parametrize("text", ["55", "55.0", "5e9", "55 G", "0"])
def test_a_bare_number_is_refused(read: Reader, text: str):
    with pytest.raises(UserError, match="write one like"):
        read(text)


@pytest.mark.parametrize(("read", "text"), MISMATCHED)
def test_the_unit_of_another_dimension_is_refused(read: Reader, text: str):
    with pytest.raises(UserError, match="write one like") as refusal:
        read(text)
    assert repr(text) in str(refusal.value)


def test_a_gigabit_is_no_size_and_a_rate_needs_its_second():
    with pytest.raises(UserError):
        units.size("80 Gb")
    with pytest.raises(UserError):
        units.rate("55 GB")


@pytest.mark.parametrize(
    ("read", "unit"),
    [
        (units.size, "B"),
        (units.seconds, "s"),
        (units.rate, "B/s"),
        (units.rate, "Gb/s"),
        (units.compute, "FLOP/s"),
        (units.token_rate, "tok/s"),
        (units.percent, "%"),
        (units.number, ""),
    ],
)
@pytest.mark.parametrize("number", ["-1", "nan", "inf", "-inf", "1e400", ""])
def test_negative_and_infinite_quantities_are_refused(read: Reader, unit: str, number: str):
    with pytest.raises(UserError):
        read(f"{number} {unit}".strip())


POSITIVE = st.floats(min_value=1e-9, max_value=1e18, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("read", "unit"),
    [
        (units.size, "B"),
        (units.seconds, "s"),
        (units.rate, "B/s"),
        (units.compute, "FLOP/s"),
        (units.token_rate, "tok/s"),
    ],
)
@given(value=POSITIVE | st.integers(min_value=0, max_value=2**63))
def test_exact_text_reads_back_as_the_same_number(read: Reader, unit: str, value: float):
    assert read(units.exact(value, unit)) == float(value)


@given(value=st.just(0.0) | st.floats(units.SMALLEST_VALUE, units.LARGEST_VALUE))
def test_exact_text_reads_back_whatever_the_size(value: float):
    assert units.seconds(units.exact(value, "s")) == value


@given(gigabits=st.integers(min_value=1, max_value=10**6))
def test_a_rate_in_bits_survives_as_bytes(gigabits: int):
    value = units.rate(f"{gigabits} Gb/s")
    assert value * 8 == gigabits * 10**9
    assert units.rate(units.exact(value, "B/s")) == value


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (55e9, "B/s", "55 GB/s"),
        (3.125e9, "B/s", "3.125 GB/s"),
        (10e-6, "s", "10 us"),
        (0.0035, "s", "3.5 ms"),
        (0, "B", "0 B"),
        (989.4e12, "FLOP/s", "989.4 TFLOP/s"),
    ],
)
def test_exact_text_uses_the_prefix_that_reads_best(value: float, unit: str, text: str):
    assert units.exact(value, unit) == text


@given(value=POSITIVE)
def test_short_text_is_within_half_a_percent(value: float):
    text = units.short(value, "B").replace(",", "")
    assert units.size(text) == pytest.approx(value, rel=0.005)


@given(value=POSITIVE)
def test_short_text_is_short(value: float):
    number = units.short(value, "B").split()[0]
    assert len(number.replace(",", "").replace(".", "").lstrip("0").rstrip("0")) <= 3


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0596, "s", "59.6 ms"),
        (3_276_800_000, "B", "3.28 GB"),  # Llama-3-70B, FP8, 20,000 tokens: 163,840 x 20,000
        (55e9, "B/s", "55 GB/s"),
        (999_499_999, "B", "999 MB"),
        (999_500_000, "B", "1 GB"),  # rounding carries into the next prefix
        (0, "s", "0 s"),
        (100e-9, "s", "0.1 us"),
    ],
)
def test_short_text_has_three_digits_and_the_prefix_that_fits(value: float, unit: str, text: str):
    assert units.short(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3_276_800_000, "3.28 GB (3.05 GiB)"),  # / 1,073,741,824 = 3.0518
        (131_072, "131 kB (128 KiB)"),
        (10 * 2**30, "10.7 GB (10 GiB)"),
        (68_719_476_736, "68.7 GB (64 GiB)"),  # Llama-2-7B at 131,072 tokens
        (656, "656 B"),
        (0, "0 B"),
    ],
)
def test_a_size_is_printed_in_decimal_and_binary_units(value: int, text: str):
    assert units.both(value) == text


@given(value=st.integers(min_value=1024, max_value=2**50))
def test_both_units_of_a_size_say_the_same(value: int):
    decimal, binary = units.both(value).replace(",", "").removesuffix(")").split(" (")
    assert units.size(decimal) == pytest.approx(value, rel=0.005)
    assert units.size(binary) == pytest.approx(value, rel=0.005)


@pytest.mark.parametrize(
    ("value", "text"),
    [(6.71, "6.7x"), (0.2441, "0.24x"), (112.4, "112x"), (3, "3x"), (10.04, "10x"), (12_345.6, "12,346x")],
)
def test_a_ratio_has_two_digits_below_a_hundred(value: float, text: str):
    assert units.times(value) == text


@given(value=st.floats(min_value=0.01, max_value=1e9))
def test_a_ratio_is_within_five_percent(value: float):
    text = units.times(value)
    assert text.endswith("x")
    assert float(text[:-1].replace(",", "")) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize(("value", "text"), [(20_000, "20,000"), (0, "0"), (1_999.6, "2,000")])
def test_a_count_has_its_thousands_apart(value: float, text: str):
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("text", "value"), [("0.6", 0.6), ("60 %", 0.6), ("60%", 0.6), ("0", 0), ("100%", 1), ("1", 1)]
)
def test_a_share_is_a_fraction_or_a_percentage(text, value):
    assert units.share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["1.01", "101%", "-0.1", "-10%", "60", "half", "", "%"])
def test_a_share_beyond_the_whole_is_refused(text):
    with pytest.raises(UserError):
        units.share(text)


@pytest.mark.parametrize(("text", "value"), [("2", 2), ("2/s", 2), ("120/min", 2), ("7200/h", 2), ("1.5 /s", 1.5)])
def test_a_frequency_is_times_a_second(text, value):
    assert units.frequency(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "/s", "2/day", "2/s/s", "-2/s", "two/s", "2 Hz"])
def test_a_frequency_of_another_kind_is_refused(text):
    with pytest.raises(UserError):
        units.frequency(text)


def test_money_has_an_amount_a_currency_and_a_day():
    assert units.money("2.50 USD@2026-11-29") == (2.5, "USD", date(2026, 11, 29))
    assert units.money("1,250 EUR @ 2026-01-02") == (1250, "EUR", date(2026, 1, 2))


@pytest.mark.parametrize(
    "text", ["2.50 USD", "2.50", "2.50@2026-11-29", "0 USD@2026-11-29", "2.5 usd@2026-11-29", "1.2.3 USD@2026-11-29"]
)
def test_money_without_one_of_them_is_refused(text):
    with pytest.raises(UserError, match=r"2026-11-29|above zero|amount"):
        units.money(text)


def test_endurance_is_writes_a_day_and_a_life():
    assert units.endurance("1 DWPD for 5 years") == (1, 5 * 365.25 * 86_400)
    assert units.endurance("0.3 DWPD for 1 year") == (0.3, 365.25 * 86_400)


@pytest.mark.parametrize("text", ["1 DWPD", "DWPD for 5 years", "0 DWPD for 5 years", "1 DWPD for 0 years", "7 PB", ""])
def test_endurance_of_another_kind_is_refused(text):
    with pytest.raises(UserError, match="1 DWPD for 5 years"):
        units.endurance(text)


@pytest.mark.parametrize(("value", "text"), [
    (0.0596, "59.6 ms"), (90, "90 s"), (150, "2.5 min"), (5946, "99.1 min"), (86_400, "24 h"), (172_800, "2 days"),
    (5 * 365.25 * 86_400, "5 years"),
])  # fmt: skip
def test_a_span_has_the_unit_that_reads_best(value, text):
    assert units.span(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2.5, "2.5 USD"), (0.00134567, "0.00135 USD"), (-8.784, "-8.78 USD"), (0, "0 USD")]
)
def test_an_amount_has_three_digits(value, text):
    assert units.priced(value, "USD") == text
