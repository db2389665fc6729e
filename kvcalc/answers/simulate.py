"""What do a node's tiers do for a trace, with time: hits, time to first token, links, wear?"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kvcalc.answers import curve as curves
from kvcalc.answers import playing as figures
from kvcalc.answers import service as services
from kvcalc.answers.curve_result import CurveAnswer, TierPlace
from kvcalc.answers.placement import Placing
from kvcalc.answers.playing import DAY_S, HOUR_S, Playing
from kvcalc.answers.replay_advice import advice
from kvcalc.answers.replay_assumptions import replayed
from kvcalc.answers.service import Blocks
from kvcalc.answers.simulate_result import SCHEMA_VERSION, LinkFigures, Run, SimulateAnswer, TierUse
from kvcalc.simulate.arrivals import arrivals
from kvcalc.simulate.outcome import Outcome
from kvcalc.simulate.replay import Fleet, replay
from kvcalc.traces.reader import Reading

if TYPE_CHECKING:
    from kvcalc.traces.trace import Trace

Progress = Callable[[str, int, int], None]  # of what, done, of how many
BUSY = 0.7  # of the time, from which on queues at a link are long
OFTEN = 0.05  # of the requests: what is said of fewer isn't worth a warning


def simulate(
    path: Path | str,
    placing: Placing,
    playing: Playing | None = None,
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> SimulateAnswer:
    """Replay a trace against a model on a node with HBM alone and with its tiers.

    Raises UserError for a trace that can't be read or names no blocks, and for whatever does not go together.
    """
    play = playing or Playing()
    figures.check(play)
    trace = curves.load(path, reading, _named(progress, "reading"))
    drawn = curves.of(trace, str(path), placing)
    blocks = blocks_of(trace, drawn)
    lower = [place.tier for place in drawn.places[1:]]
    setting = services.setting(placing, blocks, lower)
    service = services.service(setting, drawn.places, blocks)
    fleet = Fleet(service, play.rules, play.replicas)
    alone, tiered = (
        replay(arrivals(trace, play.pace), each, progress=_counted(progress, name, trace))
        for name, each in (
            ("without offload", replace(fleet, service=replace(service, tiers=()))),
            ("with tiers", fleet),
        )
    )
    runs = figures.run("HBM alone", alone, setting.tp), figures.run("with tiers", tiered, setting.tp)
    links = figures.link_figures(tiered)
    used = tuple(_tiers(drawn.places, tiered, (blocks, play.replicas)))
    played = figures.played(play, placing.kv_dtypes[0])
    return SimulateAnswer(
        schema_version=SCHEMA_VERSION,
        trace=drawn.trace,
        model=setting.model.name,
        model_title=setting.model.title,
        hardware=setting.machine.name,
        tp=setting.tp,
        played=played,
        recompute_way=setting.ways.chosen.title,
        block_bytes=service.block_bytes,
        runs=runs,
        tiers=used,
        links=links,
        saved_gpu_s=(alone.prefill_s - tiered.prefill_s) * setting.tp,
        saved_by_cache_gpu_s=(tiered.uncached_prefill_s - tiered.prefill_s) * setting.tp,
        recommendation=curves.doubted(trace, advice(runs, used, played, drawn.knee, drawn.ceiling)),
        warnings=(
            *services.rate_warning(setting),
            *services.small(service, blocks),
            *drawn.warnings,
            *_warnings(drawn, runs, links, play),
        ),
        assumptions=(*replayed(drawn.assumptions, play), *services.assumptions(setting.tiers)),
    )


def blocks_of(trace: "Trace", drawn: CurveAnswer) -> Blocks:
    """The trace's blocks, as a service cuts its tiers into them."""
    return Blocks(trace.tokens_per_block, drawn.prompt_tokens, int(trace.lengths.max()))


def _named(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return (lambda done, total: progress(name, done, total)) if progress else None


def _counted(progress: Progress | None, name: str, trace: "Trace") -> Callable[[int], None] | None:
    return (lambda done: progress(name, done, len(trace.order))) if progress else None


def _tiers(places: tuple[TierPlace, ...], outcome: Outcome, of: tuple[Blocks, int]) -> Iterator[TierUse]:
    blocks, replicas = of
    hits = dict(zip(outcome.tiers, outcome.hits, strict=True))
    evicted = dict(zip(outcome.tiers, outcome.evicted, strict=False))
    written = {link.target: link.bytes * DAY_S / link.over_s for link in outcome.links if link.over_s}
    for place in places:
        worn = written.get(place.tier, 0.0) / (place.tier_bytes * replicas)
        yield TierUse(
            tier=place.tier,
            medium=place.medium,
            tier_bytes=place.tier_bytes,
            tier_blocks=int(place.tier_tokens / blocks.tokens),
            hit_blocks=hits.get(place.tier, 0),
            hit_rate=hits.get(place.tier, 0) / outcome.blocks,
            evicted_blocks=evicted.get(place.tier, 0),
            evictions_per_hour=figures.per(HOUR_S, evicted.get(place.tier, 0), outcome),
            drive_writes_per_day=worn if place.medium == "nvme" else None,
        )


def busy(links: tuple[LinkFigures, ...]) -> Iterator[str]:
    """Links that can hardly carry what they are given."""
    for link in links:
        if link.link_utilisation > BUSY:
            share = f"{100 * link.link_utilisation:.0f} %"
            yield (
                f"the link from {link.source} to {link.target} is busy {share} of the time: blocks wait for it, and "
                "those for which there is no room are dropped"
            )


def _warnings(
    drawn: CurveAnswer, runs: tuple[Run, Run], links: tuple[LinkFigures, ...], play: Playing
) -> Iterator[str]:
    alone, tiered = runs
    if tiered.lost_requests > OFTEN * tiered.fetched_requests and not play.rules.least_margin:
        yield (
            f"fetching lost for {tiered.lost_requests:,} of {tiered.fetched_requests:,} requests that fetched: their "
            "blocks came later than computing them would have taken; --fetch-if 'margin>1' leaves out what can't win"
        )
    yield from busy(links)
    if tiered.ttft_p50_s > alone.ttft_p50_s:
        yield "the tiers raise the median time to first token at this load"
    span = drawn.trace.duration_s / play.pace.speed
    late = [run.name for run in runs if figures.overloaded(run, span)]
    if late:
        names = " and ".join(late)
        yield f"{names}: more prefill arrives than the GPUs do, so times to first token grow with the trace"
