"""Words for what has no number: a wait that only grows, a hit rate that can't pay, a link that never decides."""

from datetime import date

import pytest

import kvcalc
from kvcalc import Options, Price, Prices, Rating, units
from kvcalc.render import markdown
from kvcalc.tables import cost as costs
from kvcalc.tables import margin as margins


def printed(steps=False, model="llama3.1-70b", node="h100-pcie5", **options):
    return markdown.render(margins.page([kvcalc.margin(model, node, 20_000, Options(**options))], steps))


def test_queue_that_only_grows_says_so():
    line = next(line for line in printed(rate=2.0, hit_rate=0.6).splitlines() if line.startswith("| nvme-gen4, 1 link"))
    assert line.count("grows") == 2


def test_store_slower_than_recomputing_can_not_pay():
    assert "can't pay: recomputing is quicker" in printed(use="shared")


def test_fetch_as_quick_as_the_own_one_needs_no_more_hits():
    """A fabric faster than the node's own DRAM: 8 NICs at their line rate, 400 GB/s, against 214."""
    text = printed(use="shared", bandwidth={"infiniband": 1e12}, latency={"infiniband": 0.0}, links=1)
    assert "| stays " in text


def test_link_that_never_decides_says_why():
    text = printed(True, node="gh200-nvlink-c2c", new=50_000, prefill="model", tiers=("dram",))
    assert "| never " in text
    assert "link-bound above cached / new = never: a cached token is loaded in" in text


def test_windows_have_lengths_and_no_ratio():
    text = printed(
        True, model="gemma3-27b", node="h200-pcie5", new=500, prefill="model", tiers=("nvme",), kv_dtype="auto"
    )
    block = text.partition("### Time to first token")[2].partition("###")[0]
    assert " : 1)" not in block
    assert "no one ratio holds at all lengths" in text


def test_ratio_stands_beside_the_length():
    """By hand: 2,000 x 20 us x 55 GB/s / 163,840 B are 13,427.7 tokens."""
    assert "from 13,428 (6.71 : 1)" in printed(new=2000, prefill=50_000.0, tiers=("dram",), links=1)


def test_tiers_are_held_against_the_hbm_of_all_replicas_after_fp8():
    """TP 2 makes 4 replicas: 2 TB hold 610 FP8 prefixes of 3.277 GB, against those of four times a replica's HBM."""
    result = kvcalc.margin("llama3.1-70b", "h100-pcie5", 20_000, Options(tp=2, kv_dtype="bf16"))
    hbm = 4 * result.room.hbm_prefixes_fp8
    line = next(line for line in markdown.render(margins.page([result])).splitlines() if line.startswith("4. "))
    assert line.startswith("4. What a tier adds after that, with FP8 KV: dram-pcie5 610 prefixes (")
    assert f"({units.times(610 / hbm)} of the HBM of 4 replicas)" in line


def test_copy_of_another_node_is_read_from_where_its_tier_says():
    text = printed(use="shared", node="p5en.48xlarge", replicas=2, prefill="model")
    assert "The one copy is read from: efa-3200g: GPU of another node over EFA" in text
    assert "infiniband-400g: DRAM of another node over InfiniBand" in printed(use="shared")


def test_batch_that_hbm_does_not_hold_is_said_in_its_row_and_the_headline():
    text = printed(use="active", batch=1000)
    assert "| HBM, if it held them: at most 185 fit" in text
    assert "but HBM holds 185 of the 1,000 sequences" in text.splitlines()[2]
    assert "| HBM " in printed(use="active", batch=32)


@pytest.mark.parametrize(("use", "title", "table"), [
    ("preempt", "swap out and in, or recompute?", "### Preemption"),
    ("active", "decode with the KV in a tier?", "### Decoding"),
    ("shared", "one copy for all replicas, or one in each?", "### One copy"),
])  # fmt: skip
def test_answer_for_a_use_begins_with_it_and_holds_no_other_verdicts(use, title, table):
    text = printed(True, use=use)
    lines = text.splitlines()
    assert lines[0].endswith(title)
    assert next(line for line in lines if line.startswith("###")).startswith(table)
    for other in ("### Verdicts", "### What would change the verdict", "buys capacity here, not speed"):
        assert other not in text
        assert other in printed()


def test_wear_that_costs_more_than_a_hit_saves_says_so():
    day = date(2026, 11, 29)
    prices = Prices(
        Price(2.5, "USD", day), {"nvme": Price(0.03, "USD", day)}, {"nvme": Rating(1.0, 5 * 365 * 86_400.0)}
    )
    text = markdown.render(costs.page(kvcalc.cost("llama3.1-70b", "h100-pcie5", 20_000, Options(), prices), True))
    assert "never: wear costs more" in text
    assert "24 h of wear" in text


def test_writing_that_is_not_known_leaves_preemption_without_a_verdict():
    line = next(line for line in printed(use="preempt").splitlines() if line.startswith("| remote-store, 1 link"))
    assert line.count("not known") == 2
