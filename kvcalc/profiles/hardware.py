"""Hardware profiles: accelerators, tiers with the path to the GPU, nodes, engines, and how fast a GPU prefills."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kvcalc.profiles.sources import (
    Cited,
    Compute,
    Count,
    Number,
    Percent,
    Profile,
    Rate,
    RateRange,
    Size,
    Strict,
    Time,
    TimeRange,
    TokenRate,
)

Reference = Annotated[str, StringConstraints(min_length=1)]
Weights = Literal["bf16", "fp16", "fp8", "nvfp4", "mxfp4"]
EngineName = Literal["ideal", "vllm", "sglang", "trtllm", "lmcache"]
Layout = Literal["contiguous", "cross-layer", "per-layer", "per-layer-kv"]


class Peak(Strict):
    """Dense matrix rates, never the sparse ones; a format that the GPU lacks is absent."""

    bf16: Compute
    fp8: Compute | None = None
    fp4: Compute | None = None


class Achieved(Strict):
    """Matrix rates that somebody measured with large plain GEMMs."""

    bf16: Compute | None = None
    fp8: Compute | None = None


class Accelerator(Profile):
    """A GPU."""

    kind: Literal["accelerator"]
    memory: Size  # as sold
    device_memory: Size | None = None  # as the device reports it
    memory_bandwidth: Rate
    peak: Peak
    achieved: Achieved | None = None
    gpu_link: Rate | None = None  # GPU to GPU within a node, one direction
    fit: Reference | None = None  # the prefill fit that serves this GPU
    fit_basis: Literal["fit", "estimate"] = "fit"  # estimate: the fit was made on other GPUs


class Direction(Strict):
    """One direction of a tier's path."""

    bandwidth: RateRange  # one link, alone, large copies
    latency: TimeRange | None = None  # once a fetch
    per_copy: Time | None = None  # for each copy


class Tier(Profile):
    """A place KV can live, with the path to the GPU."""

    kind: Literal["tier"]
    medium: Literal["dram", "nvme", "network", "store"]
    path: Annotated[str, Field(min_length=3)]  # how the table names the path
    links: Literal["per-gpu", "per-node"]
    staging: Literal["pipelined", "in-turn"] | None = None  # how it passes through the host's DRAM, if it does
    read: Direction  # tier to GPU: a restore
    write: Direction | None = None  # GPU to tier: an offload
    line_rate: Rate | None = None  # what one direction of one link can't exceed
    pageable: RateRange | None = None  # read bandwidth from memory that is not pinned
    node_ceiling: RateRange | None = None  # all links of a node together
    capacity: Size | None = None


class NodeTier(Strict):
    """A tier as this node has it: the tier profile, and what differs here."""

    tier: Reference
    title: str | None = None
    bandwidth: RateRange | None = None
    write_bandwidth: RateRange | None = None
    latency: TimeRange | None = None
    node_ceiling: RateRange | None = None
    capacity: Size | None = None


class StatedRate(Strict):
    """A prefill rate that somebody states for whole models, whatever the length."""

    models: tuple[str, ...] = Field(min_length=1)
    tp: Count
    weights: Weights
    rate: TokenRate
    caveat: str | None = None


class Curve(Strict):
    """Measured prefill times of whole prompts, alone on the machine."""

    models: tuple[str, ...] = Field(min_length=1)
    tp: Count
    weights: Weights
    kv_bits: Literal[8, 16]  # of an element of the KV cache
    engine: EngineName | None = None
    source: Cited
    points: Annotated[dict[Count, Time], Field(min_length=1)]  # tokens -> time


class Node(Profile):
    """A machine: accelerators, the tiers it reaches, and what is known of its prefill."""

    kind: Literal["node"]
    accelerator: Reference
    gpus: Count
    host_memory: Size | None = None
    tiers: tuple[NodeTier, ...] = Field(min_length=1)
    prefill: tuple[StatedRate | Curve, ...] = ()


class Engine(Profile):
    """What a serving engine adds to the copies of a restore."""

    kind: Literal["engine"]
    page_tokens: Count | None = None
    layout: Layout
    latent_layout: Layout | None = None  # where latent caches are laid out otherwise
    fixed: Time | None = None  # once a restore; None is unknown, not zero
    per_token: Time | None = None
    replicas: Literal["broadcast", "each-rank"]  # how ranks that hold the same bytes get them
    prefill: Literal["any", "vllm", "sglang", "trtllm"]  # whose prefill constants and curves serve


class Rates(Strict):
    """Fractions of a peak rate, by format; a format without one was not measured."""

    bf16: Percent | None = None
    fp8: Percent | None = None
    mxfp4: Percent | None = None
    nvfp4: Percent | None = None


class EngineConstants(Strict):
    """What differs between engines on the same GPU."""

    attention_kv16: Percent  # of the bf16 peak, with a 16-bit KV cache
    attention_kv8: Percent | None = None
    all_reduce: Time  # latency of a large all-reduce over 8 GPUs
    experts: Rates  # grouped GEMMs, of the bf16 peak
    sparse_launch: Time  # a layer of sparse attention
    latent_absorbed: bool = False  # computes latent attention in the latent space


class Constants(Strict):
    """Fitted constants of the prefill model, docs/equations.md."""

    launch: Time  # a layer
    gemm: Rates  # of the format's peak
    link_2: Percent  # of the GPU link, all-reduce over 2 GPUs
    link_4: Percent
    link_8: Percent
    spare_heads: Number  # heads' worth of attention time that each rank loses
    head_width: Number  # how far attention time follows the head width
    engines: dict[str, EngineConstants]


class Form(Strict):
    """Constants of the prefill model that all GPUs share."""

    launch_low: Time  # a layer more, with GEMMs below 16 bits
    launch_experts: Time  # a layer of experts
    quantise: Size  # bytes moved for each GEMM input below 16 bits
    small_message: Size  # where an all-reduce is half way to its full latency
    memory: Percent  # of the memory bandwidth, element-wise kernels
    imbalance: Number  # the busiest of n ranks has n^imbalance times its share of the experts' work
    sparse_attention: Percent  # of the bf16 peak
    index: Percent


class Bands(Strict):
    """By how much the model may be off: the 90th percentile of its error, by class."""

    dense: Percent
    dense_any: Percent  # engine not named
    short: Percent  # fewer than 1,000 new tokens
    small: Percent  # dense below 5e9 parameters
    experts: Percent
    experts_any: Percent
    sparse: Percent
    untested: Percent  # a kind of layer, or a GPU, that the fit has not seen
    live: Percent  # by how much longer a live engine took than its kernels alone


class Fit(Profile):
    """Efficiencies of a family of GPUs, fitted to measured kernel times."""

    kind: Literal["fit"]
    form: Form
    named: Constants
    any: Constants  # engine not named
    bands: Bands


class Curves(Profile):
    """Prefill times measured on an accelerator, which serve every node that has it."""

    kind: Literal["curves"]
    live: Percent  # by how much longer a live engine took than times like these
    curves: tuple[Curve, ...]
