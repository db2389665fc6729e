"""What `simulate` and `route` answer about a replay, as frozen results: they are the JSON (docs/output.md)."""

from kvcalc.answers.curve_result import TraceFacts
from kvcalc.answers.margin_result import Assumption
from kvcalc.frozen import frozen

SCHEMA_VERSION = 1


@frozen
class Run:
    """One replay of the trace in figures."""

    name: str
    block_rate: float
    token_rate: float
    ttft_mean_s: float
    ttft_p50_s: float
    ttft_p95_s: float
    ttft_p99_s: float
    prefill_gpu_s: float  # of all GPUs, each counted
    held_gpu_s: float  # they wait for blocks
    utilisation: float  # share of the time in which they compute
    duration_s: float
    evicted_blocks: int  # from HBM
    evictions_per_hour: float
    fetched_requests: int
    lost_requests: int  # whose blocks came later than computing them would have taken


@frozen
class TierUse:
    """What one tier of the replicas did."""

    tier: str
    medium: str
    tier_bytes: int
    tier_blocks: int
    hit_blocks: int
    hit_rate: float  # of all blocks
    evicted_blocks: int
    evictions_per_hour: float
    drive_writes_per_day: float | None  # only of drives


@frozen
class LinkFigures:
    """One direction of a link."""

    source: str
    target: str
    bytes_per_s: float
    moved_blocks: int
    moved_bytes: int
    link_utilisation: float


@frozen
class Played:
    """By which rules requests were served."""

    kv_dtype: str
    replicas: int
    policy: str
    admission: str
    hierarchy: str
    prefetch: str
    fetch_if: str
    spacing: str
    speed: float
    seed: int


@frozen
class SimulateAnswer:
    """The whole answer of `simulate`. Times in seconds, sizes in bytes, rates as fractions."""

    schema_version: int
    trace: TraceFacts
    model: str
    model_title: str
    hardware: str
    tp: int
    played: Played
    recompute_way: str
    block_bytes: float
    runs: tuple[Run, ...]  # without offload, and with the tiers
    tiers: tuple[TierUse, ...]
    links: tuple[LinkFigures, ...]
    saved_gpu_s: float  # of prefill, by the tiers
    saved_by_cache_gpu_s: float  # by HBM and tiers, against no cache at all
    recommendation: str
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
