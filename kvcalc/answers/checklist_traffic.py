"""Box 1, figures of the traffic: the pool's usage over time, and what is evicted, asked, found and copied an hour."""

from collections.abc import Iterator
from statistics import fmean
from typing import Protocol

from kvcalc import units
from kvcalc.answers.checklist_options import ChecklistOptions
from kvcalc.answers.checklist_result import Figure
from kvcalc.observe.observation import Traffic


class Observed(Protocol):
    """What was asked, and the traffic of what was read."""

    @property
    def options(self) -> ChecklistOptions:
        """As asked."""

    @property
    def traffics(self) -> tuple[Traffic, ...]:
        """Of every engine and companion."""


def figures(ground: Observed) -> Iterator[Figure]:
    """Totals since the start; an hour where the time between two scrapes is known."""
    yield from _usage(ground)
    for each in ground.traffics:
        if each.evicted is not None:
            yield _evicted(each, each.evicted)
        if each.elapsed_s:
            yield from _hourly(each, units.HOUR / each.elapsed_s)


def _usage(ground: Observed) -> Iterator[Figure]:
    usages = [each.pool_usage for each in ground.traffics if each.pool_usage is not None]
    watched = [usage for each in ground.traffics for usage in each.pool_usages]
    if usages:
        yield Figure("pool in use by requests, at most", max(usages), "1", "metrics")
    if len(watched) > 1:
        yield Figure("pool in use by requests, mean of the watch", fmean(watched), "1", "metrics")
        yield Figure("pool in use by requests, at least", min(watched), "1", "metrics")


def _evicted(each: Traffic, evicted: float) -> Figure:
    hourly, unit = each.evicted_per_hour, each.evicted_unit or "blocks"
    value, counted = (evicted, unit) if hourly is None else (hourly, f"{unit}/h")
    return Figure("evicted", value, counted, "metrics")


def _hourly(each: Traffic, times: float) -> Iterator[Figure]:
    for looked in each.lookups:
        for word, count in (("asked of", looked.asked), ("found in", looked.found)):
            if count is not None:
                yield Figure(f"{word} {looked.tier}", count * times, f"{looked.unit}/h", "metrics")
    for moved in each.transfers:
        for unit, count in (("B", moved.bytes), ("tokens", moved.tokens), ("blocks", moved.blocks)):
            if count is not None:
                yield Figure(f"copied from {moved.source} to {moved.target}", count * times, f"{unit}/h", "metrics")
