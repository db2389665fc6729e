"""What `route` answers, as one frozen result: it is the JSON, key by key (docs/output.md)."""

from kvcalc.answers.curve_result import TraceFacts
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.simulate_result import Played, Run
from kvcalc.frozen import frozen

SCHEMA_VERSION = 1


@frozen
class Strategy:
    """One way to spread requests over replicas: how it went, and what it takes to run it."""

    run: Run
    load_imbalance: float  # the busiest replica's GPU time over the mean
    network_bytes: int  # to the store and from it
    network_utilisation: float  # of the busier direction
    components: str
    failure_modes: str


@frozen
class RouteAnswer:
    """The whole answer. Times in seconds, sizes in bytes, rates as fractions."""

    schema_version: int
    trace: TraceFacts
    model: str
    model_title: str
    hardware: str
    tp: int
    played: Played
    load_cap: float
    hash_tokens: int
    store: str | None  # the tier whose links lead to it
    store_bytes: int | None  # None: no limit
    recompute_way: str
    strategies: tuple[Strategy, ...]
    recommendation: str
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
