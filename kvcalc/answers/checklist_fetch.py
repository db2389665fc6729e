"""Box 2: is fetching enough cheaper than recomputing, at the lengths served and by the bandwidth that is seen?"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from kvcalc import units
from kvcalc.answers import checklist_claims
from kvcalc.answers.checklist_effective import Effective, effective, path
from kvcalc.answers.checklist_ground import Ground
from kvcalc.answers.checklist_result import Effect, Figure, Reason
from kvcalc.answers.margin_parts import Contention, Traffic
from kvcalc.answers.margin_result import best

QUESTION = "Is fetching at least {least} cheaper than recomputing?"
CHECK = "queue depth, many small files or values, look-up, admission and who shares the tier"

NOISE = 0.05  # of a measured figure: less is no gain and no loss

said = partial(Reason, 2)


def reasons(ground: Ground) -> Iterator[Reason]:
    """What was measured comes before what is predicted."""
    yield from _measured(ground)
    found = effective(ground)
    reckoned = _predicted(ground) if found is None else _effective(ground, found)
    yield replace(reckoned, effect="note") if faster(ground) else reckoned
    yield from _with_engine(ground, found)
    yield from _stretches(ground)
    yield from _values(ground)
    yield from _together(ground)
    yield from _ranges(ground)
    yield from checklist_claims.reasons(ground)


def faster(ground: Ground) -> bool:
    """Was it measured that offloading is faster? No prediction stands against that."""
    options = ground.options
    own, bare = options.with_offload, options.without_offload
    return own is not None and bare is not None and own.cost < bare.cost * (1 - NOISE)


def _measured(ground: Ground) -> Iterator[Reason]:
    own, bare = ground.options.with_offload, ground.options.without_offload
    if own is None or bare is None:
        return
    both, ratio = f"{own.text} with offload and {bare.text} without", own.cost / bare.cost
    if ratio > 1 + NOISE:
        wins = path(ground).margin >= ground.options.min_margin
        why = f"; its path should win by {units.times(path(ground).margin)}, so look at {CHECK}" if wins else ""
        effect: Effect = "cheaper" if wins else "blocks"
        text = f"measured {both}: offloading makes it {units.times(ratio)} as slow"
        yield said(effect, "measured-slower", f"{text}{why}")
    elif ratio >= 1 - NOISE:
        less = "" if ratio == 1 else f" beyond {100 * NOISE:.0f} %, which runs differ by"
        yield said("blocks", "measured-no-gain", f"measured {both}: offloading changes nothing{less}")
    else:
        yield said("supports", "measured-faster", f"measured {both}: {units.times(1 / ratio)} as fast")


def _predicted(ground: Ground) -> Reason:
    found, least = path(ground), ground.options.min_margin
    at = f"{found.tier} at {units.count(ground.tokens.value)} tokens: {_sum(ground, found.fetch_s)}"
    if found.margin >= least:
        return said("supports", "fetch-wins", f"{at}, {units.times(found.margin, (1, least))} cheaper by the profile")
    return said("blocks", "fetch-does-not-win", f"{at}, {_short_of(found.margin, least)}; {_break_even(ground)}")


def _effective(ground: Ground, found: Effective) -> Reason:
    options, own = ground.options, path(ground)
    margin, least = ground.margin.recompute.seconds / found.seconds, options.min_margin
    at = f"{own.tier} at the effective {units.short(found.bytes_per_s, 'B/s')} ({found.origin})"
    text = f"{at}: {_sum(ground, found.seconds)}"
    if margin >= least:
        return said("supports", "effective-fetch-wins", f"{text}, {units.times(margin, (1, least))} cheaper")
    text = f"{text}, {_short_of(margin, least)}; {_break_even(ground)}{_under(ground, found)}"
    slower = units.count(found.bytes_per_s / ground.bytes_per_token)
    text += f", and only a prefill below {slower} tok/s would be slower than it"
    if own.margin >= least:
        medium = f"its medium, {units.short(own.bandwidth_bytes_per_s, 'B/s')}, would win by {units.times(own.margin)}"
        return said("cheaper", "software-not-medium", f"{text}; {medium}, so look at the software first: {CHECK}")
    return said("blocks", "effective-fetch-does-not-win", text)


def _under(ground: Ground, found: Effective) -> str:
    under = ground.margin.break_even_bytes_per_s / found.bytes_per_s
    return f", and the effective bandwidth is {units.times(under)} under it" if under > 1 else ""


def _sum(ground: Ground, fetch_s: float) -> str:
    size, recompute = units.both(ground.margin.kv_bytes), ground.margin.recompute.seconds
    return f"{size} are fetched in {units.short(fetch_s, 's')} and recomputed in {units.short(recompute, 's')}"


def _with_engine(ground: Ground, found: Effective | None) -> Iterator[Reason]:
    """Where nobody names the engine, its fixed costs may turn the answer."""
    own, least = path(ground), ground.options.min_margin
    if ground.usual is None or found is not None or faster(ground):
        return
    same = next(each for each in best(ground.usual.paths) if each.tier == own.tier)
    if same.margin < least <= own.margin:
        yield said(
            "unknown", "engine-decides",
            f"no engine is named; with {ground.engine}'s fixed costs {same.tier} is {units.times(same.margin)} cheaper "
            f"instead of {units.times(own.margin)}: give --engine, --metrics or --log",
        )  # fmt: skip


def _short_of(margin: float, least: float) -> str:
    if margin < 1:
        return f"fetching takes {units.times(1 / margin)} as long as recomputing"
    return f"only {units.times(margin, (1, least))} cheaper, where {units.times(least)} would pay for the complexity"


def _break_even(ground: Ground) -> str:
    return f"break-even is {units.short(ground.margin.break_even_bytes_per_s, 'B/s')}"


def _stretches(ground: Ground) -> Iterator[Reason]:
    """What came from below the host's DRAM, which the rate into HBM says nothing of."""
    for each in ground.traffics:
        loaded = each.transfer("dram", "hbm")
        for below in each.transfers:
            if below.target == "dram" and below.source != "hbm" and below.bytes and loaded and loaded.bytes:
                share, rate = min(below.bytes / loaded.bytes, 1.0), below.bytes_per_s
                one = f" at {units.short(rate, 'B/s')}{' a thread' if below.thread_seconds else ''}" if rate else ""
                hour = f", {units.short(below.bytes / each.elapsed_s, 'B/s')} all the time" if each.elapsed_s else ""
                yield said(
                    "note", "came-from-below",
                    f"{below.source} brought {100 * share:.0f} % of what was loaded{one}{hour}: the rate into HBM is "
                    "not that of the whole way",
                )  # fmt: skip


def _values(ground: Ground) -> Iterator[Reason]:
    """A store's values against the prefix."""
    size = ground.options.value_bytes
    if size:
        held, whole = size / ground.bytes_per_token, ground.margin.kv_bytes / size
        text = (
            f"a value of {units.both(size)} is {units.count(held)} tokens, so a prefix is {units.count(whole)} values"
        )
        yield said("note", "values", f"{text}: what one value gets at queue depth 1 is not what a fetch needs")


def _together(ground: Ground) -> Iterator[Reason]:
    """Fetches that begin together share the path, and ranks that hold the same bytes each load them."""
    number, traffic = ground.options.concurrency, ground.margin.traffic
    if number is None or traffic is None:
        return
    size, copies = ground.margin.kv_bytes, ground.moved_bytes
    flying = units.short(number * size, "B")
    repeated = f" ({units.short(number * copies, 'B')} where every rank loads its part)" if copies > size else ""
    text = f"{number} at once are {flying}{repeated}: "
    alone, last = effective(ground), _concurrent(ground, traffic)
    if alone is not None:
        times = [units.short(number * each / alone.bytes_per_s, "s") for each in dict.fromkeys((size, copies))]
        single = " to ".join(units.short(each / alone.bytes_per_s, "s") for each in dict.fromkeys((size, copies)))
        yield said("note", "contention", f"{text}{single} alone, {' to '.join(times)} until the last is there")
    elif last.concurrent_fetch_s is not None and traffic.concurrent_recompute_s is not None:
        took, again = last.concurrent_fetch_s, traffic.concurrent_recompute_s
        effect: Effect = "unknown" if took > again else "note"
        both = f"the last is there after {units.short(took, 's')}; recomputed after {units.short(again, 's')}"
        yield said(effect, "contention", f"{text}{both}")


def _concurrent(ground: Ground, traffic: Traffic) -> Contention:
    own = path(ground)
    return next(each for each in traffic.paths if (each.tier, each.links) == (own.tier, own.links))


def _ranges(ground: Ground) -> Iterator[Reason]:
    """A verdict that the profile's range turns, and a length below which the fixed time of a fetch costs more."""
    own = path(ground)
    if effective(ground) is None and not own.sure:
        low, high = (units.times(each) for each in (own.margin_low, own.margin_high))
        yield said("unknown", "margin-not-sure", f"{own.tier}: the margin is {low} to {high} over the profile's range")
    if ground.options.lookup_s and own.crossovers and not own.fetch_wins_short:
        first = units.count(own.crossovers[0])
        look = units.short(ground.options.lookup_s, "s")
        yield said("note", "look-up", f"with {look} of look-up a fetch, fetching wins only from {first} tokens on")


def figures(ground: Ground) -> Iterator[Figure]:
    """Both times, both margins, break-even both ways, and what was seen."""
    answer, own, found = ground.margin, path(ground), effective(ground)
    yield Figure("prefix", ground.tokens.value, "tokens", ground.tokens.origin)
    yield Figure("KV of a token", ground.bytes_per_token, "B", f"profile, {ground.kv.stored}")
    hit = [each.bytes_per_hit_token for each in ground.traffics if each.bytes_per_hit_token]
    if hit:
        yield Figure("bytes per hit token", hit[0], "B", "metrics")
    grows = answer.kv_bytes_per_token
    yield Figure("KV that one more token adds", grows, "B", "profile")
    yield Figure("fixed KV of a request", max(answer.kv_bytes - grows * answer.tokens, 0.0), "B", "profile")
    yield Figure("KV of the prefix", float(answer.kv_bytes), "B", "profile")
    if ground.moved_bytes > answer.kv_bytes:
        yield Figure("moved where every rank loads its part", float(ground.moved_bytes), "B", "profile")
    yield Figure("recompute", answer.recompute.seconds, "s", answer.recompute.basis)
    yield Figure("prefill rate", answer.recompute.tokens_per_s, "tok/s", answer.recompute.basis)
    yield Figure("break-even bandwidth", answer.break_even_bytes_per_s, "B/s", "profile")
    yield Figure(f"bandwidth of {own.tier}", own.bandwidth_bytes_per_s, "B/s", "profile")
    yield Figure("margin by the profile", own.margin, "x", "profile")
    if found:
        yield Figure("effective bandwidth", found.bytes_per_s, "B/s", found.origin)
        yield Figure("effective margin", answer.recompute.seconds / found.seconds, "x", found.origin)
        yield Figure("break-even prefill rate", found.bytes_per_s / ground.bytes_per_token, "tok/s", found.origin)
    for each in ground.traffics:
        for moved in each.transfers:
            rate = moved.bytes_per_s
            if rate is not None:
                name = f"{moved.source} to {moved.target}{', one thread' if moved.thread_seconds else ''}"
                yield Figure(name, rate, "B/s", "metrics")


def run(ground: Ground) -> Iterator[str]:
    """What would tell."""
    if effective(ground) is None:
        yield "kvcalc measure --path FOLDER, or --metrics of an engine that offloads (the effective bandwidth)"
    if ground.margin.recompute.basis in ("textbook", "estimate", "fit"):
        yield "kvcalc measure --endpoint http://HOST:8000/v1 (the prefill of the engine itself)"
