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
SLOW = {"rate": 1.0, "hit_rate": 0.6}  # that a drive bears
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


def test_wear_of_flash_forbids_it_or_costs_nothing_more():
    """16.5 h at a tenth of the price. A write is worth 8 h of holding at 3 drive writes a day, 24 at one: never."""
    price = {"nvme": Price(0.03, "USD", DAY)}
    worn, dead = (
        tier_of(ask(gpu_hour=GPU, gb_month=price, endurance={"nvme": Rating(writes, FIVE_YEARS)}), "nvme").holding
        for writes in (3.0, 1.0)
    )
    assert worn.break_even_s == pytest.approx(16.51 * 3600, rel=1e-3)
    assert dead.break_even_s == 0


def test_residence_shares_the_wear_among_the_hits_of_the_rate_that_is_given():
    """60 % are 1.5 hits a write: 1.5 x 16.5 h pay for the 24 h of wear that one hit does not pay for."""
    price = {"nvme": Price(0.03, "USD", DAY)}
    rating = {"nvme": Rating(1.0, FIVE_YEARS)}
    held = tier_of(ask(LOAD, gpu_hour=GPU, gb_month=price, endurance=rating), "nvme").holding
    assert (held.hits_per_write, held.break_even_s) == (pytest.approx(1.5), pytest.approx(16.51 * 3600, rel=1e-3))


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
    """One drive of 3.84 TB at 1 DWPD bears 44.4 MB/s; 1/s x 0.4 x 3.277 GB are 1.31 GB/s, 29.5 times as much."""
    price, rating = {"nvme": Price(0.03, "USD", DAY)}, {"nvme": Rating(1.0, FIVE_YEARS)}
    tier = tier_of(ask(SLOW, gpu_hour=GPU, gb_month=price, endurance=rating), "nvme")
    assert tier.capacity_bytes == pytest.approx(3.84e12)
    assert tier.drive.sustained_bytes_per_s == pytest.approx(44.44e6, rel=1e-3)
    assert tier.drive.sustained_tokens_per_s == pytest.approx(271, rel=2e-3)  # FP8: an eighth of twice 1,085 of bf16
    assert tier.drive.life_s / 31_557_600 == pytest.approx(5 / 29.49, rel=1e-3)
    assert tier.hourly.tier == pytest.approx(3840 * 0.03 / 730.5 * 29.49, rel=1e-3)


def test_size_that_is_given_is_not_parted_among_drives():
    tier = tier_of(ask(SLOW, endurance={"nvme": Rating(1.0, FIVE_YEARS)}, capacity={"nvme": 30.72e12}), "nvme")
    assert tier.capacity_bytes == 30.72e12
    assert tier.drive.sustained_bytes_per_s == pytest.approx(355.6e6, rel=1e-3)


def test_bytes_that_a_drive_may_be_written_are_its_daily_writes():
    """7.008 PB in 5 years of 3.84 TB: 1,825 x 3.84 TB, once a day but for the leap days."""
    drive = tier_of(ask(endurance={"nvme": Rating(None, FIVE_YEARS, 7.008e15)}), "nvme").drive
    assert drive.writes_per_day == pytest.approx(1825 / 1826.25, rel=1e-6)
    with pytest.raises(UserError, match="--capacity nvme-gen5"):
        ask({"tiers": ("nvme-gen5",)}, endurance={"nvme-gen5": Rating(None, FIVE_YEARS, 7e15)})


def test_no_more_is_served_than_the_path_bears():
    """By hand, tests/answers/test_contention.py: a drive is full at 1.643 req/s, and writes 0.4 x 3.277 GB of each."""
    result = ask(LOAD)
    hour = tier_of(result, "nvme").hourly
    assert hour.served_per_s == hour.saturation_per_s == pytest.approx(1.643, abs=0.001)
    assert hour.written_bytes_per_s == pytest.approx(1.643 * 0.4 * 3.2768e9, rel=1e-3)
    assert hour.written_bytes_per_s < 4e9  # what it writes at all
    assert any("nvme-gen4, 1 link, saturates at 1.64 req/s" in each for each in result.warnings)
    assert tier_of(result, "dram").hourly.served_per_s == 2


@pytest.mark.parametrize("rate", [20.0, 100.0])
def test_no_more_gpu_time_is_saved_than_the_node_has(rate):
    """8 GPUs are 8 GPU-hours an hour; misses alone fill them at 6.25 req/s."""
    result = ask({"rate": rate, "hit_rate": 0.6})
    for tier in result.tiers:
        assert tier.hourly.saved_gpu_s <= 8 * 3600
        assert tier.hourly.served_per_s <= 6.25 * (1 + 1e-9)
    assert any("prefill alone would keep the GPUs" in each for each in result.warnings)


def test_tier_too_small_for_the_prefix_is_warned_of():
    result = ask(capacity={"dram": 1e9})
    assert "dram-pcie5: 1 GB holds no prefix of 3.28 GB" in result.warnings


def test_latency_and_gpu_time_name_their_own_ways():
    texts = [each.text for each in ask().assumptions]
    assert "Latency of recomputing: one request alone, measured curve (TP 8, fp8, trtllm)" in texts
    assert "GPU time of recomputing: rate in the node profile, fp8 weights, TP 8" in texts
    assert not any(text.startswith("Recompute time:") for text in texts)


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
    written = [hour.written_bytes_per_s / hour.served_per_s for hour in (one, other)]
    assert written[0] >= written[1] * (1 - 1e-12)


@pytest.mark.parametrize(("prices", "words"), [
    ({"gpu_hour": GPU, "gb_month": {"dram": Price(0.3, "EUR", DAY)}}, "USD and EUR"),
    ({"gb_month": {"tape": GPU}}, "no tier 'tape' here"),
    ({"endurance": {"dram": Rating(1.0, None)}}, "is no drive"),
    ({"capacity": {"dram": 0.0}}, "holds something"),
])  # fmt: skip
def test_prices_that_do_not_go_together_are_refused(prices, words):
    with pytest.raises(UserError, match=words):
        ask(**prices)
