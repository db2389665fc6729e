"""Restores that begin together and share links: seconds until all of them are through."""

from kvcalc.physics import queueing
from kvcalc.physics.transfer import Hop, Load, Route

Gpus = tuple[int | None, ...]  # by hop: the GPUs of a node that has a link for each; None: links of the whole node


def through(route: Route, load: Load, concurrent: int, gpus: Gpus) -> float:
    """All of so many equal restores, spread evenly over the node's links; one of them takes what it takes alone."""
    begun = route.latency + route.overhead.seconds(load.tokens)
    times = [_through(hop, load, concurrent, count) for hop, count in zip(route.hops, gpus, strict=True)]
    return max(route.seconds(load), begun + (max(times) if route.pipelined else sum(times)))


def _through(hop: Hop, load: Load, concurrent: int, gpus: int | None) -> float:
    """Over one hop: its links in turn, or all bytes under its ceiling."""
    busy = hop.busy(load)
    share = load.over(busy, hop.broadcast)
    servers = gpus // busy if gpus else 1
    links = queueing.together(share.copies * hop.per_copy + share.bytes / hop.bandwidth, servers, concurrent)
    ceiling = queueing.together(share.together / hop.ceiling, 1, concurrent) if hop.ceiling else 0.0
    return max(links, ceiling)
