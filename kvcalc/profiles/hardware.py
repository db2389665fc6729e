"""Hardware profiles: accelerators, tiers with the path to the GPU, nodes, engines, and how fast a GPU prefills."""

from typing import Annotated, Literal

from kvcalc.errors import UserError, shown
from kvcalc.profiles.fields import (
    Cited,
    Compute,
    Count,
    Number,
    Percent,
    Points,
    Profile,
    Rate,
    RateRange,
    Size,
    Switch,
    Time,
    TimeRange,
    TokenRate,
    Word,
)
from kvcalc.profiles.markers import Having, NotEmpty, part

Weights = Literal["bf16", "fp16", "fp8", "nvfp4", "mxfp4"]
EngineName = Literal["ideal", "vllm", "sglang", "trtllm", "lmcache"]
Layout = Literal["contiguous", "cross-layer", "per-layer", "per-layer-kv"]


@part
class Peak:
    """Dense matrix rates, never the sparse ones; a format that the GPU lacks is absent."""

    bf16: Compute
    fp8: Compute | None = None
    fp4: Compute | None = None


@part
class Achieved:
    """Matrix rates that somebody measured with large plain GEMMs."""

    bf16: Compute | None = None
    fp8: Compute | None = None


@part
class Accelerator(Profile):
    """A GPU."""

    kind: Literal["accelerator"]
    memory: Size  # as sold
    device_memory: Size | None = None  # as the device reports it
    memory_bandwidth: Rate
    peak: Peak
    achieved: Achieved | None = None
    gpu_link: Rate | None = None  # GPU to GPU within a node, one direction
    fit: Word | None = None  # the prefill fit that serves this GPU
    fit_basis: Literal["fit", "estimate"] = "fit"  # estimate: the fit was made on other GPUs


@part
class Direction:
    """One direction of a tier's path."""

    bandwidth: RateRange  # one link, alone, large copies
    latency: TimeRange | None = None  # once a fetch
    per_copy: Time | None = None  # for each copy


@part
class Tier(Profile):
    """A place KV can live, with the path to the GPU."""

    kind: Literal["tier"]
    medium: Literal["dram", "nvme", "network", "store"]
    path: Word  # how the table names the path
    links: Literal["per-gpu", "per-node"]
    staging: Literal["pipelined", "in-turn"] | None = None  # how it passes through the host's DRAM, if it does
    read: Direction  # tier to GPU: a restore
    write: Direction | None = None  # GPU to tier: an offload
    line_rate: Rate | None = None  # what one direction of one link can't exceed
    pageable: RateRange | None = None  # read bandwidth from memory that is not pinned
    both_directions: Rate | None = None  # one link that reads and writes at once, both added; None: not known
    node_ceiling: RateRange | None = None  # all links of a node together
    capacity: Size | None = None
    drives: Count | None = None  # that the capacity counts, where the bandwidth is that of one
    drive_writes_per_day: Number | None = None  # of its whole capacity, that a drive is rated for
    drive_years: Number | None = None  # for which it is rated


@part
class NodeTier:
    """A tier as this node has it: the tier profile, and what differs here."""

    tier: Word
    title: Word | None = None
    bandwidth: RateRange | None = None
    write_bandwidth: RateRange | None = None
    latency: TimeRange | None = None
    node_ceiling: RateRange | None = None
    capacity: Size | None = None
    drives: Count | None = None


@part
class StatedRate:
    """A prefill rate that somebody states for whole models, whatever the length."""

    models: Annotated[tuple[Word, ...], NotEmpty()]
    tp: Count
    weights: Weights
    rate: TokenRate
    caveat: Word | None = None


@part
class Curve:
    """Measured prefill times of whole prompts, alone on the machine."""

    models: Annotated[tuple[Word, ...], NotEmpty()]
    tp: Count
    weights: Weights
    kv_bits: Literal[8, 16]  # of an element of the KV cache
    engine: EngineName | None = None
    variant: Word | None = None  # what sets it apart from another curve of the same kind
    source: Cited
    points: Points


@part
class Node(Profile):
    """A machine: accelerators, the tiers it reaches, and what is known of its prefill."""

    kind: Literal["node"]
    accelerator: Word
    gpus: Count
    host_memory: Size | None = None
    tiers: Annotated[tuple[NodeTier, ...], NotEmpty()]
    prefill: tuple[Annotated[StatedRate | Curve, Having("points")], ...] = ()

    def __post_init__(self) -> None:
        """Checked when a file is read."""
        names = [use.tier for use in self.tiers]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise UserError(f"tier {shown(twice)} is listed twice")


@part
class Engine(Profile):
    """What a serving engine adds to the copies of a restore."""

    kind: Literal["engine"]
    source: Cited | None = None  # of pages, layout and replicas
    page_tokens: Count | None = None
    layout: Layout
    latent_layout: Layout | None = None  # where latent caches are laid out otherwise
    fixed: Time | None = None  # once a restore; None is unknown, not zero
    per_token: Time | None = None
    per_copy: Time | None = None  # of copies from DRAM; None: as the tier has it
    replicas: Literal["broadcast", "each-rank"]  # how ranks that hold the same bytes get them
    prefill: Literal["any", "vllm", "sglang", "trtllm"]  # whose prefill constants and curves serve


@part
class Rates:
    """Fractions of a peak rate, by format; a format without one was not measured."""

    bf16: Percent | None = None
    fp8: Percent | None = None
    mxfp4: Percent | None = None
    nvfp4: Percent | None = None


@part
class EngineConstants:
    """What differs between engines on the same GPU."""

    attention_kv16: Percent  # of the bf16 peak, with a 16-bit KV cache
    attention_kv8: Percent | None = None
    all_reduce: Time  # latency of a large all-reduce over 8 GPUs
    experts: Rates  # grouped GEMMs, of the bf16 peak
    sparse_launch: Time  # a layer of sparse attention
    latent_absorbed: Switch = False  # computes latent attention in the latent space


@part
class Constants:
    """Fitted constants of the prefill model, docs/equations.md."""

    launch: Time  # a layer
    gemm: Rates  # of the format's peak
    link_2: Percent  # of the GPU link, all-reduce over 2 GPUs
    link_4: Percent
    link_8: Percent
    spare_heads: Number  # heads' worth of attention time that each rank loses
    head_width: Number  # how far attention time follows the head width
    engines: dict[str, EngineConstants]


@part
class Form:
    """Constants of the prefill model that all GPUs share."""

    launch_low: Time  # a layer more, with GEMMs below 16 bits
    launch_experts: Time  # a layer of experts
    quantise: Size  # bytes moved for each GEMM input below 16 bits
    small_message: Size  # where an all-reduce is half way to its full latency
    memory: Percent  # of the memory bandwidth, element-wise kernels
    imbalance: Number  # the busiest of n ranks has n^imbalance times its share of the experts' work
    sparse_attention: Percent  # of the bf16 peak
    index: Percent


@part
class Bands:
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


@part
class Fit(Profile):
    """Efficiencies of a family of GPUs, fitted to measured kernel times."""

    kind: Literal["fit"]
    form: Form
    named: Constants
    any: Constants  # engine not named
    bands: Bands


@part
class Curves(Profile):
    """Prefill times measured on an accelerator, which serve every node that has it."""

    kind: Literal["curves"]
    live: Percent  # by how much longer a live engine took than times like these
    curves: tuple[Curve, ...]
