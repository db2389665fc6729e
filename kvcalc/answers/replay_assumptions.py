"""What a replay rests on: the curve's assumptions, with those about the cache as the replay's rules have them."""

from collections.abc import Iterator
from dataclasses import replace

from kvcalc.answers.curve import LOOKUP, ONE_CACHE
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.placement import EXCLUSIVE
from kvcalc.answers.playing import Playing

ORDERS = {"lru": "the least recently used block goes first", "fifo": "the block that came first goes first"}
ADMITTED = {
    "always": "every block that HBM evicts may go down",
    "second-use": "a block goes down only once it was used twice",
}
INCLUSIVE = "Each tier keeps a copy of what is above it, so its hits are those beyond its copies"


def replayed(assumed: tuple[Assumption, ...], playing: Playing) -> tuple[Assumption, ...]:
    """The assumptions of a curve and its tiers, made those of a replay by these rules."""
    return tuple(_replayed(assumed, playing))


def _replayed(assumed: tuple[Assumption, ...], playing: Playing) -> Iterator[Assumption]:
    rules = playing.rules
    for each in assumed:
        if each.text.startswith(ONE_CACHE):
            whose = "One cache" if playing.replicas == 1 else f"{playing.replicas} replicas, each with its own cache"
            yield replace(each, text=f"{whose}; {ORDERS[rules.policy]}; {LOOKUP} its last block first")
        elif each.text.startswith(EXCLUSIVE):
            tiers = INCLUSIVE if rules.inclusive else EXCLUSIVE
            yield replace(each, text=f"{tiers}; {ADMITTED[rules.admission]}; all its capacity is for its replica's KV")
        else:
            yield each
