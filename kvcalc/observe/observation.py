"""What an engine's log or metrics state, in plain SI numbers; None is what they do not state."""

from dataclasses import replace
from typing import Literal

from kvcalc.frozen import frozen
from kvcalc.observe.fields import FIELDS
from kvcalc.physics import formats

Engine = Literal["vllm", "sglang", "trtllm", "lmcache", "llamacpp", "dynamo"]
Meaning = Literal["blocks", "concurrency"]
PoolKind = Literal["full", "window", "state", "draft"]
Unit = Literal["tokens", "chunks", "blocks", "requests"]


@frozen
class Finding:
    """One stated figure and where it stands."""

    field: str  # of Observation, or of the Pool or Transfer it went into
    value: int | float | str
    line: int  # counted from 1
    text: str  # the line, without colour codes and shortened
    worker: str | None = None  # as the log calls it: "TP0", "EngineCore_DP1"

    @property
    def words(self) -> str:
        """What the figure is, for a page."""
        return FIELDS[self.field].words

    @property
    def unit(self) -> str:
        """What it counts: "bytes", "tokens", "blocks", ..., "fraction", "percent", or "text" for what is no figure."""
        return FIELDS[self.field].unit


@frozen
class Pool:
    """One of several pools on a rank (SGLang): of full layers, of windowed layers, of recurrent states, of a draft."""

    kind: PoolKind
    tokens: int | None = None
    slots: int | None = None  # states
    bytes: float | None = None


@frozen
class Lookup:
    """What was asked of a tier's cache and what it found.

    Tiers are "hbm", "external" (all that lies outside the engine's HBM), "all" (both, over whole prompts), "dram",
    "store", or as the engine calls them.
    """

    tier: str
    unit: Unit
    asked: float | None = None
    found: float | None = None
    stated_rate: float | None = None  # a fraction, where the engine states the rate alone

    @property
    def hit_rate(self) -> float | None:
        """Found of asked, a fraction; what the engine states if it counts neither; None if nothing was asked."""
        if self.asked is None or self.found is None:
            return self.stated_rate
        return self.found / self.asked if self.asked else None


@frozen
class Transfer:
    """What was copied one way between two places, in all."""

    source: str  # "hbm", "dram", "nvme", "store", or as the engine calls it
    target: str
    bytes: float | None = None
    tokens: float | None = None
    blocks: float | None = None
    seconds: float | None = None
    thread_seconds: bool = False  # the seconds of parallel threads are added up
    tokens_per_s: float | None = None  # the engine's own mean

    @property
    def bytes_per_s(self) -> float | None:
        """The effective rate: of one thread if the seconds are thread-seconds."""
        return self.bytes / self.seconds if self.bytes is not None and self.seconds else None


@frozen
class Traffic:
    """Counters: since the engine started, or between two scrapes."""

    elapsed_s: float | None = None  # between the scrapes; None since the start
    lookups: tuple[Lookup, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    pool_usage: float | None = None  # fraction of the KV pool in use
    pool_usages: tuple[float, ...] = ()  # the same at each scrape of a watch
    evicted: float | None = None  # tokens or blocks, as `evicted_unit` says
    evicted_unit: Unit | None = None
    preemptions: float | None = None
    prompt_tokens: float | None = None  # asked for by requests, cached ones included
    requests: float | None = None  # those whose prompts and first tokens the means are over
    mean_prompt_tokens: float | None = None
    mean_ttft_s: float | None = None

    @property
    def evicted_per_hour(self) -> float | None:
        """Known between two scrapes whose times are known."""
        return self.evicted / self.elapsed_s * 3600 if self.evicted is not None and self.elapsed_s else None

    def lookup(self, tier: str) -> Lookup | None:
        """The look-up of a tier, by name."""
        return next((each for each in self.lookups if each.tier == tier), None)

    def transfer(self, source: str, target: str) -> Transfer | None:
        """The copies one way between two places."""
        return next((each for each in self.transfers if (each.source, each.target) == (source, target)), None)

    @property
    def hit_rate(self) -> float | None:
        """The fraction of prompt tokens that any tier held: of whole prompts where counted, else HBM, then the rest."""
        if whole := self.lookup("all"):
            return whole.hit_rate
        hbm, external = self.lookup("hbm"), self.lookup("external")
        counted = hbm is not None and hbm.unit == "tokens" and hbm.asked
        if hbm and counted and external and external.unit == "tokens" and external.found:
            return ((hbm.found or 0.0) + external.found) / (hbm.asked or 1.0)
        return hbm.hit_rate if hbm else external.hit_rate if external else None

    @property
    def bytes_per_hit_token(self) -> float | None:
        """Bytes brought to HBM for one token found outside it: what a token takes there, over all ranks that count."""
        external = self.lookup("external")
        loaded = sum(each.bytes or 0.0 for each in self.transfers if each.target == "hbm")
        return loaded / external.found if external and external.found and external.unit == "tokens" and loaded else None


@frozen
class Observation:
    """What one engine says. Bytes of pools and budgets are those of one rank, as printed; notes say what is unclear."""

    engine: Engine
    version: str | None = None
    model: str | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    weight_dtype: str | None = None
    kv_dtype: str | None = None
    max_model_len: int | None = None
    prefix_caching: bool | None = None

    available_kv_bytes: float | None = None  # of the KV pool, one rank; None too where it is zero or less
    no_kv_memory: bool = False  # the engine says that no memory is left for KV
    kv_tokens: int | None = None
    kv_tokens_meaning: Meaning | None = None  # blocks x block size / groups, or concurrency x max_model_len
    blocks: int | None = None
    block_tokens: int | None = None
    cpu_blocks: int | None = None
    max_concurrency: float | None = None  # requests of max_model_len
    needed_bytes: float | None = None  # for one request of max_model_len, where the engine refused to start
    fitting_tokens: int | None = None  # the longest request that fits, where the engine refused to start
    k_bytes: float | None = None
    v_bytes: float | None = None
    k_format: str | None = None
    v_format: str | None = None
    layers: int | None = None
    cells: int | None = None
    pools: tuple[Pool, ...] = ()  # where an engine keeps several

    device_bytes: float | None = None
    memory_utilization: float | None = None
    requested_bytes: float | None = None  # what the engine may use of the device
    weights_bytes: float | None = None
    non_torch_bytes: float | None = None
    activation_bytes: float | None = None
    graphs_bytes: float | None = None

    host_pool_bytes: float | None = None  # pinned, one rank
    host_asked_bytes: float | None = None  # of it, by the option
    disk_pool_bytes: float | None = None

    traffic: Traffic | None = None  # of metrics, and of the lines that a serving engine logs
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    beside: "tuple[Observation, ...]" = ()  # what LMCache or Dynamo say of themselves in the same log or metrics

    @property
    def kv_format_known(self) -> bool:
        """Are the bytes of the stated KV format known? Nothing can be predicted from one that isn't."""
        return all(each is None or each in formats.NAMES for each in (self.kv_dtype, self.k_format, self.v_format))

    @property
    def block_product(self) -> int | None:
        """Tokens in all blocks: more than `kv_tokens` where layers of several kinds share the blocks."""
        return self.blocks * self.block_tokens if self.blocks and self.block_tokens else None

    @property
    def host_tokens(self) -> int | None:
        """Tokens in the blocks of the host's pool."""
        return self.cpu_blocks * self.block_tokens if self.cpu_blocks and self.block_tokens else None

    @property
    def host_bytes_per_token(self) -> float | None:
        """What a token takes in the host's pool, one rank."""
        tokens = self.host_tokens
        return self.host_pool_bytes / tokens if self.host_pool_bytes and tokens else None

    def with_beside(self, others: "tuple[Observation, ...]") -> "Observation":
        """The same, with what others in the same log or metrics say, whose findings are listed too."""
        theirs = tuple(finding for other in others for finding in other.findings)
        return replace(self, beside=others, findings=(*self.findings, *theirs)) if others else self

    def over_scrapes(self, pool_usages: tuple[float, ...], notes: tuple[str, ...]) -> "Observation":
        """The same, with the pool's usage at each scrape and at its fullest."""
        usage = max(pool_usages, default=None)
        traffic = self.traffic and replace(self.traffic, pool_usage=usage, pool_usages=pool_usages)
        return replace(self, traffic=traffic, notes=(*self.notes, *notes))
