"""What holding KV in a tier is worth: the five-minute rule, and how long flash bears the writes.

Gray and Putzolu, SIGMOD Record 16(3), 1987: keep what is used again before holding it has cost as much as getting it
again. Here getting it again is GPU time.
"""

from kvcalc import units


def break_even(saved: float, hold_per_s: float, wear_s: float = 0.0, hits: float | None = 1.0) -> float:
    """Seconds between hits for which KV may be held: money that a hit saves / money a second of holding it.

    A drive's price goes with its life or with its writes, whichever is used up sooner, so wear is not added to holding:
    it decides alone. Zero where the hits that follow a write save less than that costs; `hits` None: no more writes.
    """
    worn = hits is not None and hits * saved < wear_s * hold_per_s
    return 0.0 if worn else saved / hold_per_s


def hits_per_write(hit_rate: float | None) -> float | None:
    """Each miss writes a prefix: h/(1 - h) hits follow it; one where nothing is known, None where nothing is missed."""
    if hit_rate is None:
        return 1.0
    return hit_rate / (1 - hit_rate) if hit_rate < 1 else None


def wear(writes_per_day: float) -> float:
    """Seconds of holding that cost as much as one write.

    A drive whose price is spread over a life of so many writes of its capacity a day loses with each the price of
    1/writes_per_day days.
    """
    return units.DAY / writes_per_day


def sustained(capacity: float, writes_per_day: float) -> float:
    """Bytes a second that drives of this capacity bear for their rated life."""
    return capacity * writes_per_day / units.DAY


def written(prefix: int, whole: int, hit_rate: float) -> float:
    """Bytes that a mean request writes down: all of a miss, what the new tokens add of a hit.

    `prefix` is the size of the prefix, `whole` with the new tokens.
    """
    return (1 - hit_rate) * whole + hit_rate * max(0, whole - prefix)
