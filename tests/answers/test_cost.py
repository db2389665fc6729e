"""`cost`: what a tier saves and costs, worked by hand on the chapter's example."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvcalc
from kvcalc import Options, UserError
from kvcalc.answers.prices import Price, Prices, Rating

DAY = date(2026, 11, 29)
GPU = Price(2.5, "USD", DAY)
LOAD = {"rate": 2.0, "hit_rate": 0.6}
FIVE_YEARS = 5 * 31_557_600


def ask(options=None, **prices):
    return kvcalc.cost("llama3-70b", "h100-pcie5", 20_000, Options(**(options or {})), Prices(**prices))


def tier_of(result, name):
    (found,) = [tier for tier in result.tiers if tier.tier.startswith(name)]
    return found


def test_two_margins_are_apart():
    """GPU time by the chapter's 50,000 tok/s; latency by the kernel tables' 716 ms, which `margin` prints beside it."""
    result = ask()
    assert result.throughput.seconds == pytest.approx(0.4)
    assert result.latency.seconds == pytest.approx(0.716, abs=0.001)
    dram = tier_of(result, "dram")
    assert dram.latency_margin == pytest.approx(0.7155 / 0.01535, rel=1e-3)
    assert dram.gpu_margin == pytest.approx(0.4 / (3.2768e9 / (8 * 3.35e12)), rel=1e-3)  # HBM writes: 0.12 ms


def test_fetch_takes_next_to_no_gpu_time_even_where_it_is_slow():
    store = tier_of(ask(), "remote-store")
    assert store.latency_margin < 1
    assert store.gpu_margin > 1000
    assert store.saved_gpu_s == pytest.approx(3.2, rel=1e-3)  # 8 GPUs x 400 ms


def test_rate_that_is_given_serves_both_margins():
    result = ask({"prefill": 28_000.0})
    assert result.latency == result.throughput
    assert any("no rate of a whole node is known" in each.text for each in result.assumptions)


def test_break_even_residence_by_hand():
    """3.199 GPU-s x 2.50/3,600 = 0.002222 USD a hit; 3.2768 GB x 0.30/730.5 h = 0.0013457 USD an hour: 99.1 min."""
    holding = tier_of(ask(gpu_hour=GPU, gb_month={"dram": Price(0.30, "USD", DAY)}), "dram").holding
    assert holding.saved_per_hit == pytest.approx(0.002222, rel=1e-3)
    assert holding.hold_per_hour == pytest.approx(0.0013457, rel=1e-3)
    assert holding.break_even_s == pytest.approx(99.1 * 60, rel=1e-3)
    assert holding.wear_s is None


def test_wear_of_flash_shortens_it():
    """16.5 h at a tenth of the price, less 8 h for each write at 3 drive writes a day; at 1 a day it never pays."""
    price = {"nvme": Price(0.03, "USD", DAY)}
    worn, dead = (
        tier_of(ask(gpu_hour=GPU, gb_month=price, endurance={"nvme": Rating(writes, FIVE_YEARS)}), "nvme").holding
        for writes in (3.0, 1.0)
    )
    assert worn.break_even_s == pytest.approx((16.51 - 8) * 3600, rel=2e-3)
    assert dead.break_even_s < 0


def test_an_hour_by_hand():
    """4,320 hits an hour x 3.199 s = 3.84 GPU-h, 9.60 USD; 2 TB x 0.30/730.5 h = 0.82 USD; 2 x 0.4 x 3.277 GB/s."""
    hour = tier_of(ask(LOAD, gpu_hour=GPU, gb_month={"dram": Price(0.30, "USD", DAY)}), "dram").hourly
    assert hour.saved_gpu_s / 3600 == pytest.approx(3.84, rel=1e-3)
    assert hour.saved == pytest.approx(9.60, rel=1e-3)
    assert hour.tier == pytest.approx(0.8214, rel=1e-3)
    assert hour.net == pytest.approx(hour.saved - hour.tier)
    assert hour.written_bytes_per_s == pytest.approx(2.6214e9, rel=1e-3)
    assert hour.turnover_s == pytest.approx(2e12 / 2.6214e9, rel=1e-3)


def test_drive_that_is_used_up_sooner_costs_more():
    """30.72 TB at 1 DWPD bear 355.6 MB/s; 2.62 GB/s use 5 years up in 0.68, so each hour costs 7.4 times as much."""
    price, rating = {"nvme": Price(0.03, "USD", DAY)}, {"nvme": Rating(1.0, FIVE_YEARS)}
    tier = tier_of(ask(LOAD, gpu_hour=GPU, gb_month=price, endurance=rating), "nvme")
    assert tier.drive.sustained_bytes_per_s == pytest.approx(355.6e6, rel=1e-3)
    assert tier.drive.sustained_tokens_per_s == pytest.approx(2170, rel=1e-3)  # FP8: twice the 1,085 of bf16
    assert tier.drive.life_s / 31_557_600 == pytest.approx(0.678, abs=0.001)
    assert tier.hourly.tier == pytest.approx(30_720 * 0.03 / 730.5 * 7.372, rel=1e-3)


def test_endurance_of_a_named_drive_is_its_profiles():
    """Samsung PM9A3 3.84 TB: 1 drive write a day for 5 years."""
    result = kvcalc.cost("llama3-70b", "h100-pcie5", 20_000, Options(tiers=("nvme-samsung-pm9a3",), **LOAD))
    drive = tier_of(result, "nvme-samsung").drive
    assert (drive.writes_per_day, drive.rated_s) == (1, FIVE_YEARS)
    assert drive.sustained_bytes_per_s == pytest.approx(44.4e6, abs=0.05e6)
    assert any("PM9A3" in source.title for each in result.assumptions for source in each.sources if "Wear" in each.text)


def test_nothing_is_said_of_what_is_not_known():
    tier = tier_of(ask(), "nvme")
    assert (tier.drive, tier.hourly, tier.holding.saved_per_hit, tier.holding.break_even_s) == (None,) * 4
    assert tier_of(ask(LOAD), "remote-store").hourly.turnover_s is None


def test_prices_and_their_days_are_among_the_assumptions():
    result = ask(gpu_hour=GPU, gb_month={"dram": Price(0.30, "USD", DAY)})
    given_ = [source.address for each in result.assumptions[:2] for source in each.sources]
    assert given_ == ["--gpu-hour 2.5 USD@2026-11-29", "--gb-month dram-pcie5 0.3 USD@2026-11-29"]


@given(rate=st.floats(0.01, 100), hit=st.integers(0, 100), better=st.integers(0, 100), new=st.integers(0, 5000))
def test_more_hits_save_more_and_write_less(rate, hit, better, new):
    low, high = sorted((hit, better))
    one, other = (
        tier_of(ask({"rate": rate, "hit_rate": each / 100, "new": new}, gpu_hour=GPU), "dram").hourly
        for each in (low, high)
    )
    assert one.saved <= other.saved * (1 + 1e-12)
    assert one.written_bytes_per_s >= other.written_bytes_per_s * (1 - 1e-12)


@pytest.mark.parametrize(("prices", "words"), [
    ({"gpu_hour": GPU, "gb_month": {"dram": Price(0.3, "EUR", DAY)}}, "USD and EUR"),
    ({"gb_month": {"tape": GPU}}, "no tier 'tape' here"),
    ({"endurance": {"dram": Rating(1.0, None)}}, "is no drive"),
    ({"capacity": {"dram": 0.0}}, "holds something"),
])  # fmt: skip
def test_prices_that_do_not_go_together_are_refused(prices, words):
    with pytest.raises(UserError, match=words):
        ask(**prices)
