"""`kvcalc cost` as a program: what it prints, and what it refuses."""

import csv

import pytest

CHAPTER = ("cost", "--model", "llama3-70b")
PRICED = ("--gpu-hour", "2.50 USD@2026-11-29", "--gb-month", "dram=0.30 USD@2026-11-29")
LOADED = ("--rate", "2/s", "--hit-rate", "60%")


def test_page_has_margins_holding_an_hour_and_what_is_cheaper(run):
    ran = run(*CHAPTER, *PRICED, *LOADED)
    assert (ran.code, ran.err) == (0, "")
    for title in ("two margins", "five-minute rule", "One hour at 2 req/s", "Endurance not known", "Cheaper things"):
        assert title in ran.out
    assert "99.1 min" in ran.out  # tests/answers/test_cost.py
    assert "--gpu-hour 2.5 USD@2026-11-29" in ran.out


def test_without_prices_and_traffic_only_time_is_compared(run):
    out = run(*CHAPTER).out
    assert "two margins" in out
    assert "USD" not in out
    assert "req/s" not in out


def test_frequencies_and_shares_may_be_written_in_several_ways(run):
    found = [
        run(*CHAPTER, "--rate", rate, "--hit-rate", share, "--format", "json").json
        for rate, share in (("2/s", "60%"), ("2", "0.6"), ("120/min", "60 %"), ("7200/h", "0.60"))
    ]
    assert all((each["rate_per_s"], each["hit_rate"]) == (2, pytest.approx(0.6)) for each in found)


def test_csv_is_a_row_a_tier_in_si_units(run):
    rows = list(csv.DictReader(run(*CHAPTER, *PRICED, *LOADED, "--format", "csv").out.splitlines()))
    assert [row["tier"] for row in rows][:2] == ["dram-pcie5", "nvme-gen4"]
    assert float(rows[0]["holding_break_even_s"]) == pytest.approx(99.1 * 60, rel=1e-3)
    assert rows[1]["holding_break_even_s"] == ""
    assert float(rows[1]["hourly_written_bytes_per_s"]) == pytest.approx(2.6214e9, rel=1e-3)


def test_explained_arithmetic_has_the_numbers_in_it(run):
    out = run(*CHAPTER, *PRICED, "--explain").out
    assert "recomputing = 8 GPUs x 400 ms = 3.2 s of GPU time" in out
    assert "break-even residence = 0.00222 USD / 0.00135 USD an hour = 99.1 min" in out


@pytest.mark.parametrize(("options", "words"), [
    (("--gpu-hour", "2.50 USD"), "has no date"),
    (("--gpu-hour", "2.50"), "amount, a currency and the day"),
    (("--gpu-hour", "2.50 USD@yesterday"), "amount, a currency and the day"),
    (("--gpu-hour", "2.50 USD@2026-02-30"), "is not a day"),
    (("--gpu-hour", "2.50 USD@2026-13-01"), "is not a day"),
    (("--gpu-hour", "-2.50 USD@2026-11-29"), "amount, a currency and the day"),
    (("--gpu-hour", "0 USD@2026-11-29"), "above zero"),
    (("--gpu-hour", "2,50 USD@2026-11-29"), "is not a plain number"),
    (("--gpu-hour", "$2.50@2026-11-29"), "amount, a currency and the day"),
    (("--gb-month", "dram=0.30 USD"), "has no date"),
    (("--gb-month", "0.30 USD@2026-11-29"), "no tier and value"),
    (("--gb-month", "tape=0.30 USD@2026-11-29"), "no tier 'tape' here"),
    ((*PRICED, "--gb-month", "nvme=0.03 EUR@2026-11-29"), "can't be compared"),
    (("--endurance", "nvme=1 DWPD"), "add the years of its warranty"),
    (("--endurance", "nvme=0 DWPD for 5 years"), "not the endurance of a drive"),
    (("--endurance", "dram=1 DWPD for 5 years"), "is no drive"),
    (("--capacity", "dram=0 B"), "holds something"),
    (("--capacity", "dram=2"), "is not a size"),
    (("--rate", "2/s"), "--rate needs --hit-rate"),
    (("--hit-rate", "60%"), "--hit-rate needs --rate"),
    (("--rate", "-2/s", "--hit-rate", "60%"), "must be finite and not negative"),
    (("--rate", "0", "--hit-rate", "60%"), "above zero"),
    (("--rate", "2/day", "--hit-rate", "60%"), "is not a frequency"),
    (("--rate", "2/s", "--hit-rate", "1.2"), "more than the whole"),
    (("--rate", "2/s", "--hit-rate", "120%"), "more than the whole"),
    (("--rate", "2/s", "--hit-rate", "-0.1"), "not negative"),
])  # fmt: skip
def test_wrong_input_is_refused_in_one_line(refused, options, words):
    assert words in refused(*CHAPTER, *options)
