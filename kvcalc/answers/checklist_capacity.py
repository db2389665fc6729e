"""Box 1: is the hit rate of the prefix cache limited by its capacity?"""

from collections.abc import Callable, Iterator
from functools import partial

from kvcalc import units
from kvcalc.answers import checklist_pool, checklist_seen, checklist_tiers, checklist_traffic
from kvcalc.answers.advice import ENOUGH, LITTLE
from kvcalc.answers.checklist_ground import Ground
from kvcalc.answers.checklist_pressure import FULL, hit_rate, pressed, weighed
from kvcalc.answers.checklist_result import Figure, Reason
from kvcalc.answers.curve_result import TierPlace
from kvcalc.observe.observation import Traffic

QUESTION = "Is the hit rate of the prefix cache limited by its capacity?"
POOR = 0.1  # a hit rate that a tier, already there, has not raised

said = partial(Reason, 1)
Rule = Callable[[Ground], Reason | None]


def reasons(ground: Ground) -> Iterator[Reason]:
    """The first rule that knows decides whether capacity is the limit; then what the planned tiers would add."""
    yield weighed(ground, next(found for rule in RULES if (found := rule(ground)) is not None))
    yield from (weighed(ground, each) for each in checklist_pool.reasons(ground))
    yield from (weighed(ground, each) for each in checklist_tiers.reasons(ground))


def _off(ground: Ground) -> Reason | None:
    if not checklist_seen.caching_off(ground.options.read):
        return None
    return said("unknown", "no-hits-while-off", "prefix caching is off: its hit rate says nothing of capacity")


def _working_set(ground: Ground) -> Reason | None:
    if ground.options.working_set is None or ground.pool is None:
        return None
    wanted, pool = ground.held(ground.options.working_set), ground.pool.value
    sizes = f"{_tokens(wanted)} ({units.both(wanted * ground.bytes_per_token)}) against {_tokens(pool)} in HBM"
    if wanted <= pool:
        return said(
            "blocks", "working-set-fits-hbm",
            f"the working set fits in HBM, {sizes}: offloading adds nothing but its own cost",
        )  # fmt: skip
    return said("supports", "working-set-exceeds-hbm", f"the working set does not fit in HBM: {sizes}")


def _trace(ground: Ground) -> Reason | None:
    if ground.curve is None:
        return None
    ceiling, knee = ground.curve.ceiling, ground.curve.knee
    hbm = _place(ground, "hbm")
    at_most = f"{_rate(ceiling.token_rate)} of any cache, and the knee is at {_tokens(knee.capacity_tokens)}"
    if ceiling.work < LITTLE:
        return said(
            "blocks", "little-reuse",
            f"the trace repeats little: no cache can hit more than {_rate(ceiling.token_rate)} of its tokens",
        )  # fmt: skip
    if hbm is None:
        return said("unknown", "trace-without-pool", f"the trace allows at most {at_most}; give the pool with --pool")
    holds = f"on the trace HBM's {_tokens(hbm.reach_tokens)} hit {_rate(hbm.token_rate)} of at most {at_most}"
    if _enough(hbm.token_rate, ceiling.token_rate):
        return said("blocks", "at-the-ceiling", f"{holds}: capacity is not the limit")
    return said("supports", "below-the-ceiling", f"{holds}: capacity is the limit")


def _place(ground: Ground, name: str) -> TierPlace | None:
    """The first place of a medium on the curve."""
    form = checklist_tiers.curve_format(ground)
    places = ground.curve.places if ground.curve else ()
    return next((each for each in places if each.kv_dtype == form and name == each.medium), None)


def _ceiling(ground: Ground) -> Reason | None:
    rate, ceiling = hit_rate(ground), ground.options.ceiling
    if ceiling is None:
        return None
    if 1 / max(1 - ceiling, 1e-6) < LITTLE:
        return said("blocks", "little-reuse", f"no cache can hit more than {_rate(ceiling)}: there is little to keep")
    if rate is None:
        return None
    of = f"the hit rate is {_rate(rate)} of at most {_rate(ceiling)}"
    if _enough(rate, ceiling):
        full = ", however full the pool is" if pressed(ground) else ""
        return said("blocks", "at-the-ceiling", f"{of}: capacity is not the limit{full}")
    if full := pressed(ground):
        return said("supports", "below-the-ceiling", f"{of}, and {full}: capacity is the limit")
    return said(
        "unknown", "below-the-ceiling",
        f"{of}, and nothing says that the pool is full: routing, a cache that is off and prompts that differ early "
        "lower it too",
    )  # fmt: skip


def _found_below(ground: Ground) -> Reason | None:
    """Tokens that HBM had not and another tier held: lost by HBM only where HBM is full."""
    for traffic in ground.traffics:
        external = traffic.lookup("external")
        if external and external.found and (rate := external.hit_rate):
            first = next((each for each in ground.traffics if each.lookup("hbm")), traffic)
            hbm, whole = traffic.lookup("hbm") or first.lookup("hbm"), traffic.hit_rate
            if first is not traffic and hbm and hbm.hit_rate is not None and not traffic.lookup("hbm"):
                whole = hbm.hit_rate + (1 - hbm.hit_rate) * rate  # a companion in a file of its own: the rest
            own = f"HBM held {_rate(hbm.hit_rate)} of what was asked, and " if hbm and hbm.hit_rate is not None else ""
            roomy = traffic.pool_usage is not None and traffic.pool_usage < FULL and not pressed(ground)
            both = f", {_rate(whole)} together" if whole is not None and hbm else ""
            text = f"{own}of the rest {_rate(rate)} were found outside it{both}"
            if roomy:
                why = f"requests use {_rate(traffic.pool_usage or 0.0)} of HBM's pool and nothing says that it evicts"
                other = "another server may have computed them (a prefill server, a shared store)"
                return said("unknown", "found-outside-hbm", f"{text}, but {why}: {other}")
            return said("supports", "found-outside-hbm", f"{text}: HBM's capacity is the limit")
    return None


def _tier_did_nothing(ground: Ground) -> Reason | None:
    """A tier is in use already, HBM is not starved, and nearly nothing is found."""
    looked = [each for traffic in ground.traffics for each in traffic.lookups if each.tier == "external" and each.asked]
    if not (looked or ground.options.tier_in_use) or pressed(ground):
        return None
    found = _poor(ground)
    return None if found is None else said("blocks", "reuse-sets-the-hit-rate", found)


def _tier_may_do_nothing(ground: Ground) -> Reason | None:
    """Nearly nothing is found, and nobody says whether the tier was in use then."""
    found = _poor(ground)
    return None if found is None else said(
        "unknown", "reuse-may-set-the-hit-rate", f"if the tier was in use then (say so with --tier-in-use): {found}"
    )  # fmt: skip


def _poor(ground: Ground) -> str | None:
    rate, sizes = hit_rate(ground), checklist_tiers.sizes(ground)
    if rate is None or rate > POOR or not sizes or ground.options.reuse == "cyclic":
        return None
    most = max(tokens for _, tokens, _ in sizes)
    return (
        f"the hit rate is {_rate(rate)} with room for {_tokens(most)}: the hit rate is set by how often prompts come "
        "again, not by the tier; expect no gain before the ceiling of your trace is known, and storing up to "
        f"{units.short(checklist_tiers.written_bytes_per_s(ground), 'B/s')} is pure overhead"
    )


def _never_full(ground: Ground) -> Reason | None:
    counts = [
        each for each in (*(t.evicted for t in ground.traffics), ground.options.evicted_per_hour) if each is not None
    ]
    if counts and not any(counts):
        return said("blocks", "never-full", "nothing is evicted: the cache is never full, so offloading adds nothing")
    written = [_written(each) for each in ground.traffics if each.elapsed_s is None]
    pool = ground.pool
    if not counts and pool and pool.origin in ("given", "metrics", "log") and written and None not in written:
        most = max(each for each in written if each is not None)
        if 0 < most < pool.value / 2:  # answers, which are not counted, take room too
            text = f"all prompts since the start computed {_tokens(most)} and HBM holds {_tokens(pool.value)}"
            return said("blocks", "never-full", f"{text}: the cache has not been full yet")
    return None


def _written(traffic: Traffic) -> float | None:
    """Prompt tokens that were computed since the start."""
    whole = traffic.lookup("all") or traffic.lookup("hbm")
    if whole is None or whole.unit != "tokens" or whole.asked is None:
        return traffic.prompt_tokens
    return max(max(whole.asked, traffic.prompt_tokens or 0.0) - (whole.found or 0.0), 0.0)


def _evicts(ground: Ground) -> Reason | None:
    full = pressed(ground)
    if not full:
        return None
    return said(
        "unknown", "full-without-ceiling",
        f"{full}, but whether what is evicted would come again is not known: a full pool with a hit rate at its "
        "ceiling is not limited by capacity",
    )  # fmt: skip


def _nothing(_: Ground) -> Reason:
    return said(
        "unknown", "nothing-known",
        "nothing says whether KV is evicted that comes again; compare the working set with the pool of HBM first: if "
        "it fits, offloading adds nothing",
    )  # fmt: skip


RULES: tuple[Rule, ...] = (
    _off, _working_set, _trace, _ceiling, _found_below, _tier_did_nothing, _never_full, _evicts,
    _tier_may_do_nothing, _nothing,
)  # fmt: skip


def _enough(rate: float, ceiling: float) -> bool:
    """Does it save what the ceiling would, nearly?"""
    work, most = (1 / max(1 - each, 1e-6) for each in (rate, ceiling))
    return work >= 1 + ENOUGH * (most - 1)


def figures(ground: Ground) -> Iterator[Figure]:
    """Hit rates, the pool, what is evicted, and the tokens that each tier holds."""
    rate = hit_rate(ground)
    yield Figure("hit rate", rate, "1", "given" if ground.options.hit_rates else "metrics" if rate is not None else "")
    if ground.curve:
        yield Figure("ceiling of the hit rate", ground.curve.ceiling.token_rate, "1", "trace")
        yield Figure("knee", float(ground.curve.knee.capacity_tokens), "tokens", "trace")
    elif ground.options.ceiling is not None:
        yield Figure("ceiling of the hit rate", ground.options.ceiling, "1", "given")
    pool = ground.pool
    yield Figure("HBM pool of one replica", pool.value if pool else None, "tokens", pool.origin if pool else "")
    if ground.options.working_set:
        yield Figure("working set", ground.held(ground.options.working_set), "tokens", "given")
    yield from checklist_traffic.figures(ground)
    yield from checklist_tiers.figures(ground)


def run(ground: Ground) -> Iterator[str]:
    """What would tell."""
    if not ground.options.read:
        yield "kvcalc checklist ... --metrics http://HOST:8000/metrics --watch 10min (hits, evictions, tiers)"
    elif all(each.elapsed_s is None for each in ground.traffics):
        yield "kvcalc checklist ... --before FILE --after FILE --interval 1h (rates rather than totals)"
    if ground.curve is None:
        yield "kvcalc curve TRACE --model MODEL (the ceiling of the hit rate, and the capacity at its knee)"


def _rate(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _tokens(tokens: float) -> str:
    return checklist_tiers.tokens(tokens)
