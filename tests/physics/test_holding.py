"""The five-minute rule, and what flash bears."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc import units
from kvcalc.physics import holding


def test_five_minute_rule_of_1987():
    """Gray and Putzolu: an access a second costs 2,000 dollars, a kilobyte of memory 5: 400 s, "five minutes"."""
    assert holding.break_even(2000.0, 5.0) == 400
    assert 300 <= holding.break_even(2000.0, 5.0) <= 420


def test_wear_by_hand():
    """At 3 drive writes a day one write costs what 8 hours of holding cost."""
    assert holding.wear(3) == 8 * 3600
    assert holding.break_even(100.0, 0.01, holding.wear(3)) == 0  # 100 a hit, 288 a write
    assert holding.break_even(300.0, 0.01, holding.wear(3)) == 30_000


def test_hits_share_the_wear_of_the_write_before_them():
    """288 a write: two hits of 100 don't pay for it, three do, and each for 10,000 s of holding."""
    assert holding.break_even(100.0, 0.01, holding.wear(3), 2.0) == 0
    assert holding.break_even(100.0, 0.01, holding.wear(3), 3.0) == 10_000
    assert holding.break_even(100.0, 0.01, holding.wear(3), None) == 10_000


def test_hits_that_follow_a_write():
    """At 60 % every 4 misses of 10 write and 6 hit."""
    assert holding.hits_per_write(0.6) == pytest.approx(1.5)
    assert (holding.hits_per_write(None), holding.hits_per_write(0.0), holding.hits_per_write(1.0)) == (1, 0, None)


def test_drive_of_one_write_a_day():
    """3.84 TB x 1 / 86,400 s = 44.4 MB/s; eight of them bear 1,085 new bf16 tokens/s of Llama-3-70B (327,680 B)."""
    assert holding.sustained(3.84e12, 1) == pytest.approx(44.4e6, abs=0.05e6)
    assert holding.sustained(8 * 3.84e12, 1) / 327_680 == pytest.approx(1085, abs=0.5)


def test_rated_writes_of_a_named_drive():
    """Micron 9550 MAX, StorageReview: 3.2 TB at 3 DWPD for 5 years is 17,520 TB; a year here has 365.25 days."""
    assert holding.sustained(3.2e12, 3) * 5 * units.YEAR == pytest.approx(17_520e12, rel=1e-3)


def test_misses_write_all_and_hits_what_is_new():
    assert holding.written(1000, 1200, 0.0) == 1200
    assert holding.written(1000, 1200, 1.0) == 200
    assert holding.written(1000, 1200, 0.25) == 0.75 * 1200 + 0.25 * 200


@given(size=st.integers(1, 10**12), more=st.integers(0, 10**12), rate=st.floats(0, 1), better=st.floats(0, 1))
def test_more_hits_never_write_more(size, more, rate, better):
    low, high = sorted((rate, better))
    assert holding.written(size, size + more, high) <= holding.written(size, size + more, low) * (1 + 1e-12)


@given(saved=st.floats(1e-6, 1e3), hold=st.floats(1e-9, 1e3), factor=st.floats(1, 100))
def test_dearer_gpus_and_cheaper_tiers_are_worth_a_longer_residence(saved, hold, factor):
    found = holding.break_even(saved, hold)
    assert holding.break_even(saved * factor, hold) == pytest.approx(found * factor)
    assert holding.break_even(saved, hold * factor) == pytest.approx(found / factor)
