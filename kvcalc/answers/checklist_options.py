"""What `checklist` may be asked with, apart from the model and the node: choices, numbers, and what was read."""

from pathlib import Path
from typing import Literal

from kvcalc.answers.log_names import stem
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.observe.host import Host
from kvcalc.observe.observation import Observation

COMPANIONS = ("lmcache", "dynamo")  # that stand beside an engine

Measured = Literal["a time", "tokens a second", "requests a second"]
Reuse = Literal["cyclic", "mixed"]
Routing = Literal["prefix-aware", "other"]


@frozen
class Kv:
    """An amount of KV cache: as tokens, or as bytes of all ranks of a replica together."""

    tokens: float | None = None
    bytes: float | None = None


@frozen
class Outcome:
    """A measured time, or a rate: what it costs (less is better), how it was written, and what it counts."""

    cost: float
    text: str
    kind: Measured = "a time"


@frozen
class Read:
    """What one source says, and its name."""

    source: str
    kind: Literal["metrics", "log"]
    observation: Observation


@frozen
class ChecklistOptions:
    """Choices with the defaults of the command line; None is what nobody has said.

    Times are seconds, sizes bytes, rates bytes/s and one direction.
    """

    hardware_assumed: bool = False  # nobody named it
    # how the engine runs
    engine: str | None = None
    engine_version: str | None = None
    tp: int | None = None
    kv_dtype: str | None = None
    weights: str | None = None
    prefill: float | Literal["profile", "model", "textbook"] | None = None
    memory_utilization: float | None = None
    max_model_len: int | None = None
    max_sequences: int | None = None
    replicas: int | None = None
    routing: Routing | None = None
    # what is asked of it
    tokens: int | None = None  # of a prefix
    concurrency: int | None = None
    working_set: Kv | None = None  # distinct prefixes that come again
    reuse: Reuse | None = None
    # what the prefix cache does
    pool: Kv | None = None  # of one replica
    hit_rates: tuple[float, ...] = ()  # one, or several in the order of time
    ceiling: float | None = None  # hit rate of a cache without limit
    pool_usage: float | None = None
    evicted_per_hour: float | None = None  # tokens
    first_token_s: tuple[float, ...] = ()
    # what the tier does
    tier: str | None = None
    sizes: tuple[tuple[str, Kv], ...] = ()  # by tier, from the nearest on
    tier_in_use: bool = False  # when the hit rate was seen; else it is planned
    bandwidth: float | None = None  # of one fetch, all links together
    fetched: float | None = None  # bytes of one fetch that was timed
    fetch_s: float | None = None
    lookup_s: float | None = None
    drain: float | None = None  # to the tier below
    value_bytes: float | None = None  # of one object of the store
    prefetch_threshold: int | None = None  # tokens below which an engine does not look
    with_offload: Outcome | None = None  # measured, and without
    without_offload: Outcome | None = None
    # the host
    host_pool: float | None = None  # as the engine's option says it
    host_ratio: float | None = None  # or as a multiple of the pool in HBM
    host_used: float | None = None  # that the engine was seen to take
    host_memory: float | None = None  # to spare
    memlock: float | None = None
    # what somebody claims
    recompute_s: float | None = None
    bytes_per_token: float | None = None
    min_margin: float = 3.0
    # what was read
    read: tuple[Read, ...] = ()
    host: Host | None = None
    trace: Path | None = None


def check(options: ChecklistOptions) -> None:
    """Refuse what does not go together. Raises UserError."""
    if (options.with_offload is None) != (options.without_offload is None):
        raise UserError("--with-offload and --without-offload go together: give both figures of the same load")
    if options.with_offload and options.without_offload and options.with_offload.kind != options.without_offload.kind:
        kinds = f"{options.with_offload.kind} and --without-offload {options.without_offload.kind}"
        raise UserError(f"--with-offload is {kinds}: give the same figure of the same load twice")
    for name, value in {"--hit-rate": options.hit_rates, "--ttft": options.first_token_s}.items():
        if value and len(value) > 1 and not (options.hit_rates and options.first_token_s):
            raise UserError(f"{name}: several values are set beside each other; give --hit-rate and --ttft alike")
    if options.hit_rates and options.first_token_s and len(options.hit_rates) != len(options.first_token_s):
        raise UserError(
            f"--hit-rate has {len(options.hit_rates)} values and --ttft {len(options.first_token_s)}: give as many"
        )
    if options.ceiling is not None and options.hit_rates and max(options.hit_rates) > options.ceiling:
        raise UserError(f"--hit-rate: {shown(max(options.hit_rates))} is above the ceiling, {options.ceiling:g}")
    _one_run(options)


def _one_run(options: ChecklistOptions) -> None:
    """Replicas are of one engine and one model."""
    engines = {each.observation.engine for each in options.read} - set(COMPANIONS)
    if len(engines) > 1:
        names = " and ".join(sorted(engines))
        raise UserError(f"the metrics and logs are of {names}; give those of one engine's replicas")
    scraped = [each.observation.model for each in options.read if each.kind == "metrics"]  # logs name folders
    models = {stem(each): each for each in scraped if each}
    if len(models) > 1:
        names = " and ".join(sorted(models.values()))
        raise UserError(f"the metrics and logs are of the models {names}; ask about one model at a time")
