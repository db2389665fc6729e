"""The parts of an answer to `margin` that are there when they are asked for, each shown by a module of its own.

What is not asked for is not imported, so that the program starts quickly.
"""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from kvcalc.answers.margin_result import Margin
from kvcalc.tables.page import Table

ASKED = {
    "prefix": "fetch or recompute?",
    "preempt": "swap out and in, or recompute?",
    "active": "decode with the KV in a tier?",
    "shared": "one copy for all replicas, or one in each?",
}


def blocks(result: Margin, on: str) -> Iterator[Table]:
    """Their tables, those of the use apart; `on` ends the titles."""
    for part in _asked(result):
        if not part.__name__.endswith(".uses"):
            yield from part.blocks(result, on)


def use(result: Margin, on: str) -> Iterator[Table]:
    """The table of another use than the prefix cache: it is the answer."""
    if result.uses:
        from kvcalc.tables import uses

        yield from uses.blocks(result, on)


def arithmetic(result: Margin) -> Iterator[str]:
    """Their arithmetic, line by line."""
    for part in _asked(result):
        yield from part.arithmetic(result)


def summary(result: Margin) -> str:
    """The answer in one sentence for another use than the prefix cache."""
    from kvcalc.tables import uses

    return uses.summary(result)


def over(result: Margin) -> str:
    """What the rate that was asked about is too much for, for the headline."""
    if not result.traffic:
        return ""
    from kvcalc.tables import contention

    return contention.over(result)


def _asked(result: Margin) -> Iterator[ModuleType]:
    if result.uses:
        yield import_module("kvcalc.tables.uses")
    if result.partial_hits:
        yield import_module("kvcalc.tables.partial")
    if result.traffic:
        yield import_module("kvcalc.tables.contention")
