"""What `crossover` answers, as one frozen result: it is the JSON, key by key (docs/output.md)."""

from kvcalc.answers.margin_result import Assumption
from kvcalc.frozen import frozen
from kvcalc.physics.crossover import Verdict
from kvcalc.profiles.sources import Source

SCHEMA_VERSION = 1


@frozen
class Turns:
    """Prefix lengths at which something begins or ends to hold, from one token on."""

    holds_short: bool  # does it hold for the shortest prefix?
    tokens: tuple[float, ...]  # at which that changes, in turn; whole tokens where copies are of pages


@frozen
class Need:
    """The bandwidth that a path needs at one length; None where no bandwidth is enough."""

    tokens: int
    recompute_s: float
    recompute_low_s: float
    recompute_high_s: float
    kv_bytes: int
    fetch_s: float
    fetch_low_s: float
    fetch_high_s: float
    margin: float
    verdict: Verdict
    break_even_link_bytes_per_s: float | None  # of one link
    break_even_together_bytes_per_s: float | None  # of all busy links
    min_margin_link_bytes_per_s: float | None
    min_margin_together_bytes_per_s: float | None


@frozen
class PathTurns:
    """One tier over some of its links."""

    tier: str
    medium: str
    path: str
    links: int
    link_bytes_per_s: float  # of one link, one direction
    source: Source  # of that bandwidth
    sources: tuple[Source, ...]  # and of its range
    wins: Turns  # fetching beats recomputing
    wins_low: Turns  # by the shortest recompute time and the slowest fetch
    wins_high: Turns  # the reverse
    restores: Turns  # it reaches the minimum margin
    by_length: tuple[Need, ...]


@frozen
class Variant:
    """The same question with one thing changed."""

    axis: str  # tp, kv_dtype or prefill
    value: str
    used: bool  # is it what the question asks for?
    recompute_basis: str
    recompute_s: float  # at the reference length
    kv_bytes: int
    break_even_bytes_per_s: float  # kv_bytes / recompute_s
    paths: tuple[PathTurns, ...]  # of each tier over all its links


@frozen
class Crossover:
    """The whole answer for one node and one format."""

    schema_version: int
    model: str
    model_title: str
    hardware: str
    hardware_title: str
    tp: int
    engine: str
    kv_dtype: str
    weights: str
    new_tokens: int
    min_margin: float
    recompute_way: str
    recompute_basis: str
    recompute_sources: tuple[Source, ...]
    reference_tokens: int  # the length at which variants are compared
    paths: tuple[PathTurns, ...]
    variants: tuple[Variant, ...]
    assumptions: tuple[Assumption, ...]
