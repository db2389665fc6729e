"""Requests that share links: how busy each is, when it is full, and what a restore takes meanwhile."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from kvcalc import units
from kvcalc.answers import offload
from kvcalc.answers.margin_parts import Contention, Station, Traffic
from kvcalc.answers.paths import Path
from kvcalc.answers.setting import Setting
from kvcalc.frozen import frozen
from kvcalc.physics import crossover, queueing, together
from kvcalc.physics.crossover import Verdict
from kvcalc.physics.queueing import Flow
from kvcalc.physics.transfer import Hop, Load
from kvcalc.profiles.hardware import Tier

Way = Literal["read", "write"]
ONE_DEVICE = ("nvme",)  # reads and writes take turns on the drive
ONE_POOL = ("dram",)  # and under the ceiling of the host's memory


@frozen
class _Server:
    """One link or ceiling, with the directions that it carries."""

    name: str
    place: int  # of its hop on the way
    servers: int
    hops: dict[Way, Hop]
    takes: Callable[[Hop, Load], float]

    def seconds(self, way: Way, load: Load) -> float:
        """What a transfer in this direction takes; nothing where the direction is another server's."""
        return self.takes(self.hops[way], load) if way in self.hops else 0.0


def traffic(setting: Setting) -> Traffic:
    """What the concurrency, the rate or both that are asked for make of the GPUs and of every path."""
    options, way = setting.options, setting.ways.chosen
    replicas = setting.machine.node.gpus // setting.tp
    recompute = setting.recompute(way, setting.tokens)
    concurrent = options.concurrency and queueing.together(recompute, replicas, options.concurrency)
    whole, rest = way.seconds(setting.tokens + options.new), setting.rest(way, setting.tokens)
    rate, hit_rate = options.rate, options.hit_rate or 0.0
    request = (1 - hit_rate) * whole + hit_rate * rest
    prefills = _flowing((rate or 0.0) * (1 - hit_rate), whole), _flowing((rate or 0.0) * hit_rate, rest)
    waiting = queueing.wait(sum(prefills, ()), replicas) if rate else None
    loaded = None if waiting is None else recompute + waiting
    return Traffic(
        concurrency=options.concurrency,
        rate_per_s=rate,
        hit_rate=options.hit_rate,
        replicas=replicas,
        concurrent_recompute_s=concurrent,
        prefill_utilisation=queueing.utilisation((Flow(rate, request),), replicas) if rate else None,
        prefill_wait_s=waiting,
        loaded_recompute_s=loaded,
        prefill_saturation_per_s=queueing.saturation(request, replicas) if rate and request else None,
        prefill_saturation_without_per_s=queueing.saturation(whole, replicas) if rate else None,
        paths=tuple(_path(setting, path, (recompute, concurrent, loaded)) for path in setting.paths),
    )


def _flowing(rate: float, service: float) -> tuple[Flow, ...]:
    """None where nothing comes, or what comes takes no time."""
    return (Flow(rate, service),) if rate * service else ()


def _path(setting: Setting, path: Path, recomputing: tuple[float, float | None, float | None]) -> Contention:
    """`recomputing` is alone, all that begin together, and under load."""
    recompute, recomputed, recompute_loaded = recomputing
    servers = tuple(_servers(setting, path))
    stations = tuple(_station(setting, server) for server in servers)
    fetch = path.typical.seconds(setting.loads(setting.tokens))
    busiest = max((each.utilisation for each in stations if each.utilisation is not None), default=None)
    over, concurrent = busiest is not None and busiest >= 1, _at_once(setting, path)
    waiting = None if over or not setting.options.hit_rate else _wait(setting, path, servers)
    loaded = None if waiting is None else fetch + waiting
    margin = recompute_loaded / loaded if loaded and recompute_loaded else None
    full = [station.saturation_per_s for station in stations if station.saturation_per_s is not None]
    return Contention(
        tier=path.tier.name,
        links=path.links,
        stations=stations,
        concurrent_fetch_s=concurrent,
        concurrent_margin=recomputed / concurrent if recomputed and concurrent else None,
        wait_s=waiting,
        loaded_fetch_s=loaded,
        loaded_margin=margin,
        loaded_verdict=_verdict(over, recompute / fetch if margin is None else margin, setting),
        utilisation=busiest,
        saturation_per_s=min(full, default=None),
    )


def _verdict(over: bool, margin: float, setting: Setting) -> Verdict | None:
    """A path whose queue only grows restores nothing, however quick it is alone; None without a rate or a hit."""
    if over:
        return "recompute"
    if setting.options.rate is None or not setting.options.hit_rate:
        return None
    return crossover.verdict(margin, setting.options.min_margin)


def warnings(found: Traffic) -> Iterator[str]:
    """What a rate of requests is too much for: the GPUs, and paths from tiers."""
    if found.rate_per_s is None or found.hit_rate is None:
        return
    rate, hits = f"{units.ratio(found.rate_per_s)} req/s", f"hit rate {units.ratio(100 * found.hit_rate)} %"
    if found.overloaded and found.prefill_utilisation and found.prefill_saturation_per_s:
        busy, full = units.ratio(100 * found.prefill_utilisation), units.ratio(found.prefill_saturation_per_s)
        yield f"{rate}, {hits}: prefill alone would keep the GPUs {busy} % busy; they saturate at {full} req/s"
    for path in found.paths:
        if path.saturated and path.saturation_per_s:
            over = f"{path.tier}, {units.counted(path.links, 'link')}{' each' if path.each else ''}"
            full = units.ratio(path.saturation_per_s)
            yield f"{rate}, {hits}: {over}, saturates at {full} req/s, and its queue only grows"


def _at_once(setting: Setting, path: Path) -> float | None:
    """Seconds until all restores that begin together are done."""
    concurrent = setting.options.concurrency
    if concurrent is None:
        return None
    return together.through(path.typical, setting.loads(setting.tokens), concurrent, gpus(setting, path))


def gpus(setting: Setting, path: Path) -> together.Gpus:
    """By hop, the GPUs of the node that have a link each."""
    count = setting.machine.node.gpus
    return tuple(count if tier.links == "per-gpu" else None for tier in _along_the_way(path))


def _along_the_way(path: Path) -> list[Tier]:
    """The tier of each hop."""
    return [path.tier, *([path.way.host] if path.tier.staging and path.way.host else [])]


def _wait(setting: Setting, path: Path, servers: tuple[_Server, ...]) -> float | None:
    """Mean seconds that a restore waits; None without a rate, or where a queue that it stands in only grows."""
    if setting.options.rate is None:
        return None
    crossed = [each for each in servers if "read" in each.hops]
    waits = [(each.place, queueing.wait(_flows(setting, each), each.servers)) for each in crossed]
    found = [(place, seconds) for place, seconds in waits if seconds is not None]
    return _along(found, path) if len(found) == len(waits) else None


def _along(times: list[tuple[int, float]], path: Path) -> float:
    """The slowest of a hop's stations, and of pipelined hops the slowest; otherwise hops add."""
    places = {place for place, _ in times}
    hops = [max(seconds for other, seconds in times if other == place) for place in places]
    return max(hops) if path.typical.pipelined else sum(hops)


def _servers(setting: Setting, path: Path) -> Iterator[_Server]:
    """Each link and ceiling on the way, with both directions where they share it."""
    back = offload.route(path, setting)
    for place, tier in enumerate(_along_the_way(path)):
        ways: dict[Way, Hop] = {"read": path.typical.hops[place]}
        if back and setting.options.rate is not None:
            ways["write"] = back.hops[place]
        yield from _apart(setting, place, tier, ways)


def _apart(setting: Setting, place: int, tier: Tier, ways: dict[Way, Hop]) -> Iterator[_Server]:
    joint: list[dict[Way, Hop]] = [ways]
    apart: list[dict[Way, Hop]] = [{way: hop} for way, hop in ways.items()]
    for hops in joint if tier.medium in ONE_DEVICE else apart:
        yield _Server(f"{tier.name}, link", place, _side_by_side(setting, tier, hops), hops, _on_links)
    if tier.both_directions and len(ways) > 1:
        added, count = partial(_added, tier.both_directions.value), _side_by_side(setting, tier, ways)
        yield _Server(f"{tier.name}, link, both directions added", place, count, ways, added)
    if tier.node_ceiling:
        for hops in joint if tier.medium in ONE_POOL else apart:
            yield _Server(f"{tier.name}, all links together", place, 1, hops, _under_ceiling)


def _side_by_side(setting: Setting, tier: Tier, hops: dict[Way, Hop]) -> int:
    """Transfers that the links of a node carry at the same time."""
    load = setting.loads(setting.tokens)
    busy = max(hop.busy(load) for hop in hops.values())
    return setting.machine.node.gpus // busy if tier.links == "per-gpu" else 1


def _added(both: float, hop: Hop, load: Load) -> float:
    """On a link that carries less in two directions than twice one."""
    return load.over(hop.busy(load), hop.broadcast).bytes / both


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
    written = server.seconds("write", whole)
    found = (
        _flowing(rate * hit, server.seconds("read", prefix)),
        _flowing(rate * (1 - hit), written),
        _flowing(rate * hit, max(0.0, written - server.seconds("write", prefix))),
    )
    return sum(found, ())


def _station(setting: Setting, server: _Server) -> Station:
    rate = setting.options.rate
    flows = _flows(setting, server) if rate else ()
    request = sum(flow.rate * flow.service for flow in flows) / rate if rate else None
    return Station(
        name=server.name,
        direction="both" if len(server.hops) == 2 else next(iter(server.hops)),
        servers=server.servers,
        restore_s=server.seconds("read", setting.loads(setting.tokens)),
        request_s=request,
        utilisation=queueing.utilisation(flows, server.servers) if rate else None,
        saturation_per_s=queueing.saturation(request, server.servers) if request else None,
    )
