"""`route` as a library."""

import gzip
import json
from dataclasses import replace

import pytest

from kvcalc.answers.options import Options
from kvcalc.answers.placement import Placing
from kvcalc.answers.playing import Playing
from kvcalc.answers.route import NEEDS, Sharing, route
from kvcalc.errors import UserError
from kvcalc.profiles import catalog
from kvcalc.simulate.arrivals import Pace


def ask(path, sharing=None, **options):
    placing = Placing(
        catalog.model("llama3-70b"),
        options.pop("machine", None) or catalog.machine("h100-pcie5"),
        Options(**options),
        hbm_bytes=400e9,
        tiers=(),
        kv_dtypes=("fp8",),
    )
    return route(path, placing, Playing(pace=Pace(speed=2.0), replicas=3), sharing)


@pytest.fixture(scope="module")
def excerpt(data, tmp_path_factory):
    """The first 500 requests of a trace, as in golden.json."""
    rows = gzip.decompress((data / "mooncake_conversation.jsonl.gz").read_bytes()).splitlines(keepends=True)
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    path.write_bytes(b"".join(rows[:500]))
    return path


@pytest.fixture(scope="module")
def ceiling(data):
    """Of the tokens, with a cache without limit."""
    traces = json.loads((data / "golden.json").read_text())["traces"]
    counts = traces["fixture_conversation_first500"]["tail_first"]["0"]
    return counts["hit_tokens"] / counts["input_tokens"]


@pytest.fixture(scope="module")
def answer(excerpt):
    return ask(excerpt)


def by_name(answer):
    return {each.run.name: each for each in answer.strategies}


def test_every_strategy_says_what_it_needs_and_how_it_fails(answer):
    assert set(by_name(answer)) == set(NEEDS)
    assert all(each.components and each.failure_modes for each in answer.strategies)


def test_knowing_the_prefix_hits_more_than_taking_turns(answer):
    rates = {name: each.run.token_rate for name, each in by_name(answer).items()}
    assert rates["prefix-aware"] > 1.3 * rates["round-robin"]
    assert rates["consistent-hash"] > 1.3 * rates["round-robin"]


def test_a_store_without_limit_hits_about_the_ceiling_and_only_it_moves_kv(answer, ceiling):
    """All but what is asked for again before it has arrived there."""
    found = by_name(answer)
    assert found["shared-store"].run.token_rate == pytest.approx(ceiling, abs=0.01)
    assert {name for name, each in found.items() if each.network_bytes} == {"shared-store"}


def test_no_replica_does_less_than_the_mean_or_more_than_all(answer):
    assert all(1 <= each.load_imbalance <= 3 for each in answer.strategies)


def test_the_quickest_tier_that_replicas_can_share_is_the_store(answer):
    assert answer.store == "infiniband-400g"
    assert answer.store_bytes is None


def test_a_slow_network_is_slower_than_routing(excerpt):
    """25G Ethernet: 0.37x of recomputing."""
    found = by_name(ask(excerpt, Sharing(store="ethernet-25g")))
    assert found["shared-store"].run.ttft_mean_s > found["prefix-aware"].run.ttft_mean_s
    assert found["shared-store"].run.lost_requests > 0


def test_a_small_store_hits_less(excerpt, answer):
    small = by_name(ask(excerpt, Sharing(store="infiniband", store_bytes=200e9)))
    assert small["shared-store"].run.token_rate < by_name(answer)["shared-store"].run.token_rate


def test_it_ends_in_a_sentence(answer):
    assert answer.recommendation.startswith(("Prefix-aware (", "Consistent-hash ("))
    assert "a shared store: " in answer.recommendation


def test_a_node_that_reaches_no_store_compares_none(data):
    machine = catalog.machine("h100-pcie5")
    local = replace(machine, tiers=tuple(tier for tier in machine.tiers if tier.medium in ("dram", "nvme")))
    found = ask(data / "mooncake_arxiv_first20.jsonl", machine=local)
    assert "shared-store" not in by_name(found)
    assert any("--store" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("sharing", "said"),
    [
        (Sharing(load_cap=0.5), "--load-cap"),
        (Sharing(store="nowhere"), "nowhere"),
        (Sharing(store="infiniband", store_bytes=1e8), "the longest prompt has"),
    ],
)
def test_what_does_not_go_together_is_refused(data, sharing, said):
    with pytest.raises(UserError, match=said):
        ask(data / "mooncake_arxiv_first20.jsonl", sharing)
