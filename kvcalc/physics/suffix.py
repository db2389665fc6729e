"""A prompt whose head is cached: the time to its first token, and when the link holds it up."""


def layered(fixed: float, moving: float, computing: float, layers: int) -> float:
    """Seconds to the first token when layers are loaded one after the other and each is computed as it arrives.

    fixed + max(moving, computing) + min(moving, computing) / layers: two machines in a row and as many equal jobs as
    layers (Johnson, Naval Research Logistics Quarterly 1, 1954). `fixed` passes before the first layer moves.
    """
    return fixed + max(moving, computing) + min(moving, computing) / layers


def link_bound_ratio(recompute: float, fetch: float, pair: float, new: int) -> float | None:
    """Cached tokens a new one beyond which loading takes longer than computing: C/N = r / (f - N*q); None is never.

    `recompute` r is seconds a new token with nothing before it, `fetch` f seconds a cached token, `pair` q seconds in
    which one new token attends to one cached one: C*f = N*r + q*N*C.
    """
    slower = fetch - new * pair
    return recompute / slower if slower > 0 else None
