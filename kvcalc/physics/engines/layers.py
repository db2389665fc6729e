"""What one rank keeps for a layer of each kind: the parts that every engine's blocks are made of."""

from kvcalc.frozen import frozen
from kvcalc.physics import formats, kv
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
    Sliding,
)


@frozen
class Layers:
    """Layers of one shape on one rank. Bytes are of one layer."""

    kind: str
    layers: int
    token_bytes: int = 0  # of one kept token
    window: int | None = None
    encoder_tokens: int = 0
    state_bytes: int = 0  # of one state
    draft_bytes: int = 0  # by which a state grows for each draft token


def layers(model: Model, kv_format: str, tp: int) -> tuple[Layers, ...]:
    """The layers that keep something, equal ones together, in the profile's order."""
    found: dict[Layers, int] = {}
    for group in model.groups:
        for each in _of(group, kv_format, tp):
            one = Layers(**{**vars(each), "layers": 1})
            found[one] = found.get(one, 0) + each.layers
    return tuple(Layers(**{**vars(one), "layers": count}) for one, count in found.items())


def _of(group: LayerGroup, kv_format: str, tp: int) -> tuple[Layers, ...]:
    share = kv.shards(group, tp)
    match group:
        case Full() | Latent():
            return (Layers(group.kind, group.layers, _token(group, kv_format, share)),)
        case Indexer():  # a key may stand for several tokens
            return (Layers(group.kind, group.layers, _token(group, kv_format, share * group.pool)),)
        case Sliding() | Chunked():
            return (Layers(group.kind, group.layers, _token(group, kv_format, share), group.window),)
        case Cross():
            token = _token(group, kv_format, share)
            return (Layers(group.kind, group.layers, token, encoder_tokens=group.encoder_tokens),)
        case Recurrent():
            state = max(_up(kv.state_bytes(group), group.layers * share), 1)
            draft = _up(group.conv_channels * group.conv_bytes, share)
            return (Layers(group.kind, group.layers, state_bytes=state, draft_bytes=draft),)
        case Compressed():
            window = formats.compressed_entry(group.width, group.rope, kv_format)
            state = kv.state_bytes(group) // group.layers
            return (
                Layers(group.kind, group.layers, window, group.window),
                Layers("compressor", group.layers, state_bytes=state),
            )
        case _:
            return ()


def _token(group: LayerGroup, kv_format: str, share: int) -> int:
    return _up(kv.token_bytes(group, kv_format), group.layers * share)


def _up(size: int, parts: int) -> int:
    return -(-size // parts)
