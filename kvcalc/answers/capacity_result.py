"""What `capacity` answers, as one frozen result: it is the JSON, key by key (docs/output.md)."""

from kvcalc.answers.margin_result import Assumption
from kvcalc.frozen import frozen
from kvcalc.physics.engines.rules import Account

SCHEMA_VERSION = 1


@frozen
class HbmBudget:
    """Where the memory of one GPU goes; of a pipeline, on the stage with the smallest pool.

    device - reserved - withheld - weights - non_torch - activation = pool - short; activations are left out of that
    where `share` says that they live beside the pools.
    """

    device_bytes: float
    reserved_bytes: float  # by --reserve
    utilization: float
    share: str  # what the utilization is a fraction of
    withheld_bytes: float  # what it leaves: of the device, or of what is free before the pool
    free_bytes: float | None  # what it is a fraction of, where that is what is free
    weights_bytes: float
    weights_given: bool
    activation_bytes: float
    non_torch_bytes: float
    graphs_bytes: float  # outside the pool's reckoning where an engine captures them after it
    pool_bytes: float  # 0 if nothing is left
    short_bytes: float  # what is lacking where nothing is left, else 0
    error: float | None  # fraction of the pool, ninth decile on known runs
    extrapolated: bool  # is the engine's version, or the GPU, another than was fitted?


@frozen
class SegmentSize:
    """Layers that share block tables on one rank."""

    kind: str
    layers: int
    draft_layers: int  # of those, layers that draft
    index_layers: int  # whose index keys lie in the same blocks
    padding_layers: int
    tables: int
    block_tokens: int  # 0: constant, whatever the length
    block_bytes: int
    blocks: int  # that the prefix takes


@frozen
class Fits:
    """What a pool holds."""

    tokens: int  # of sequences as long as the model's limit
    requests: float  # running, of that length
    longest: int  # tokens of the longest request that fits
    prefixes: int  # at rest
    prefix_tokens: int  # of those


@frozen
class TierSize:
    """What a place below HBM holds, for one replica; low with the most that an engine may store of a prefix."""

    tier: str
    medium: str
    capacity_bytes: float | None  # None: not known
    shared: bool  # by all replicas
    prefixes_low: int | None
    prefixes_high: int | None
    tokens_low: int | None  # of those prefixes
    tokens_high: int | None
    adds_prefixes_low: int | None  # beyond the tiers above, which it holds too; 0: it adds nothing
    adds_prefixes_high: int | None


@frozen
class HostAsk:
    """What an engine's option has to say for it to use the host's memory."""

    option: str
    asked: str  # as it is written
    unit: str  # of that
    asked_bytes: float  # as the engine reads it, all ranks together
    used_bytes: float  # as it allocates, all ranks together
    whole_takes_bytes: float  # as it would allocate if all of the host's memory were asked for
    prefixes_low: int  # in what is used
    prefixes_high: int
    meaning: str


@frozen
class Instead:
    """The same pool with another KV format."""

    kv_dtype: str
    kv_stored: str
    fits: Fits
    gain: float  # times as many prefixes (or parts of one) as in the format asked for


@frozen
class Capacity:
    """The whole answer. Sizes in bytes; pools are those of one rank, counts those of one replica.

    Where the weights don't fit, nothing runs: there are no tiers, no host options and no other format.
    """

    schema_version: int
    model: str
    model_title: str
    hardware: str
    hardware_title: str
    engine: str
    engine_version: str | None
    budget_version: str | None
    tp: int
    pp: int
    dp: int
    idle_gpus: int  # of the node
    kv_dtype: str
    kv_stored: str
    weights: str
    max_model_len: int
    prefix_tokens: int
    store_replicas: str
    hbm: HbmBudget
    kv_bytes_per_token: float  # on one rank, past every window
    plan_modelled: bool
    segments: tuple[SegmentSize, ...]
    prefix: Account
    fits: Fits
    remedies: tuple[str, ...]  # what would make the weights fit, where they don't
    tiers: tuple[TierSize, ...]
    host: tuple[HostAsk, ...]
    instead: tuple[Instead, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
