"""The path that is asked about, and the bandwidth that a fetch really gets: given, timed, or seen in the metrics."""

from kvcalc.answers.checklist_ground import Ground, tier
from kvcalc.answers.margin_result import PathAnswer, best
from kvcalc.frozen import frozen


@frozen
class Effective:
    """What a fetch really gets."""

    bytes_per_s: float
    origin: str
    seconds: float  # for a prefix of the length asked about


def path(ground: Ground) -> PathAnswer:
    """The best path of the tier that is asked about, by the profile."""
    word, found = tier(ground.options), best(ground.margin.paths)
    named = (each for each in found if word == each.tier)
    return next(named, None) or next(each for each in found if word == each.medium or each.tier.startswith(word))


def effective(ground: Ground) -> Effective | None:
    """Given, timed, or seen in the metrics; latency beside it where a look-up time is given."""
    options, size = ground.options, ground.margin.kv_bytes
    if options.fetch_s:
        rate = (options.fetched or size) / options.fetch_s
        return Effective(rate, "given, a timed fetch", size / rate)
    wait = options.lookup_s or 0.0
    if options.bandwidth:
        return Effective(options.bandwidth, "given", wait + size / options.bandwidth)
    loaded = seen(ground)
    if loaded is not None and path(ground).medium == "dram":
        return Effective(loaded, "metrics", wait + size / loaded)
    return None


def seen(ground: Ground) -> float | None:
    """The slowest of the rates at which engines loaded KV into HBM."""
    found = [each.transfer("dram", "hbm") for each in ground.traffics]
    return min((each.bytes_per_s for each in found if each and each.bytes_per_s), default=None)
