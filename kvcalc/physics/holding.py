"""What holding KV in a tier is worth: the five-minute rule, and how long flash bears the writes.

Gray and Putzolu, SIGMOD Record 16(3), 1987: keep what is used again before holding it has cost as much as getting it
again. Here getting it again is GPU time.
"""

from kvcalc import units


def break_even(saved: float, hold_per_s: float, wear_s: float = 0.0) -> float:
    """Seconds for which KV may be held: money that a hit saves / money a second of holding it, less the wear."""
    return saved / hold_per_s - wear_s


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
