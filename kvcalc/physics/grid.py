"""Prefill and transfer over whole arrays of lengths, rates and bandwidths at once, with numpy.

Each function is an equation of `kv`, `attention`, `prefill`, `recompute` or `transfer` with arrays for numbers; tests
hold the two to 1e-12 of each other. Objects of those modules may hold arrays here: a hop's bandwidth, a stated rate.
Axes are (prefill rate, bandwidth, length), so that whatever lacks one is broadcast.
"""

from functools import reduce
from typing import Any, cast

from kvcalc.physics import kv as sizes
from kvcalc.physics.attention import Attention
from kvcalc.physics.prefill import SHORT, Prefill
from kvcalc.physics.recompute import Measured, Way
from kvcalc.physics.together import Gpus
from kvcalc.physics.transfer import Hop, Load, Pages, Part, Route
from kvcalc.profiles.model import Compressed, Indexer, LayerGroup, Model

Array = Any  # of numbers; numpy is known only inside functions
ENDLESS = 10**11  # tokens; no window is so long


def held(group: LayerGroup, tokens: Array) -> Array:
    """`kv.held`: the length, between what the group keeps of none and of an endless one."""
    import numpy as np

    least, most = sizes.held(group, 0), sizes.held(group, ENDLESS)
    return np.clip(tokens, least, most)


def group_bytes(group: LayerGroup, tokens: Array, kv: str) -> Array:
    """`kv.group_bytes`."""
    import numpy as np

    if isinstance(group, Compressed):
        entry, index = sizes.compressed_entry(group, kv)
        window = entry * np.minimum(tokens, group.window)
        entries = tokens // group.ratio if group.ratio else 0
        growing = group.layers * (entries * (entry + index) + window)
    elif isinstance(group, Indexer):
        growing = sizes.token_bytes(group, kv) * (tokens // group.pool)
    else:
        growing = sizes.token_bytes(group, kv) * held(group, tokens)
    return growing + sizes.state_bytes(group)


def logical(model: Model, tokens: Array, kv: str) -> Array:
    """`kv.logical`."""
    return sum(group_bytes(group, tokens, kv) for group in model.groups)


def load(model: Model, kv: str, tp: int, pages: Pages, tokens: Array) -> Load:
    """`transfer.Loads`: what restoring a prefix moves, its parts holding arrays."""
    import numpy as np

    parts = []
    for group in model.groups:
        size = group_bytes(group, tokens, kv)
        if np.any(size):
            count = np.where(size > 0, np.maximum(-(-held(group, tokens) // pages.tokens), 1), 0)
            parts.append(Part(size, pages.copies(group, cast(Any, count)), sizes.shards(group, tp)))
    return Load(tokens, tuple(parts), pages.layout == "contiguous", tp)


def fetch(route: Route, load: Load) -> Array:
    """`Route.seconds`."""
    return through(route, load, 1, (None,) * len(route.hops))


def through(route: Route, load: Load, concurrent: int, gpus: Gpus) -> Array:
    """`together.through`."""
    begun = route.latency + route.overhead.seconds(load.tokens)
    hops = list(zip(route.hops, gpus, strict=True))
    alone = begun + _along(route, [_hop(hop, load, 1, None) for hop, _ in hops])
    if concurrent == 1:
        return alone
    return _greater(alone, begun + _along(route, [_hop(hop, load, concurrent, count) for hop, count in hops]))


def _along(route: Route, times: list[Array]) -> Array:
    return reduce(_greater, times) if route.pipelined else sum(times)


def _greater(one: Array, other: Array) -> Array:
    import numpy as np

    return np.maximum(one, other)


def _hop(hop: Hop, load: Load, concurrent: int, gpus: int | None) -> Array:
    """`Hop.quickest` of one restore, and the hop's part of `together.through` of several."""
    import numpy as np

    fewest = hop.links if not hop.broadcast or load.shards >= hop.links else 1
    alone, crowded = None, None
    for links in range(fewest, hop.links + 1):
        share = load.over(links, hop.broadcast)
        copies, moving = share.copies * hop.per_copy, share.bytes / hop.bandwidth
        ceiling = 0.0 if hop.ceiling is None else share.together / hop.ceiling
        one = copies + _greater(moving, ceiling)
        turns = -(-concurrent // (gpus // links if gpus else 1))
        many = _greater(turns * (copies + moving), concurrent * ceiling)
        if alone is None:
            alone, crowded = one, many
        else:  # the number of links is chosen for one restore, as `Hop.busy` does
            crowded = np.where(one < alone, many, crowded)
            alone = np.minimum(one, alone)
    return alone if concurrent == 1 else crowded


def seconds(way: Way, new: Array, cached: Array) -> Array:
    """`Way.seconds`: prefill of `new` tokens after `cached`."""
    if isinstance(way, Prefill):
        return _prefill(way, new, cached)
    if isinstance(way, Measured):
        return _measured(way, new, cached)
    return way.seconds(new, cached)


def _prefill(model: Prefill, new: Array, cached: Array) -> Array:
    import numpy as np

    return (
        model.launch
        + np.maximum(model.gemm * new, model.weights)
        + model.expert_weights
        + (model.elementwise + model.experts) * new
        + sum(pair * (_upto(group, new + cached) - _upto(group, cached)) for pair, group in model.attention)
        + model.all_reduce.seconds(new)
    )


def _upto(group: Attention, tokens: Array) -> Array:
    """Pairs of a prompt of so many tokens, as `Attention.visible` counts them."""
    import numpy as np

    if group.constant:
        return float(group.constant) * tokens
    rising = tokens * tokens / (2 * group.ratio)
    if group.cap is None:
        return rising
    reach = group.cap * group.ratio
    if group.restart:
        return tokens // reach * reach**2 / 2 + (tokens % reach) ** 2 / 2
    return np.where(tokens <= reach, rising, reach * group.cap / 2 + (tokens - reach) * float(group.cap))


def _measured(way: Measured, new: Array, cached: Array) -> Array:
    import numpy as np

    places, values = np.log([point[0] for point in way.points]), [point[1] for point in way.points]

    def between(tokens: Array) -> Array:
        return np.interp(np.log(tokens), places, values)

    def whole(prompt: Array) -> Array:
        return np.exp(between(prompt)) * prompt / np.clip(prompt, way.points[0][0], way.points[-1][0])

    if way.model is not None:
        return _prefill(way.model, new, cached) * between(new + cached)
    return whole(new + cached) - np.where(cached > 0, whole(np.maximum(cached, 1)), 0.0)


def band(way: Way, new: Array) -> tuple[Array, Array]:
    """`Way.band`: only the model's depends on the length."""
    import numpy as np

    shorter, longer = way.band(1)
    usual_shorter, usual_longer = way.band(SHORT)
    return np.where(new < SHORT, shorter, usual_shorter), np.where(new < SHORT, longer, usual_longer)
