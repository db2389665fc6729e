"""The readers in the order in which they are tried, what they have in common, and how a trace is asked to be read."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kvcalc.frozen import frozen
from kvcalc.traces.bailian import Bailian
from kvcalc.traces.clock import Arrival, Unit
from kvcalc.traces.counts import TokenCounts
from kvcalc.traces.mooncake import Mooncake
from kvcalc.traces.ragpulse import RagPulse
from kvcalc.traces.row import Row
from kvcalc.traces.weka import Weka


class Reader(Protocol):
    """Objects of a file to rows. What the file states about itself is in the attributes after reading."""

    title: str
    unit: Unit
    block_size: int | None
    usual_block_size: int
    local_ids: bool  # does each session count its ids from the start?
    local_clock: bool  # and its time?

    @property
    def notes(self) -> tuple[str, ...]:
        """What looks wrong with what was read."""

    def fits(self, found: Mapping[str, Any]) -> bool:
        """Is this an object of its format?"""

    def rows(self, found: Mapping[str, Any]) -> Sequence[Row]:
        """The requests of one object. Raises Unreadable."""


FORMATS: dict[str, type[Reader]] = {
    "bailian": Bailian,
    "weka": Weka,
    "ragpulse": RagPulse,
    "mooncake": Mooncake,
    "counts": TokenCounts,
}


@frozen
class Reading:
    """How to read a trace; None is found out."""

    format: str | None = None
    time_unit: Unit | None = None
    block_size: int | None = None
    rate: float = 1.0  # of the distinct blocks that are kept
    arrival: Arrival | None = None
    shared_prefix: int | None = None  # the model of reuse for traces that name no blocks: tokens that all prompts share
