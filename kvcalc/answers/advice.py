"""What a hit-rate curve and the tiers on it recommend, in one sentence."""

from collections.abc import Sequence

from kvcalc import units
from kvcalc.answers.curve_result import CurvePoint, TierPlace

ENOUGH = 0.95  # of what the ceiling saves
LITTLE = 1.05  # a ceiling of 1/(1-h) below which no cache is worth much


def recommendation(places: Sequence[TierPlace], knee: CurvePoint, ceiling: CurvePoint) -> str:
    """Whether capacity is the limit, where the knee is, whether fetching wins there, and what to do first."""
    at_knee = f"{_tokens(knee.capacity_tokens)} reach the knee, {_rate(knee.token_rate)}"
    most = f"{_rate(ceiling.token_rate)} of any cache"
    if ceiling.work < LITTLE:
        return f"No cache helps much: at most {_rate(ceiling.token_rate)} of the prompt tokens were ever seen before."
    if not places:
        return f"{at_knee} of at most {most} ({units.times(ceiling.work)} the prompts for the same prefill)."
    used = [place for place in places if place.kv_dtype == places[0].kv_dtype]
    hbm, chosen = used[0], _chosen(used, ceiling)
    if chosen is hbm:
        return f"HBM alone is enough: its {_tokens(hbm.reach_tokens)} hit {_rate(hbm.token_rate)} of at most {most}; offloading adds nothing."
    limited = f"Capacity is the limit: HBM's {_tokens(hbm.reach_tokens)} hit {_rate(hbm.token_rate)}"
    reached = f"{chosen.tier} takes that to {_rate(chosen.token_rate)} of at most {most}"
    return f"{limited}, and {reached} ({units.times(chosen.work)} the prompts for the same prefill; {at_knee}); {_first(chosen)}."


def _chosen(used: Sequence[TierPlace], ceiling: CurvePoint) -> TierPlace:
    """The first tier from which on more adds little; the last, if none is."""
    enough = 1 + ENOUGH * (ceiling.work - 1)
    return next((place for place in used if place.work >= enough), used[-1])


def _first(chosen: TierPlace) -> str:
    if chosen.margin is None:
        return "give its path a bandwidth to see whether fetching from it wins"
    if chosen.verdict == "recompute":
        return (
            f"but fetching from it takes {units.times(1 / chosen.margin)} as long as recomputing, so a faster path to it "
            "comes first"
        )
    return f"fetching from it beats recomputing {units.times(chosen.margin)}, so offload to it first"


def _rate(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _tokens(tokens: int) -> str:
    return units.short(tokens, "tokens")
