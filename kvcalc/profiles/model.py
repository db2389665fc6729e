"""Model profiles: which state each layer keeps for a sequence, and what its prefill computes.

Layers that keep the same state form a group; a group's `kind` names the state. Counts and widths are numbers of
elements, not bytes: the element format is chosen by whoever asks for bytes.
"""

from typing import Annotated, Literal

from kvcalc.errors import UserError
from kvcalc.profiles.fields import Cited, Count, Parameters, Profile, Switch, Word, Zero
from kvcalc.profiles.markers import NotEmpty, Tagged, part


def _divides(kv_heads: int, heads: int) -> None:
    if heads % kv_heads:
        raise UserError(f"{kv_heads} KV heads don't divide {heads} query heads")


@part
class Full:
    """Attention over every token: keys and values of every token are kept (MHA, GQA, MQA)."""

    kind: Literal["full"]
    layers: Count
    heads: Count  # query heads
    kv_heads: Count
    key_width: Count  # elements of one head's key
    value_width: Count
    gated: Switch = False  # the attention output is gated by a second query projection (Qwen3-Next)

    def __post_init__(self) -> None:
        """Checked when a file is read."""
        _divides(self.kv_heads, self.heads)


@part
class Sliding:
    """Attention over the last `window` tokens; only those are kept."""

    kind: Literal["sliding"]
    layers: Count
    heads: Count
    kv_heads: Count
    key_width: Count
    value_width: Count
    window: Count  # tokens

    def __post_init__(self) -> None:
        """Checked when a file is read."""
        _divides(self.kv_heads, self.heads)


@part
class Chunked:
    """Attention within chunks of `window` tokens (Llama 4); at most one chunk is kept."""

    kind: Literal["chunked"]
    layers: Count
    heads: Count
    kv_heads: Count
    key_width: Count
    value_width: Count
    window: Count  # tokens

    def __post_init__(self) -> None:
        """Checked when a file is read."""
        _divides(self.kv_heads, self.heads)


@part
class Latent:
    """Multi-head latent attention: one vector of rank + rope elements a token, the same on every rank."""

    kind: Literal["latent"]
    layers: Count
    heads: Count
    rank: Count  # kv_lora_rank
    rope: Zero  # qk_rope_head_dim
    nope: Count  # qk_nope_head_dim
    value_width: Count
    query_rank: Count | None = None  # q_lora_rank; queries are projected straight from the hidden state without it
    top_k: Count | None = None  # tokens that a sparse layer attends to (DSA)


@part
class Indexer:
    """The index keys by which sparse attention (DSA) picks its tokens; kept beside the KV."""

    kind: Literal["indexer"]
    layers: Count  # layers that have an indexer of their own
    heads: Count
    width: Count  # index_head_dim
    query_rank: Count  # its queries come from the latent query, or from the hidden state
    stored: Literal[
        "scaled-fp8", "as-kv"
    ]  # one byte an element and a 4-byte scale whatever the KV format, or as the KV
    pool: Count = 1  # tokens that one key stands for (GLM-5.3-Flash: 4)


@part
class Compressed:
    """DeepSeek-V4 attention: one entry for `ratio` tokens, the last `window` tokens uncompressed, compressor states."""

    kind: Literal["compressed"]
    layers: Count
    heads: Count
    width: Count  # elements of an entry: key and value are one vector
    rope: Count  # of them rotary, which the FP8 format keeps in 16 bits
    ratio: Zero  # tokens of an entry; 0: the window only
    window: Count  # tokens
    overlap: Switch  # CSA: two overlapping compressions, so twice the state
    query_rank: Count
    output_groups: Count  # the output is projected in groups, through output_rank elements each
    output_rank: Count
    index_width: Count | None = None  # CSA: index key for each entry
    index_heads: Count | None = None
    top_k: Count | None = None  # entries attended to; all of them without it (HCA)


@part
class Recurrent:
    """A state of constant size, whatever the length: Mamba, gated delta net, Kimi delta attention, lightning."""

    kind: Literal["recurrent"]
    rule: Literal["mamba-1", "mamba-2", "gated-delta", "kimi-delta", "lightning", "short-conv"]
    layers: Count
    heads: Count  # of the state; channels where each has its own (Mamba-1, a short convolution)
    key_width: Zero  # the state of a head is key_width x value_width elements
    value_width: Count
    state_bytes: Count  # bytes an element of the state
    conv_channels: Zero
    conv_kernel: Zero  # the convolution remembers conv_kernel - 1 tokens
    conv_bytes: Count  # bytes an element of the convolution's memory
    input_width: Count  # columns of the input projections, for the prefill


@part
class Cross:
    """Attention over an encoder's output: constant for a request."""

    kind: Literal["cross"]
    layers: Count
    heads: Count
    kv_heads: Count
    key_width: Count
    value_width: Count
    encoder_tokens: Count


@part
class Shared:
    """Attention over the keys and values of an earlier layer: nothing of its own is kept (Gemma 3n, CLA)."""

    kind: Literal["shared"]
    layers: Count
    heads: Count
    key_width: Count
    value_width: Count
    window: Count | None = None  # tokens


@part
class Stateless:
    """Layers without attention: nothing is kept."""

    kind: Literal["none"]
    layers: Count


LayerGroup = Annotated[
    Full | Sliding | Chunked | Latent | Indexer | Compressed | Recurrent | Cross | Shared | Stateless,
    Tagged(),
]


Checkpoint = Literal[
    "bf16", "fp16", "fp32", "fp8", "mxfp8", "int8", "int4", "mxfp4", "nvfp4", "fp4-fp8", "mixed"
]  # mixed: several, or one not known


@part
class FeedForward:
    """Feed-forward blocks of equal shape: dense, or a router and experts with an optional shared expert."""

    layers: Count
    width: Count  # of the dense block, or of one routed expert
    gated: Switch = True  # three matrices instead of two
    experts: Count | None = None
    top_k: Count | None = None
    shared_width: Zero = 0  # of all shared experts together
    latent_width: Count | None = None  # routed experts work in this width, with a projection there and back

    def __post_init__(self) -> None:
        """Checked when a file is read."""
        if (self.experts or 0) < (self.top_k or 0):
            raise UserError(f"a token can't pass {self.top_k} of {self.experts or 0} experts")


@part
class Model(Profile):
    """What a model's cache and prefill cost depend on."""

    huggingface: Word | None = None  # organisation/name
    source: Cited  # of every count and width below
    context: Count | None = None  # tokens the model is made for; a recurrent one has no limit
    hidden: Count
    vocabulary: Count | None = None  # without it the parameters can't be counted
    tied: Switch = False  # one matrix serves as embedding and as LM head
    checkpoint: Checkpoint = "bf16"
    kv_cache: Literal["fp8", "nvfp4", "int8"] | None = (
        None  # what the checkpoint wants; the model's own dtype without it
    )
    same_geometry: tuple[Word, ...] = ()  # profiles with the same layers, for a longer context say
    groups: Annotated[tuple[LayerGroup, ...], NotEmpty()]
    mtp: tuple[LayerGroup, ...] = ()  # draft layers, which keep KV only with speculative decoding on
    feed_forward: tuple[FeedForward, ...] | None = None  # without it the prefill can't be modelled
    total_parameters: Parameters | None = None  # as given, where they can't be counted
    active_parameters: Parameters | None = None  # that one token passes

    def __post_init__(self) -> None:
        """Checked when a file is read."""
        if all(isinstance(group, Indexer) for group in self.groups):
            raise UserError("an indexer belongs to latent layers; there are none")
