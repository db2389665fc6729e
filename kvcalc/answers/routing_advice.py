"""Which way to spread requests over replicas, by hits, times to first token with their tails, and load."""

from collections.abc import Sequence

from kvcalc import units
from kvcalc.answers.advice import ADDS, percent
from kvcalc.answers.route_result import Strategy

WORTH = 0.9  # of a time to first token: what is not below it isn't worth its infrastructure
TAIL = 1.1  # of a p99: what is above it is a longer tail


def routing_advice(strategies: Sequence[Strategy]) -> str:
    """Does routing by prefix or a shared store do better than by turn or load, and is a store worth what it takes?"""
    by_name = {each.run.name: each for each in strategies}
    turns, load, store = by_name["round-robin"], by_name["least-loaded"], by_name.get("shared-store")
    plain = load if load.run.ttft_mean_s < WORTH * turns.run.ttft_mean_s else turns
    routed = min((by_name["prefix-aware"], by_name["consistent-hash"]), key=lambda each: each.run.ttft_mean_s)
    rates = [each.run.token_rate for each in strategies]
    if max(rates) - min(rates) < ADDS:
        return _alike(turns, plain, max(rates))
    text = f"{_said(routed)} against {_said(turns)} and {_said(load)}"
    if _quicker(routed, plain):
        first, best = f"{_tail(routed, plain)}route by {_by(routed)} first", routed
    else:
        imbalance = f"imbalance {routed.load_imbalance:.2f}x against {plain.load_imbalance:.2f}x"
        first, best = (
            f"{routed.run.name} is not 10 % quicker than {plain.run.name} ({imbalance}): keep {plain.run.name}",
            plain,
        )
    if store is None:
        return f"{text[0].upper()}{text[1:]}; {first}."
    moved = f"a shared store: {_figures(store)}, and moves {units.short(store.network_bytes, 'B')}"
    if _quicker(store, best):
        return (
            f"{text[0].upper()}{text[1:]}; {moved}: {_tail(store, best)}it is quicker here, so weigh that against what "
            "it takes to run."
        )
    return f"{text[0].upper()}{text[1:]}; {moved} without being quicker; {first}."


def _alike(turns: Strategy, plain: Strategy, most: float) -> str:
    said = f"No way to spread requests hits more than another here (at most {percent(most)})"
    if plain is turns:
        return f"{said}, and none makes them quicker at little cost: nothing to change."
    return f"{said}; {_said(plain)} against {_said(turns)}: spread by load, and not by prefix."


def _quicker(one: Strategy, other: Strategy) -> bool:
    return one.run.ttft_mean_s < WORTH * other.run.ttft_mean_s


def _tail(one: Strategy, other: Strategy) -> str:
    """What a shorter mean hides."""
    if one.run.ttft_p99_s <= TAIL * other.run.ttft_p99_s:
        return ""
    longer = f"{units.short(one.run.ttft_p99_s, 's')} against {units.short(other.run.ttft_p99_s, 's')}"
    return f"its p99 is longer than that of {other.run.name}, {longer}; if the mean counts, "


def _by(strategy: Strategy) -> str:
    return "prefix" if strategy.run.name == "prefix-aware" else "hash"


def _said(strategy: Strategy) -> str:
    return f"{strategy.run.name} ({_figures(strategy)})"


def _figures(strategy: Strategy) -> str:
    run = strategy.run
    mean, p99 = units.short(run.ttft_mean_s, "s"), units.short(run.ttft_p99_s, "s")
    return f"{percent(run.token_rate)} hit, TTFT mean {mean}, p99 {p99}"
