"""A decode step: what it reads, and how long that takes from HBM and over a path.

A step reads every weight that its tokens pass and the KV of all sequences of its batch. KV that lies in a tier crosses
the path while the GPU reads the rest, and the slower of the two decides (FlexGen: Sheng et al. 2023, section 4.3).
Launches, communication and arithmetic are left out: the times are lower bounds.
"""

from kvcalc.physics import formats, work
from kvcalc.physics import kv as sizes
from kvcalc.profiles.model import Compressed, Latent, LayerGroup, Model


def weights(model: Model, batch: int) -> tuple[float, float]:
    """Numbers of weights that a step of `batch` sequences reads: dense ones with the LM head, and experts'.

    Tokens meet experts as if these were chosen evenly: E*(1 - (1 - k/E)^B) of E. Raises UserError for a profile
    without feed-forward fields.
    """
    counted = work.parameters(model)
    blocks = [block for block in work.feed_forward(model) if block.experts]
    routed = [block.layers * block.width * (block.experts or 0) for block in blocks]
    met = [1 - (1 - (block.top_k or 1) / (block.experts or 1)) ** batch for block in blocks]
    share = sum(size * part for size, part in zip(routed, met, strict=True)) / sum(routed) if blocks else 0.0
    return counted.linear + model.vocabulary * model.hidden, counted.experts * share


def read_bytes(model: Model, tokens: int, kv: str) -> int:
    """Bytes of a sequence's KV that one step reads: all of it, but of sparse layers only what they attend to."""
    return sum(_group(group, tokens, kv) for group in model.groups)


def _group(group: LayerGroup, tokens: int, kv: str) -> int:
    whole = sizes.group_bytes(group, tokens, kv)
    if isinstance(group, Latent) and group.top_k is not None:
        return min(whole, sizes.token_bytes(group, kv) * group.top_k)
    if isinstance(group, Compressed) and group.top_k is not None:
        left = max(0, tokens // group.ratio - group.top_k)
        return whole - group.layers * left * formats.compressed_entry(group.width, group.rope, kv)
    return whole


def step(reading: float, loading: float) -> float:
    """Seconds of a step: HBM is read while KV is loading over a path."""
    return max(reading, loading)
