"""What is recommended of several ways to spread requests."""

import pytest

from kvcalc.answers.route import load_cap
from kvcalc.answers.route_result import Strategy
from kvcalc.answers.routing_advice import routing_advice
from kvcalc.answers.simulate_result import Run
from kvcalc.errors import UserError


def way(name, rate, mean, p99=3.0, imbalance=1.0):
    run = Run(name, rate, rate, mean, mean, 2.0, p99, 1.0, 0.0, 0.5, 100.0, 0, 0.0, 0, 0)
    return Strategy(run, imbalance, 0, 0.0, "", "")


def said(prefix, turns=(0.1, 1.0), load=(0.1, 1.0), store=None):
    ways = [way("round-robin", *turns), way("least-loaded", *load), way("prefix-aware", *prefix)]
    ways += [way("consistent-hash", 0.1, 9.0)]
    return routing_advice([*ways, way("shared-store", *store)] if store else ways)


def test_routing_by_prefix_that_is_quicker_is_recommended():
    assert said((0.3, 0.5)).endswith("; route by prefix first.")


def test_hits_that_make_nothing_quicker_are_not_recommended():
    """The requests of a prefix wait for its replica."""
    text = said((0.3, 1.2, 5.0, 1.9))
    assert "prefix-aware is not 10 % quicker than round-robin (imbalance 1.90x against 1.00x): keep round-robin" in text


def test_least_loaded_is_what_routing_has_to_beat():
    assert said((0.3, 0.6), load=(0.1, 0.6)).endswith("keep least-loaded.")


def test_a_longer_tail_is_said():
    assert "its p99 is longer than that of round-robin, 6 s against 3 s; if the mean counts" in said((0.3, 0.5, 6.0))


def test_where_nothing_differs_nothing_is_recommended():
    text = said((0.1, 1.0))
    assert "nothing to change" in text
    assert "route by" not in text


def test_where_only_load_differs_load_decides():
    assert said((0.1, 0.9), load=(0.1, 0.5)).endswith("spread by load, and not by prefix.")


def test_a_store_has_to_beat_the_best_of_the_others():
    assert "without being quicker; route by prefix first" in said((0.3, 0.5), store=(0.4, 0.49))
    assert "weigh that against what it takes to run" in said((0.3, 0.5), store=(0.4, 0.3))


@pytest.mark.parametrize(("replicas", "cap"), [(2, 1.5), (3, 2.0), (4, 2.0), (100, 2.0)])
def test_the_cap_binds_for_any_number_of_replicas(replicas, cap):
    """One replica that has all load has `replicas` times the mean."""
    assert load_cap(None, replicas) == cap < replicas


def test_a_cap_that_is_asked_for_is_taken():
    assert load_cap(4.0, 2) == 4.0
    with pytest.raises(UserError, match="--load-cap"):
        load_cap(0.5, 2)
