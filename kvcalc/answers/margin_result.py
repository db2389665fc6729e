"""What `margin` answers, as one frozen result: it is the JSON, key by key (docs/output.md)."""

from typing import TYPE_CHECKING

from kvcalc.answers.flips import Flip
from kvcalc.frozen import frozen
from kvcalc.physics.crossover import BEST_FIRST, Verdict
from kvcalc.physics.prefill import Term
from kvcalc.profiles.sources import Source

if TYPE_CHECKING:  # what is not asked for is not imported: the program starts quickly
    from kvcalc.answers.margin_parts import Active, PartialHit, Preemption, Sharing, Traffic

SCHEMA_VERSION = 1


@frozen
class Assumption:
    """One sentence that the answer rests on, and where it comes from."""

    text: str
    sources: tuple[Source, ...] = ()


@frozen
class GroupSize:
    """Logical bytes of one layer group."""

    kind: str
    layers: int
    bytes_per_token: int  # of one held token
    held_tokens: int
    state_bytes: int
    bytes: int


@frozen
class Alternative:
    """Another way to find the recompute time."""

    way: str
    basis: str
    seconds: float
    tokens_per_s: float


@frozen
class RecomputeTime:
    """How long the prefix takes to compute again."""

    seconds: float  # whole_s - rest_s
    low_s: float
    high_s: float
    whole_s: float  # of the prefix and the new tokens, nothing cached
    rest_s: float  # of the new tokens after the cached prefix: computed anyway
    tokens_per_s: float
    way: str
    basis: str
    terms: tuple[Term, ...]
    alternatives: tuple[Alternative, ...]
    unavailable: tuple[str, ...]


@frozen
class PathAnswer:
    """One tier over some of its links."""

    tier: str
    medium: str
    path: str
    links: int
    busy_links: int  # fewer where ranks that hold the same bytes pass them on among themselves
    bandwidth_bytes_per_s: float  # of the busy links together, on the slowest stretch of the way
    fetch_s: float
    fetch_low_s: float  # by the best figures of the profile
    fetch_high_s: float  # by the worst
    fixed_s: float  # of fetch_s: latency, copies and engine, which no bandwidth shortens
    margin: float
    margin_low: float
    margin_high: float
    verdict: Verdict
    sure: bool  # does the verdict hold over the whole range?
    verdict_low: Verdict
    verdict_high: Verdict
    moved_bytes: int
    copies: int
    crossovers: tuple[int, ...]  # tokens at which the winner changes
    fetch_wins_short: bool  # does fetching win below the first crossover?
    split_s: float
    flips: tuple[Flip, ...]


def best(paths: tuple[PathAnswer, ...]) -> tuple[PathAnswer, ...]:
    """Of each tier the path with the largest margin: its verdict is the tier's."""
    found: dict[str, PathAnswer] = {}
    for path in paths:
        if path.tier not in found or path.margin > found[path.tier].margin:
            found[path.tier] = path
    return tuple(found.values())


@frozen
class TierRoom:
    """Prefixes that a tier holds."""

    tier: str
    capacity_bytes: float  # of all of it, which the replicas of the node share
    prefixes: int
    prefixes_fp8: int  # with FP8 KV


@frozen
class Room:
    """How many prefixes of this length are kept, where."""

    hbm_kv_bytes: float | None  # beside the weights, all of it; None: the weights are not known
    hbm_prefixes: int | None
    hbm_prefixes_16_bit: int | None
    hbm_prefixes_fp8: int | None
    fp8_ratio: float  # 16-bit KV over FP8 KV
    replicas: int  # on the node
    tiers: tuple[TierRoom, ...]


@frozen
class Margin:
    """The whole answer. Times in seconds, sizes in bytes, rates in bytes/s and one direction."""

    schema_version: int
    model: str
    model_title: str
    hardware: str
    hardware_title: str
    tp: int
    tokens: int
    new_tokens: int
    engine: str
    kv_dtype: str
    kv_stored: str  # the format that engines store for kv_dtype
    weights: str
    min_margin: float
    kv_bytes: int
    kv_bytes_per_token: float
    kv_bytes_per_rank: int
    kv_groups: tuple[GroupSize, ...]
    layers: int  # that something is loaded for
    recompute: RecomputeTime
    fits: bool | None  # do weights and this prompt's KV fit in the GPUs' memory? None: the weights are not known
    break_even_bytes_per_s: float
    break_even_min_margin_bytes_per_s: float
    paths: tuple[PathAnswer, ...]
    partial_hits: "tuple[PartialHit, ...]"  # one a path, where new tokens follow the prefix
    use: str
    uses: "tuple[Preemption, ...] | tuple[Active, ...] | tuple[Sharing, ...]"  # of another use than the prefix cache
    traffic: "Traffic | None"
    room: Room
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]


def verdicts(result: Margin) -> tuple[Verdict | None, ...]:
    """The best path's of each tier, for the use that was asked about. None: not known, or decoding, which has none.

    At a rate a path whose queue only grows restores nothing, and a prefix's verdict is the worse of those alone and
    under load: GPUs that are nearly full make every recompute slow, but no fetch quicker.
    """
    if result.uses:
        return _of_use(result)
    if result.traffic is None or result.traffic.rate_per_s is None:
        return tuple(path.verdict for path in best(result.paths))
    tiers: dict[str, Verdict] = {}
    for path, each in zip(result.paths, result.traffic.paths, strict=True):
        worse = max(path.verdict, each.loaded_verdict or path.verdict, key=BEST_FIRST.index)
        tiers[path.tier] = min(worse, tiers.get(path.tier, worse), key=BEST_FIRST.index)
    return tuple(tiers.values())


def _of_use(result: Margin) -> tuple[Verdict | None, ...]:
    from kvcalc.answers.margin_parts import Active

    traffic = result.traffic
    full = {(path.tier, path.links) for path in (traffic.paths if traffic else ()) if path.saturated}
    tiers: dict[str, tuple[float, Verdict | None]] = {}
    for use in result.uses:
        if isinstance(use, Active):
            continue
        found = (0.0, BEST_FIRST[-1]) if (use.tier, use.links) in full else (use.margin or 0.0, use.verdict)
        if use.tier not in tiers or found[0] > tiers[use.tier][0]:
            tiers[use.tier] = found
    return tuple(verdict for _, verdict in tiers.values())
