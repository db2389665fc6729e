"""What a replay recommends: from its own hit rates, times, GPU-seconds and lost fetches, in one sentence."""

from collections.abc import Iterator, Sequence

from kvcalc import units
from kvcalc.answers.advice import ADDS, ENOUGH, LITTLE, percent, tokens_of
from kvcalc.answers.curve_result import CurvePoint
from kvcalc.answers.simulate_result import Played, Run, TierUse

SAME = 0.02  # of the mean time to first token: a difference that isn't worth naming
MOSTLY = 0.5  # of the requests that fetched


def advice(
    runs: tuple[Run, Run], tiers: Sequence[TierUse], played: Played, knee: CurvePoint, ceiling: CurvePoint
) -> str:
    """Whether capacity is the limit, what the tiers did for hits, GPUs and times, and what to do.

    `knee` and `ceiling` are those of one cache for all requests.
    """
    alone, tiered = runs
    most = f"{percent(ceiling.token_rate)} of any cache"
    if ceiling.work < LITTLE:
        return f"No cache helps much: at most {percent(ceiling.token_rate)} of the prompt tokens were seen before."
    hbm = f"HBM alone hits {percent(alone.token_rate)} of at most {most}"
    if 1 / (1 - min(alone.token_rate, ceiling.token_rate)) >= 1 + ENOUGH * (ceiling.work - 1):
        return f"Capacity is not the limit: {hbm}, so offloading adds nothing."
    said = [*_hits(runs, tiers), *_times(runs, played)]
    if tiered.token_rate < knee.token_rate - ADDS:
        said.append(
            "the knee of one least-recently-used cache for all requests is at "
            f"{tokens_of(knee.capacity_tokens)}, which would hit {percent(knee.token_rate)}"
        )
    limit = "Capacity is the limit" if played.replicas == 1 else "Each replica sees few of its own prompts again"
    return f"{limit}: {hbm}; {'; '.join(said)}."


def _hits(runs: tuple[Run, Run], tiers: Sequence[TierUse]) -> Iterator[str]:
    alone, tiered = runs
    used = [tier.tier for tier in tiers[1:] if tier.hit_rate >= ADDS]
    idle = [tier.tier for tier in tiers[1:] if tier.hit_rate < ADDS]
    if not used and not idle:
        yield "no tier below it was asked for"
    if used:
        saved = 1 - tiered.prefill_gpu_s / alone.prefill_gpu_s if alone.prefill_gpu_s else 0.0
        s = "s" if len(used) == 1 else ""
        yield (
            f"{' and '.join(used)} take{s} that to {percent(tiered.token_rate)} and save{s} {percent(saved)} of the "
            "GPUs' prefill"
        )
    if idle:
        yield f"{' and '.join(idle)} add{'s' if len(idle) == 1 else ''} next to nothing"


def _times(runs: tuple[Run, Run], played: Played) -> Iterator[str]:
    """Fetching request by request, the mean time to first token, and what follows from both."""
    alone, tiered = runs
    if not tiered.fetched_requests:
        return
    lost = tiered.lost_requests / tiered.fetched_requests
    before, after = units.short(alone.ttft_mean_s, "s"), units.short(tiered.ttft_mean_s, "s")
    loses = f"fetching loses for {percent(lost)} of the requests that fetch"
    mean = f"the mean time to first token goes from {before} to {after}"
    change = tiered.ttft_mean_s / alone.ttft_mean_s - 1 if alone.ttft_mean_s else 0.0
    if change < -SAME and lost > MOSTLY:
        yield f"{loses} and yet frees the GPUs, so that {mean}: keep it at this load, and look again at a lower one"
    elif change < -SAME:
        yield f"fetching beats recomputing for {percent(1 - lost)} of the requests that fetch, and {mean}: offload"
    elif change <= SAME:
        yield f"the mean time to first token stays at {after}, {loses}"
    elif played.fetch_if == "always":
        yield f"{loses}, and {mean}: fetch only what wins, with --fetch-if 'margin>1', or recompute"
    else:
        yield f"{loses}, and {mean}: recompute instead"
