"""What `curve` answers, as one frozen result: it is the JSON, key by key (docs/output.md)."""

from kvcalc.answers.margin_result import Assumption
from kvcalc.frozen import frozen
from kvcalc.physics.crossover import Verdict

SCHEMA_VERSION = 1


@frozen
class TraceFacts:
    """What a trace is, before any cache."""

    path: str
    format: str
    time_unit: str
    block_size: int  # tokens
    tokens_per_block: float  # the mean, where they differ
    requests: int
    sessions: int
    duration_s: float
    requests_per_s: float
    input_tokens: int
    input_tokens_mean: float
    input_tokens_p50: int
    input_tokens_p95: int
    input_tokens_max: int
    output_tokens: int
    block_references: int
    distinct_blocks: int
    distinct_tokens: int
    reuse_p50_tokens: int  # the cache that half of all hits need, in tokens
    reuse_p90_tokens: int
    sampled: float  # share of the distinct blocks that was kept
    notes: tuple[str, ...]  # what looks wrong


@frozen
class CurvePoint:
    """One capacity, its hit rates by every definition, and what the best of them is worth."""

    mark: str  # "", "knee" or "ceiling"
    capacity_tokens: int
    capacity_blocks: int
    capacity_bytes: int | None  # of the first KV format; None without a model
    token_rate: float
    block_rate: float
    full_block_rate: float
    warm_token_rate: float
    work: float  # 1/(1-h), h the token rate
    bound: float  # of the block rate, by sampling


@frozen
class TierPlace:
    """Where a tier and all tiers above it fall on the curve."""

    kv_dtype: str
    tier: str
    medium: str
    tier_bytes: int
    tier_tokens: int
    reach_tokens: int  # with the tiers above it
    token_rate: float
    added_rate: float
    work: float
    margin: float | None  # recompute time / fetch time of a mean prompt; None for HBM
    verdict: Verdict | None


@frozen
class CurveAnswer:
    """The whole answer. Rates are fractions, sizes bytes or tokens."""

    schema_version: int
    trace: TraceFacts
    touch: str  # tail-first or head-first
    points: tuple[CurvePoint, ...]
    knee: CurvePoint
    ceiling: CurvePoint
    model: str | None
    model_title: str | None
    hardware: str | None
    tp: int | None
    prompt_tokens: int  # the mean prompt, whose bytes a token and margins stand for all
    places: tuple[TierPlace, ...]
    recommendation: str
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
