"""Lists and ranges in options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc import UserError, units
from kvcalc.cli import spans


@pytest.mark.parametrize(("text", "values"), [
    ("20000", (20_000,)),
    ("1,2, 4,8", (1, 2, 4, 8)),
    ("8,1,8", (8, 1)),
    ("1k..8k", (1000, 2000, 4000, 8000)),
    ("1k..10k", (1000, 2000, 4000, 8000, 10_000)),
    ("1k..1M:4", (1000, 10_000, 100_000, 1_000_000)),
    ("1Ki..4Ki", (1024, 2048, 4096)),
    ("5k..5k", (5000,)),
    ("1k..2k,7", (1000, 2000, 7)),
    ("1..3:9", (1, 2, 3)),
])  # fmt: skip
def test_lengths(text, values):
    assert spans.numbers("--seq", [text], units.tokens) == values


def test_rates_keep_their_units():
    assert spans.numbers("--bandwidth", ["1GB/s..4GB/s"], units.rate) == (1e9, 2e9, 4e9)
    assert spans.numbers("--bandwidth", ["1GB/s..100GB/s:3"], units.rate) == pytest.approx((1e9, 1e10, 1e11))


@given(low=st.integers(1, 10**6), more=st.integers(1, 10**6), steps=st.integers(2, 200))
def test_a_range_begins_and_ends_where_it_says_and_rises(low, more, steps):
    found = spans.numbers("--seq", [f"{low}..{low + more}:{steps}"], units.tokens)
    assert (found[0], found[-1]) == (low, low + more)
    assert list(found) == sorted(set(found))
    assert len(found) <= steps


@pytest.mark.parametrize(("text", "said"), [
    ("", "has an empty part"),
    ("1,,2", "has an empty part"),
    ("1k..", "is a range without an end; write one like '1k..1M'"),
    ("..1k", "is a range without an end"),
    ("1M..1k", "'1M..1k' is reversed; write 1k..1M"),
    ("0..10", "is not a count of tokens"),
    ("1..10:1", "is not a number of steps"),
    ("1..10:x", "is not a number of steps"),
    ("20,000", "begins with 0; commas part values, so write 20000 instead of 20,000"),
    ("1k..1M:1000000000", "a grid of 1,000,000,000 points is too large"),
    ("1k:5", "'1k:5' has steps but no end; write a range like '1k..1M:25'"),
    ("1k...1M", "'1k...1M' has too many points; write a range like '1k..1M'"),
    ("1k....1M", "has too many points"),
    ("1..2..3", "is not a count of tokens"),
])  # fmt: skip
def test_what_is_no_list_or_range_is_refused(text, said):
    with pytest.raises(UserError) as refused:
        spans.numbers("--seq", [text], units.tokens)
    assert said in str(refused.value)


def test_words_stand_once_each():
    assert spans.words("--kv-dtype", ["fp8,bf16", "fp8"]) == ("fp8", "bf16")
