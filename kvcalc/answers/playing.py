"""How a replay is asked for, and its outcome in figures."""

from kvcalc.answers.simulate_result import LinkFigures, Played, Run
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.simulate.arrivals import Pace
from kvcalc.simulate.outcome import Outcome
from kvcalc.simulate.service import Rules
from kvcalc.tiered.admission import ADMISSIONS
from kvcalc.tiered.orders import ORDERS

HOUR_S = 3600
DAY_S = 24 * HOUR_S
MOST_REPLICAS = 1024


@frozen
class Playing:
    """The rules of a replay, the pace of its requests, and how many replicas serve them."""

    rules: Rules = Rules()
    pace: Pace = Pace()
    replicas: int = 1


def check(playing: Playing) -> None:
    """Refuse what can't be replayed. Raises UserError."""
    for name, word, known in (
        ("policy", playing.rules.policy, ORDERS),
        ("admission", playing.rules.admission, ADMISSIONS),
        ("spacing", playing.pace.spacing, ("recorded", "spread", "poisson")),
    ):
        if word not in known:
            raise UserError(f"--{name}: {shown(word)} is none of {', '.join(known)}")
    if not 1 <= playing.replicas <= MOST_REPLICAS:
        raise UserError(f"--replicas: {playing.replicas} is not a number from 1 to {MOST_REPLICAS:,}")
    if not 0 < playing.pace.speed < float("inf"):
        raise UserError(f"--speed: {playing.pace.speed:g} is not above zero")
    if not 0 <= playing.rules.least_margin < float("inf"):
        raise UserError(f"--fetch-if: a margin is a number from 0, not {playing.rules.least_margin:g}")


def played(playing: Playing, kv_dtype: str) -> Played:
    """The same for the page."""
    rules, pace = playing.rules, playing.pace
    return Played(
        kv_dtype=kv_dtype,
        replicas=playing.replicas,
        policy=rules.policy,
        admission=rules.admission,
        hierarchy="inclusive" if rules.inclusive else "exclusive",
        prefetch="admission" if rules.prefetch else "lazy",
        fetch_if=f"margin>{rules.least_margin:g}" if rules.least_margin else "always",
        spacing=pace.spacing,
        speed=pace.speed,
        seed=pace.seed,
    )


def run(name: str, outcome: Outcome, gpus: int) -> Run:
    """An outcome in figures; a replica has so many GPUs."""
    import numpy as np

    p50, p95, p99 = (float(each) for each in np.percentile(outcome.ttft_s, [50, 95, 99]))
    return Run(
        name=name,
        block_rate=sum(outcome.hits) / outcome.blocks if outcome.blocks else 0.0,
        token_rate=outcome.token_rate,
        ttft_mean_s=float(outcome.ttft_s.mean()),
        ttft_p50_s=p50,
        ttft_p95_s=p95,
        ttft_p99_s=p99,
        prefill_gpu_s=outcome.prefill_s * gpus,
        held_gpu_s=outcome.held_s * gpus,
        utilisation=outcome.utilisation,
        duration_s=outcome.duration_s,
        evicted_blocks=outcome.evicted[0],
        evictions_per_hour=per(HOUR_S, outcome.evicted[0], outcome),
        fetched_requests=outcome.fetched_requests,
        lost_requests=outcome.lost_requests,
    )


def overloaded(run: Run, span_s: float) -> bool:
    """Do the GPUs compute for longer than requests arrive?"""
    return run.utilisation * run.duration_s > span_s > 0


def per(period_s: int, count: float, outcome: Outcome) -> float:
    """A count as a rate."""
    return count * period_s / outcome.duration_s if outcome.duration_s else 0.0


def link_figures(outcome: Outcome) -> tuple[LinkFigures, ...]:
    """What each link carried."""
    return tuple(
        LinkFigures(use.source, use.target, use.bytes_per_s, use.blocks, round(use.bytes), use.utilisation)
        for use in outcome.links
    )
