"""How it shows that HBM's pool is full, and what a pool that nobody stated may decide against that."""

from dataclasses import replace

from kvcalc import units
from kvcalc.answers import checklist_seen
from kvcalc.answers.checklist_ground import Ground
from kvcalc.answers.checklist_result import Reason
from kvcalc.answers.checklist_traffic import Observed

FULL = 0.9  # of the pool: where running requests leave the prefix cache little
BY_POOL = ("working-set-fits-hbm", "at-the-ceiling", "no-pool", "pool-below-one-request", "tier-not-larger")


def weighed(ground: Ground, reason: Reason) -> Reason:
    """No guess of the pool blocks, and no prediction of it where the engine was seen to be full."""
    if reason.effect != "blocks" or reason.code not in BY_POOL:
        return reason
    if reason.code == "at-the-ceiling" and ground.curve is None:  # by rates that are given, not by the pool
        return reason
    why = ground.guessed
    if not why and ground.pool and ground.pool.origin == "predicted" and (full := pressed(ground)):
        why = f"the pool is predicted, while {full}: give the engine's own with --pool or --log"
    return replace(reason, effect="unknown", text=f"{reason.text}; but {why}") if why else reason


def pressed(ground: Observed) -> str:
    """How it shows that the pool is full."""
    options, signs = ground.options, []
    usages = [each.pool_usage for each in ground.traffics if each.pool_usage is not None]
    usage = max((*usages, *([] if options.pool_usage is None else [options.pool_usage])), default=0.0)
    if usage >= FULL:
        signs.append(f"requests use up to {100 * usage:.1f} % of the pool")
    counted = [each for each in ground.traffics if each.evicted]
    unit = counted[0].evicted_unit or "blocks" if counted else "tokens"
    hourly = options.evicted_per_hour or sum(each.evicted_per_hour or 0.0 for each in counted)
    if hourly:
        signs.append(f"{units.count(hourly)} {unit} are evicted an hour")
    elif counted:
        signs.append(f"{units.count(sum(each.evicted or 0.0 for each in counted))} {unit} have been evicted")
    preempted = sum(each.preemptions or 0.0 for each in ground.traffics)
    if preempted:
        signs.append(f"{units.count(preempted)} requests were preempted")
    return " and ".join(signs)


def hit_rate(ground: Observed) -> float | None:
    """The latest that is given, else that of the metrics."""
    rates = ground.options.hit_rates
    return rates[-1] if rates else checklist_seen.hit_rate(ground.options.read)
