"""Prefix lengths at which something begins or ends to hold, in words."""

from kvcalc import units
from kvcalc.answers.crossover_result import Turns


def words(turns: Turns) -> str:
    """At which lengths something holds: "always", "never", "from 225", "below 225, from 187,000"."""
    if not turns.tokens:
        return "always" if turns.holds_short else "never"
    said, holds = [], turns.holds_short
    for tokens in turns.tokens:
        said.append(f"{'below' if holds else 'from'} {units.count(-(-tokens // 1))}")
        holds = not holds
    return ", ".join(said)
