"""The least bandwidth of one link at which a restore takes no longer than it may."""

from dataclasses import replace

from kvcalc.frozen import frozen
from kvcalc.physics.transfer import Hop, Load, Route


@frozen
class BreakEven:
    """Of a tier's own links, one direction."""

    link: float  # bytes/s of one
    links: int  # that are busy
    together: float  # bytes/s of all busy ones


def break_even(route: Route, load: Load, seconds: float) -> BreakEven | None:
    """The least bandwidth of one link at which the restore takes `seconds`.

    None where no bandwidth of these links brings it there: latency, copies and engine take longer, another hop does, or
    several links are held up by their ceiling. One link carries what it is said to carry, whatever the ceiling.
    """
    own, *others = route.hops
    left = seconds - route.latency - route.overhead.seconds(load.tokens)
    times = [hop.quickest(load) for hop in others]
    if route.pipelined and max(times, default=0.0) > left:
        return None
    left -= 0.0 if route.pipelined else sum(times)
    found = [_over(own, load, links, left) for links in _choices(own, load)]
    return min((each for each in found if each), key=lambda each: each.link, default=None)


def _choices(hop: Hop, load: Load) -> range:
    """How many links may be busy."""
    return range(1 if hop.broadcast and load.shards < hop.links else hop.links, hop.links + 1)


def _over(hop: Hop, load: Load, links: int, left: float) -> BreakEven | None:
    share = load.over(links, hop.broadcast)
    moving = left - share.copies * hop.per_copy
    if moving <= 0:
        return None
    held_up = hop.ceiling and hop.links > 1 and share.together / hop.ceiling > moving
    return None if held_up else BreakEven(share.bytes / moving, links, share.together / moving)


def with_link(route: Route, bandwidth: float) -> Route:
    """The route with another bandwidth of its tier's links, whose ceiling carries at least one."""
    own, *others = route.hops
    ceiling = own.ceiling and max(own.ceiling, bandwidth)
    return replace(route, hops=(replace(own, bandwidth=bandwidth, ceiling=ceiling), *others))
