"""What a prefill computes: the parameters that a token passes and the shape of the work, counted from a profile."""

from typing import assert_never

from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics.attention import Attention, attentions
from kvcalc.profiles.model import (
    Chunked,
    Compressed,
    Cross,
    FeedForward,
    Full,
    Indexer,
    Latent,
    LayerGroup,
    Model,
    Recurrent,
    Shared,
    Sliding,
    Stateless,
)


@frozen
class Parameters:
    """Weights, counted apart from norms and biases."""

    linear: int  # that every token passes: attention projections, dense feed-forward, shared experts, routers
    routed: int  # of the routed experts that one token passes
    experts: int  # of all routed experts
    embedding: int  # embedding and LM head, which a prefill of a prefix doesn't need

    @property
    def active(self) -> int:
        """That one token passes, without embedding and LM head."""
        return self.linear + self.routed

    @property
    def total(self) -> int:
        """All of them."""
        return self.linear + self.experts + self.embedding


def parameters(model: Model) -> Parameters:
    """Count a model's weights. Raises UserError for a profile without feed-forward fields or vocabulary."""
    blocks = feed_forward(model)
    if model.vocabulary is None:
        raise UserError(f"the profile of {model.name!r} has no vocabulary, so its parameters can't be counted")
    linear = sum(group.layers * _projections(group, model.hidden) for group in model.groups)
    routed = experts = 0
    for block in blocks:
        expert = _matrices(block) * (block.latent_width or model.hidden) * block.width * block.layers
        if block.experts is None:
            linear += expert
            continue
        linear += block.layers * model.hidden * (_matrices(block) * block.shared_width + block.experts)  # and router
        linear += block.layers * model.hidden * 2 * (block.latent_width or 0)
        routed += expert * (block.top_k or 1)
        experts += expert * block.experts
    return Parameters(linear, routed, experts, model.vocabulary * model.hidden * (1 if model.tied else 2))


def feed_forward(model: Model) -> tuple[FeedForward, ...]:
    """The feed-forward blocks. Raises UserError for a profile that lacks them."""
    if model.feed_forward is None:
        raise UserError(
            f"the profile of {model.name!r} has no feed-forward fields, so its prefill can't be modelled; "
            "give a measured rate with --prefill RATE"
        )
    return model.feed_forward


def _matrices(block: FeedForward) -> int:
    return 3 if block.gated else 2


def _projections(group: LayerGroup, hidden: int) -> int:
    """Weights of one layer's attention."""
    match group:
        case Full() | Sliding() | Chunked() | Cross():
            queries = group.heads * group.key_width * (2 if isinstance(group, Full) and group.gated else 1)
            keys_values = group.kv_heads * (group.key_width + group.value_width)
            return hidden * (queries + keys_values + group.heads * group.value_width)
        case Shared():
            return hidden * group.heads * (group.key_width + group.value_width)
        case Latent():
            width = group.heads * (group.nope + group.rope)
            queries = hidden * width if group.query_rank is None else group.query_rank * (hidden + width)
            expanded = group.rank * group.heads * (group.nope + group.value_width)
            return queries + hidden * (group.rank + group.rope) + expanded + group.heads * group.value_width * hidden
        case Indexer():
            return group.query_rank * group.heads * group.width + hidden * (group.width + group.heads)
        case Compressed():
            return _compressed_projections(group, hidden)
        case Recurrent():
            return hidden * (group.input_width + group.heads * group.value_width)
        case Stateless():
            return 0
        case _:
            assert_never(group)


def _compressed_projections(group: Compressed, hidden: int) -> int:
    spread = 2 if group.overlap else 1
    index_width, index_heads = group.index_width or 0, group.index_heads or 0
    queries = group.query_rank * (hidden + group.heads * group.width)
    outputs = group.heads * group.width * group.output_rank + group.output_groups * group.output_rank * hidden
    compressors = hidden * 2 * spread * (group.width + index_width) if group.ratio else 0  # values and their scores
    index = group.query_rank * index_heads * index_width + hidden * index_heads
    return queries + hidden * group.width + outputs + compressors + index


@frozen
class Shape:
    """Everything about a model that its prefill time depends on."""

    hidden: int
    layers: int
    expert_layers: int
    sparse_layers: int
    dense_width: float  # mean a layer of what every token passes: dense feed-forward blocks and shared experts
    value_width: float  # mean a layer of what attention hands to the output projection
    parameters: Parameters
    attention: tuple[Attention, ...]
    absorbed: tuple[Attention, ...]  # the same, with latent attention computed in the latent space
    tested: bool  # has the fit seen every kind of its layers?


def shape(model: Model) -> Shape:
    """Count a model's work. Raises UserError for a profile without feed-forward fields."""
    blocks = feed_forward(model)
    layers = sum(group.layers for group in model.groups if not isinstance(group, Indexer))  # it is part of another's
    widths = ((block.shared_width if block.experts else block.width) * block.layers for block in blocks)
    return Shape(
        hidden=model.hidden,
        layers=layers,
        expert_layers=sum(block.layers for block in blocks if block.experts),
        sparse_layers=sum(group.layers for group in model.groups if _sparse(group)),
        dense_width=sum(widths) / layers,
        value_width=sum(group.layers * _output(group) for group in model.groups) / layers,
        parameters=parameters(model),
        attention=attentions(model, absorbed=False),
        absorbed=attentions(model, absorbed=True),
        tested=all(isinstance(group, Full | Sliding | Latent | Indexer) for group in model.groups),
    )


def _sparse(group: LayerGroup) -> bool:
    return isinstance(group, Compressed) or (isinstance(group, Latent) and group.top_k is not None)


def _output(group: LayerGroup) -> int:
    match group:
        case Stateless() | Indexer():
            return 0
        case Compressed():
            return group.heads * group.width
        case _:
            return group.heads * group.value_width
