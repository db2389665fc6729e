"""Words for what has no number: a wait that only grows, a hit rate that can't pay, a link that never decides."""

from datetime import date

import kvcalc
from kvcalc import Options, Price, Prices, Rating
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
    assert " never |" in text
    assert "link-bound above cached / new = never: a cached token is loaded in" in text


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
