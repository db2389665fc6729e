"""What a hit-rate curve or the tiers on it recommend, in one sentence."""

from collections.abc import Iterator, Sequence

from kvcalc import units
from kvcalc.answers.curve_result import CurvePoint, TierPlace

ENOUGH = 0.95  # of what the ceiling saves
LITTLE = 1.05  # a ceiling of 1/(1-h) below which no cache is worth much
ADDS = 0.01  # of the tokens: what a tier adds less than isn't worth naming


def recommendation(places: Sequence[TierPlace], knee: CurvePoint, ceiling: CurvePoint) -> str:
    """Whether capacity is the limit, where the knee is, whether fetching wins there, and what to do first."""
    most = f"{percent(ceiling.token_rate)} of any cache"
    if ceiling.work < LITTLE:
        return f"No cache helps much: at most {percent(ceiling.token_rate)} of the prompt tokens were seen before."
    if not places:
        return (
            f"The knee is at {tokens_of(knee.capacity_tokens)}, which hit {percent(knee.token_rate)} of at most {most}."
        )
    used = [place for place in places if place.kv_dtype == places[0].kv_dtype]
    hbm = used[0]
    holds = f"HBM's {tokens_of(hbm.reach_tokens)} hit {percent(hbm.token_rate)}"
    if hbm.work >= 1 + ENOUGH * (ceiling.work - 1):
        return f"Capacity is not the limit: {holds} of at most {most}, so offloading adds nothing."
    return f"Capacity is the limit: {holds} of at most {most}; {'; '.join(_tiers(used[1:], knee, ceiling))}."


def _tiers(lower: Sequence[TierPlace], knee: CurvePoint, ceiling: CurvePoint) -> Iterator[str]:
    """The first tier that is fetched from faster than it is recomputed, then what the others would add."""
    wins = [place for place in lower if place.verdict != "recompute" and place.added_rate >= ADDS]
    slow = [place for place in lower if place.verdict == "recompute" and place.added_rate >= ADDS]
    for number, place in enumerate(wins):
        faster = f", and fetching from it beats recomputing {units.times(place.margin)}" if place.margin else ""
        first = "offload to it first" if number == 0 else "then to it"
        yield f"{place.tier} takes that to {percent(place.token_rate)}{faster}: {first}"
    for place in slow:
        late = (
            f", but fetching from it takes {units.times(1 / place.margin)} as long as recomputing"
            if place.margin
            else ""
        )
        yield f"{place.tier} would add {100 * place.added_rate:.1f} points{late}"
    reached = lower[-1].reach_tokens if lower else 0
    if not (wins or slow) or reached < knee.capacity_tokens:
        yield f"the knee is at {tokens_of(knee.capacity_tokens)}, which would hit {percent(knee.token_rate)}"
    elif wins and wins[-1].work >= 1 + ENOUGH * (ceiling.work - 1):
        yield "more adds nothing"


def percent(rate: float) -> str:
    """A share in percent."""
    return f"{100 * rate:.1f} %"


def tokens_of(tokens: int) -> str:
    """A count of tokens."""
    return f"{units.short(tokens, '').strip()} tokens"
