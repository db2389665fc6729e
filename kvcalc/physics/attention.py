"""Attention in a prefill: which pairs of tokens meet, and how wide the arithmetic of a pair is."""

from collections.abc import Iterator
from typing import Literal, assert_never

from kvcalc.frozen import frozen
from kvcalc.profiles.model import (
    Chunked,
    Compressed,
    Cross,
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

Role = Literal["dense", "latent", "sparse", "index", "state"]


@frozen
class Attention:
    """Layers that attend alike. A visible pair costs 2 x width FLOPs for each head and layer."""

    kind: str
    role: Role
    layers: int
    heads: int
    width: int  # elements of key and value together
    cap: int | None = None  # entries that a token attends to at most
    ratio: int = 1  # tokens an entry stands for
    restart: bool = False  # at every multiple of the cap, instead of sliding
    constant: int = 0  # entries that every token attends to, whatever its place

    def visible(self, new: int, cached: int) -> float:
        """Pairs that `new` tokens after `cached` ones attend to; half of a token's own entry is counted."""
        return self._upto(new + cached) - self._upto(cached)

    def _upto(self, tokens: int) -> float:
        if self.constant:
            return float(self.constant * tokens)
        if self.cap is None:
            return tokens * tokens / (2 * self.ratio)
        reach = self.cap * self.ratio
        if self.restart:
            return tokens // reach * reach**2 / 2 + (tokens % reach) ** 2 / 2
        if tokens <= reach:
            return tokens * tokens / (2 * self.ratio)
        return reach * self.cap / 2 + (tokens - reach) * self.cap


def attentions(model: Model, absorbed: bool) -> tuple[Attention, ...]:
    """What each layer group of a model attends to; `absorbed`: latent attention is computed in the latent space."""
    return tuple(found for group in model.groups for found in _of(group, absorbed))


def _of(group: LayerGroup, absorbed: bool) -> Iterator[Attention]:
    match group:
        case Full():
            yield _dense(group, None)
        case Sliding():
            yield _dense(group, group.window)
        case Shared():
            yield _dense(group, group.window)
        case Chunked():
            width = group.key_width + group.value_width
            yield Attention("chunked", "dense", group.layers, group.heads, width, group.window, restart=True)
        case Cross():
            width = group.key_width + group.value_width
            yield Attention("cross", "dense", group.layers, group.heads, width, constant=group.encoder_tokens)
        case Latent():
            yield _latent(group, absorbed)
        case Indexer():
            yield Attention("index", "index", group.layers, group.heads, group.width, None, group.pool)
        case Compressed():
            yield from _compressed(group)
        case Recurrent():  # every token reads and updates the state: 4 x key x value FLOPs a head, twice in chunks
            width = 4 * group.key_width * group.value_width
            yield Attention(group.rule, "state", group.layers, group.heads, width, constant=1)
        case Stateless():
            return
        case _:
            assert_never(group)


def _dense(group: Full | Sliding | Shared, window: int | None) -> Attention:
    return Attention(group.kind, "dense", group.layers, group.heads, group.key_width + group.value_width, window)


def _latent(group: Latent, absorbed: bool) -> Attention:
    in_latent_space = 2 * group.rank + group.rope
    if group.top_k is not None:
        return Attention("sparse latent", "sparse", group.layers, group.heads, in_latent_space, group.top_k)
    expanded = group.nope + group.rope + group.value_width
    return Attention("latent", "latent", group.layers, group.heads, in_latent_space if absorbed else expanded)


def _compressed(group: Compressed) -> Iterator[Attention]:
    width = 2 * group.width
    yield Attention("window", "sparse", group.layers, group.heads, width, group.window)
    if group.ratio == 0:
        return
    yield Attention("compressed", "sparse", group.layers, group.heads, width, group.top_k, group.ratio)
    if group.index_heads and group.index_width:
        yield Attention("index", "index", group.layers, group.index_heads, group.index_width, None, group.ratio)
