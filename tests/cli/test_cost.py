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
    assert float(rows[1]["hourly_written_bytes_per_s"]) == pytest.approx(1.643 * 0.4 * 3.2768e9, rel=1e-3)


def test_row_says_where_it_saturates_and_a_warning_that_the_gpus_do(run):
    out = run(*CHAPTER, "--rate", "20/s", "--hit-rate", "60%").out
    hour = out.partition("### One hour")[2]
    assert "| dram-pcie5      | GPUs saturate at 6.25 req/s " in hour
    assert "| nvme-gen4       | saturates at 1.64 req/s " in hour
    assert "prefill alone would keep the GPUs 320 % busy; they saturate at 6.25 req/s" in hour


def test_headline_says_which_switch_makes_margin_and_cost_agree(run):
    line = run(*CHAPTER).out.splitlines()[2]
    assert "margin takes the 400 ms of the rate in the node profile: with --prefill 50000 so does cost" in line
    same = run(*CHAPTER, "--prefill", "50000", "--format", "json").json
    margin = run("margin", *CHAPTER[1:], "--links", "all", "--format", "json").json
    assert {tier["tier"]: tier["verdict"] for tier in same["tiers"]} == {
        path["tier"]: path["verdict"] for path in margin["paths"]
    }


def test_wear_that_is_not_known_is_said_in_the_headline(run):
    drive = (*CHAPTER, *PRICED[:2], "--gb-month", "nvme=0.03 USD@2026-11-29")
    assert "16.5 h in nvme-gen4 (wear not known)" in run(*drive).out
    assert "16.5 h in nvme-gen4." in run(*drive, "--endurance", "nvme=3 DWPD for 5 years").out


def test_what_is_never_written_stays_and_lasts(run):
    """All requests hit and bring nothing new."""
    all_hit = ("--rate", "1/s", "--hit-rate", "100%", "--endurance", "nvme=1 DWPD for 5 years")
    out = run(*CHAPTER, *all_hit).out
    assert out.count("as long as it is wanted") == 5
    assert "always, nothing is written" in out
    assert "capacity not known" not in out


def test_residence_says_how_many_hits_share_a_write(run):
    assert "Break-even residence, at 1 hit a write" in run(*CHAPTER, *PRICED).out
    assert "Break-even residence, at 1.5 hits a write" in run(*CHAPTER, *PRICED, *LOADED).out


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
