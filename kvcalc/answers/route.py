"""For several replicas: does routing by prefix or a shared store give the better hit rate, and at what complexity?"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kvcalc.answers import curve as curves
from kvcalc.answers import playing as figures
from kvcalc.answers import service as services
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.placement import Placing, named
from kvcalc.answers.playing import Playing
from kvcalc.answers.replay_assumptions import replayed
from kvcalc.answers.route_result import SCHEMA_VERSION, RouteAnswer, Strategy
from kvcalc.answers.routing_advice import routing_advice
from kvcalc.answers.service import Blocks
from kvcalc.answers.setting import Setting
from kvcalc.answers.simulate import Progress, blocks_of
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.profiles.hardware import Tier
from kvcalc.simulate.arrivals import arrivals
from kvcalc.simulate.outcome import Outcome
from kvcalc.simulate.replay import Fleet, Shared, replay
from kvcalc.simulate.routing import ROUTERS, Routing
from kvcalc.traces.reader import Reading

if TYPE_CHECKING:
    from kvcalc.traces.trace import Trace

STORE = "shared-store"
LOAD_CAP = 2.0
REMOTE = ("network", "store")  # media that several replicas can reach

NEEDS = {  # components, and how it fails
    "round-robin": ("a load balancer", "a lost replica takes its cache along; nothing else"),
    "least-loaded": (
        "a load balancer that counts each replica's outstanding tokens",
        "several balancers that don't share their counts send bursts to the same replica",
    ),
    "prefix-aware": (
        "a router with an index of every replica's blocks, fed by their events",
        "late or lost events lead to blocks that are gone; a restarted router knows nothing; a popular prefix piles up "
        "on one replica but for the cap",
    ),
    "consistent-hash": (
        "a router that hashes a prompt's first tokens; a ring, no state",
        "a replica that comes or goes leaves its share of the prefixes cold; a popular prefix spills over at the cap",
    ),
    STORE: (
        "store servers with a directory, a client in every engine, an RDMA-class network; a load balancer",
        "while the store or its directory is down nothing is shared; a busy network is slower than recomputing; blocks "
        "of another model, layout or version must never match; eviction and writes across nodes",
    ),
}


@frozen
class Sharing:
    """How replicas share: what routers are set by, and the store."""

    load_cap: float | None = None  # None: LOAD_CAP, or less where that would never bind
    hash_tokens: int = 1024
    store: str | None = None  # None: the quickest of the node's tiers that several replicas reach
    store_bytes: float | None = None  # None: no limit


def route(
    path: Path | str,
    placing: Placing,
    playing: Playing,
    sharing: Sharing | None = None,
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> RouteAnswer:
    """Replay a trace by each way to spread it over replicas.

    Raises UserError for a trace that can't be read or names no blocks, and for whatever does not go together.
    """
    share = sharing or Sharing()
    figures.check(playing)
    cap = load_cap(share.load_cap, playing.replicas)
    trace = curves.load(path, reading, (lambda done, total: progress("reading", done, total)) if progress else None)
    drawn = curves.of(trace, str(path), placing)
    blocks = blocks_of(trace, drawn)
    store = _store(placing, blocks, share)
    lower = [place.tier for place in drawn.places[1:]]
    setting = services.setting(placing, blocks, [*lower, *([share.store or store.name] if store else [])])
    fleet = Fleet(services.service(setting, drawn.places, blocks), playing.rules, playing.replicas)
    fleets = dict.fromkeys(ROUTERS, fleet)
    if store:
        fleets[STORE] = replace(fleet, shared=_shared(setting, trace, blocks, (store, share)))
    hashed = max(1, round(share.hash_tokens / trace.tokens_per_block))
    routing = Routing(cap, hashed, playing.pace.seed)
    strategies = tuple(
        _strategy(name, _replayed(name, (trace, each, playing), routing, progress), setting.tp)
        for name, each in fleets.items()
    )
    return RouteAnswer(
        schema_version=SCHEMA_VERSION,
        trace=drawn.trace,
        model=setting.model.name,
        model_title=setting.model.title,
        hardware=setting.machine.name,
        tp=setting.tp,
        played=figures.played(playing, placing.kv_dtypes[0]),
        load_cap=cap,
        hash_tokens=share.hash_tokens,
        store=store.name if store else None,
        store_bytes=None if share.store_bytes is None else round(share.store_bytes),
        recompute_way=setting.ways.chosen.title,
        strategies=strategies,
        recommendation=curves.doubted(trace, routing_advice(strategies)),
        warnings=(
            *services.rate_warning(setting),
            *_never(cap, playing.replicas),
            *_warnings(drawn.trace.duration_s / playing.pace.speed, strategies, store),
        ),
        assumptions=(
            *replayed(drawn.assumptions, playing),
            *services.assumptions(setting.tiers),
            *_assumptions(cap, share, store),
        ),
    )


def load_cap(asked: float | None, replicas: int) -> float:
    """The cap on a replica's load, over the mean. Raises UserError.

    One of N replicas has at most N times the mean load, so a cap of N never binds; halfway from 1 to N is the most that
    is taken unasked.
    """
    if asked is None:
        return min(LOAD_CAP, (replicas + 1) / 2)
    if not 1 <= asked < float("inf"):
        raise UserError(f"--load-cap: {asked:g} is not a number from 1")
    return asked


def _never(cap: float, replicas: int) -> Iterator[str]:
    if cap >= replicas:
        yield f"a load cap of {cap:g} never binds: one of {replicas} replicas has at most {replicas} times the mean"


def _replayed(name: str, of: "tuple[Trace, Fleet, Playing]", routing: Routing, progress: Progress | None) -> Outcome:
    trace, fleet, playing = of
    router = ROUTERS["round-robin" if name == STORE else name]
    tell = (lambda done: progress(name, done, len(trace.order))) if progress else None
    return replay(
        arrivals(trace, playing.pace),
        fleet,
        router(fleet.replicas, routing),
        tell,
    )


def _store(placing: Placing, blocks: Blocks, share: Sharing) -> Tier | None:
    """The tier whose links lead to the store: the one that is named, or the quickest of the node's."""
    if share.store is not None:
        found = named(placing.machine, share.store)
        if found.medium not in REMOTE:
            raise UserError(f"--store: {found.name!r} is no tier that several replicas reach, such as infiniband-400g")
        return found
    remote = [tier for tier in placing.machine.tiers if tier.medium in REMOTE]
    if not remote:
        return None
    setting = services.setting(placing, blocks, [tier.name for tier in remote])
    load = setting.loads(blocks.prompt)
    return min(setting.paths, key=lambda path: path.typical.seconds(load)).tier


def _shared(setting: Setting, trace: "Trace", blocks: Blocks, of: tuple[Tier, Sharing]) -> Shared:
    store, share = of
    links = services.links(setting, store.name, blocks)
    size = services.block_bytes(setting, blocks)
    held = trace.distinct + blocks.longest if share.store_bytes is None else int(share.store_bytes / size)
    if held < blocks.longest:
        raise UserError(f"--store: {store.name!r} holds {held:,} blocks and the longest prompt has {blocks.longest:,}")
    return Shared(held, links.read, links.write)


def _strategy(name: str, outcome: Outcome, gpus: int) -> Strategy:
    busy = outcome.prefill_by_replica_s
    network = [link for link in outcome.links if "store" in (link.source, link.target)]
    return Strategy(
        run=figures.run(name, outcome, gpus),
        load_imbalance=max(busy) * len(busy) / sum(busy) if sum(busy) else 1.0,
        network_bytes=round(sum(link.bytes for link in network)),
        network_utilisation=max((link.utilisation for link in network), default=0.0),
        components=NEEDS[name][0],
        failure_modes=NEEDS[name][1],
    )


def _warnings(duration: float, strategies: tuple[Strategy, ...], store: Tier | None) -> Iterator[str]:
    if store is None:
        yield "the node has no tier that several replicas reach, so no store is compared; name one with --store"
    late = [each.run.name for each in strategies if figures.overloaded(each.run, duration)]
    if late:
        yield f"{', '.join(late)}: more prefill arrives than the GPUs do, so times to first token grow with the trace"


def _assumptions(cap: float, share: Sharing, store: Tier | None) -> Iterator[Assumption]:
    yield Assumption(
        "prefix-aware knows what every replica holds at each moment; it and consistent-hash send nothing to a replica "
        f"whose outstanding prompt tokens would exceed {cap:g} times the mean, unless it has the fewest"
    )
    if store:
        size = "without limit" if share.store_bytes is None else "least recently used"
        yield Assumption(
            f"The store ({size}) is reached by a link of each replica's own, {store.name}; servers of the store are no "
            "limit. A prompt's new blocks are written to it after the prefill and found there when they have arrived"
        )
