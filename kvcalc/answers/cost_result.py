"""What `cost` answers, as one frozen result: it is the JSON, key by key (docs/output.md)."""

from kvcalc.answers.margin_result import Assumption, Room
from kvcalc.frozen import frozen
from kvcalc.physics.crossover import Verdict

SCHEMA_VERSION = 1


@frozen
class Work:
    """How long the prefix takes to compute, for one of the two margins."""

    seconds: float
    tokens_per_s: float
    way: str
    basis: str


@frozen
class Holding:
    """What a hit saves against what holding one prefix costs. Money is in the currency of the answer."""

    saved_per_hit: float | None  # money; None: no --gpu-hour
    gb_month: float | None  # price; None: no --gb-month for this tier
    hold_per_hour: float | None  # money, for one prefix
    hits_per_write: float | None  # that share the wear; None: it is never written again
    wear_s: float | None  # seconds of holding that cost as much as writing it once; None: no drive, or not rated
    break_even_s: float | None  # seconds between hits that each pays for; zero: they don't pay for the wear


@frozen
class Hourly:
    """One hour at the rate and hit rate that were asked for."""

    served_per_s: float  # requests: fewer than come where the path or the GPUs bear no more
    saturation_per_s: float | None  # of the path; None: nothing crosses it
    saved_gpu_s: float  # at most those of the node
    saved: float | None  # money
    tier: float | None  # money, for all its capacity; more where writes use a drive up before its rated life ends
    net: float | None  # money
    written_bytes_per_s: float  # into the tier
    turnover_s: float | None  # until the writes have replaced everything; None: no writes, or no known capacity


@frozen
class Drive:
    """What flash bears."""

    writes_per_day: float  # rated, of the whole capacity
    rated_s: float | None
    sustained_bytes_per_s: float | None  # of writing, for the rated life; None: the capacity is not known
    sustained_tokens_per_s: float | None
    life_s: float | None  # at the rate at which it is written; None: no rate, or no writes


@frozen
class TierCost:
    """One tier over its quickest path."""

    tier: str
    medium: str
    links: int
    fetch_s: float
    latency_margin: float  # of one request
    verdict: Verdict
    fetch_gpu_s: float  # GPU-seconds in which a fetch holds up the GPUs
    gpu_margin: float  # GPU time of recomputing over that
    saved_gpu_s: float  # GPU-seconds that a hit saves
    capacity_bytes: float | None  # of one drive where the bandwidth is that of one
    holding: Holding
    hourly: Hourly | None  # None: no --rate
    drive: Drive | None  # None: no drive, or its endurance is not known


@frozen
class Cost:
    """The whole answer."""

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
    kv_stored: str
    weights: str
    min_margin: float
    kv_bytes: int
    kv_bytes_per_token: float
    latency: Work  # of one request
    throughput: Work  # of the node: what its GPUs can do of it
    recompute_gpu_s: float  # GPU-seconds of recomputing the prefix
    rate_per_s: float | None
    hit_rate: float | None
    currency: str | None
    gpu_hour: float | None
    tiers: tuple[TierCost, ...]
    room: Room
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
