"""Requests that share links: how busy each is, when it is full, and what a restore takes meanwhile."""

from collections.abc import Callable, Iterator
from typing import Literal

from kvcalc.answers import offload
from kvcalc.answers.margin_parts import Contention, Station, Traffic
from kvcalc.answers.paths import Path
from kvcalc.answers.setting import Setting
from kvcalc.frozen import frozen
from kvcalc.physics import queueing
from kvcalc.physics.queueing import Flow
from kvcalc.physics.transfer import Hop, Load
from kvcalc.profiles.hardware import Tier

Way = Literal["read", "write"]
ONE_DEVICE = ("nvme",)  # reads and writes take turns on the drive
ONE_POOL = ("dram",)  # and under the ceiling of the host's memory


@frozen
class _Server:
    """What transfers of either direction take of one link or ceiling."""

    name: str
    hop: int  # its place on the way
    servers: int
    seconds: dict[Way, Callable[[Load], float]]


def traffic(setting: Setting) -> Traffic:
    """What the concurrency, the rate or both that are asked for make of every path."""
    options = setting.options
    replicas = setting.machine.node.gpus // setting.tp
    way = setting.ways.chosen
    whole, rest = way.seconds(setting.tokens + options.new), setting.rest(way, setting.tokens)
    recompute = setting.recompute(way, setting.tokens)
    together = options.concurrency and queueing.together(recompute, replicas, options.concurrency)
    request = None if options.hit_rate is None else (1 - options.hit_rate) * whole + options.hit_rate * rest
    flows = () if options.rate is None or request is None else (Flow(options.rate, request),)
    return Traffic(
        concurrency=options.concurrency,
        rate_per_s=options.rate,
        hit_rate=options.hit_rate,
        replicas=replicas,
        concurrent_recompute_s=together,
        prefill_utilisation=queueing.utilisation(flows, replicas) if flows else None,
        prefill_saturation_per_s=queueing.saturation(request, replicas) if request else None,
        prefill_saturation_without_per_s=queueing.saturation(whole, replicas) if flows else None,
        paths=tuple(_path(setting, path, recompute, together) for path in setting.paths),
    )


def _path(setting: Setting, path: Path, recompute: float, together: float | None) -> Contention:
    load, options = setting.loads(setting.tokens), setting.options
    fetch = path.typical.fetch(load).seconds
    servers = list(_servers(setting, path))
    stations = tuple(_station(setting, server) for server in servers)
    concurrent = None
    if options.concurrency:
        begun = path.typical.latency + path.typical.overhead.seconds(load.tokens)
        times = [
            (each.hop, queueing.together(each.seconds["read"](load), each.servers, options.concurrency))
            for each in servers
            if "read" in each.seconds
        ]
        concurrent = max(fetch, begun + _along(times, path))
    waiting = None
    if options.rate is not None:
        crossed = [each for each in servers if "read" in each.seconds]
        waits = [(each.hop, queueing.wait(_flows(setting, each), each.servers)) for each in crossed]
        found = [(hop, each) for hop, each in waits if each is not None]
        waiting = _along(found, path) if len(found) == len(waits) else None
    loaded = None if waiting is None else fetch + waiting
    busy = [station.utilisation for station in stations if station.utilisation is not None]
    full = [station.saturation_per_s for station in stations if station.saturation_per_s is not None]
    return Contention(
        tier=path.tier.name,
        links=path.links,
        stations=stations,
        concurrent_fetch_s=concurrent,
        concurrent_margin=together / concurrent if together and concurrent else None,
        wait_s=waiting,
        loaded_fetch_s=loaded,
        loaded_margin=recompute / loaded if loaded else None,
        utilisation=max(busy, default=None),
        saturation_per_s=min(full, default=None),
    )


def _along(times: list[tuple[int, float]], path: Path) -> float:
    """The slowest of a hop's stations, and of pipelined hops the slowest; otherwise hops add."""
    hops = [max(seconds for hop, seconds in times if hop == place) for place in {hop for hop, _ in times}]
    return max(hops) if path.typical.pipelined else sum(hops)


def _servers(setting: Setting, path: Path) -> Iterator[_Server]:
    """Each link and ceiling on the way, with both directions where they share it."""
    back = offload.route(path, setting.tp, setting.engine)
    tiers = [path.tier, *([path.way.host] if path.tier.staging and path.way.host else [])]
    for place, tier in enumerate(tiers):
        ways: dict[Way, Hop] = {"read": path.typical.hops[place]}
        if back and setting.options.rate is not None:
            ways["write"] = back.hops[place]
        yield from _apart(setting, place, tier, ways)


def _apart(setting: Setting, place: int, tier: Tier, ways: dict[Way, Hop]) -> Iterator[_Server]:
    load = setting.loads(setting.tokens)
    gpus = setting.machine.node.gpus
    shared = {"links": tier.medium in ONE_DEVICE, "ceiling": tier.medium in ONE_POOL}
    for what, seconds in (("links", _on_links), ("ceiling", _under_ceiling)):
        if what == "ceiling" and not tier.node_ceiling:
            continue
        groups: list[list[Way]] = [list(ways)] if shared[what] else [[way] for way in ways]
        for group in groups:
            servers = gpus // ways[group[0]].busy(load) if what == "links" and tier.links == "per-gpu" else 1
            takes = {way: _takes(ways[way], seconds) for way in group}
            name = f"{tier.name}, {'link' if what == 'links' else 'all links together'}"
            yield _Server(name, place, servers, takes)


def _takes(hop: Hop, seconds: Callable[[Hop, Load], float]) -> Callable[[Load], float]:
    return lambda load: seconds(hop, load)


def _on_links(hop: Hop, load: Load) -> float:
    share = load.over(hop.busy(load), hop.broadcast)
    return share.copies * hop.per_copy + share.bytes / hop.bandwidth


def _under_ceiling(hop: Hop, load: Load) -> float:
    share = load.over(hop.busy(load), hop.broadcast)
    return share.together / hop.ceiling if hop.ceiling else 0.0


def _flows(setting: Setting, server: _Server) -> tuple[Flow, ...]:
    """Hits are restored and their new tokens written down; of misses everything is."""
    rate, hit = setting.options.rate or 0.0, setting.options.hit_rate or 0.0
    prefix, whole = setting.loads(setting.tokens), setting.loads(setting.tokens + setting.options.new)
    read, write = server.seconds.get("read"), server.seconds.get("write")
    found = [Flow(rate * hit, read(prefix))] if read else []
    if write:
        added = max(0.0, write(whole) - write(prefix))
        found += [Flow(rate * (1 - hit), write(whole)), Flow(rate * hit, added)]
    return tuple(flow for flow in found if flow.rate * flow.service)


def _station(setting: Setting, server: _Server) -> Station:
    rate = setting.options.rate
    flows = _flows(setting, server) if rate else ()
    request = sum(flow.rate * flow.service for flow in flows) / rate if rate else None
    read = server.seconds.get("read")
    return Station(
        name=server.name,
        direction="both" if len(server.seconds) == 2 else next(iter(server.seconds)),
        servers=server.servers,
        restore_s=read(setting.loads(setting.tokens)) if read else 0.0,
        request_s=request,
        utilisation=queueing.utilisation(flows, server.servers) if rate else None,
        saturation_per_s=queueing.saturation(request, server.servers) if request else None,
    )
