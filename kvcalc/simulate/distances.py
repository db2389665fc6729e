"""How deep in a least-recently-used stack each block is found: one pass gives the hits of every capacity.

A request is looked up whole before any of its blocks is touched, and hits as far as its leading blocks are resident
(prefix matching). A block is a hit in a cache of c blocks if its own depth and those of all blocks before it are at
most c (Mattson et al., 1970). Blocks lie at the positions of their last touches; the depth of one is the count of last
touches from its own on. Counts are kept for groups of 64 positions, 64 groups and so on, so that one is found and
changed in O(log n). Blocks that were touched side by side lie side by side, and the next depth is one more or less.
"""

from typing import TYPE_CHECKING, Any

from kvcalc.traces.extra import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvcalc.traces.trace import Trace


def distances(trace: "Trace", tail_first: bool = True) -> "NDArray[np.int32]":
    """For each reference the least capacity in blocks at which it hits; 0 where none does.

    `tail_first`: a request touches its last block first, so that its head is the most recent and leaves are evicted
    first, as engines do; else its first block first.
    """
    import numpy as np

    references = len(trace.blocks)
    offsets, groups = [0], -(-references // 64)
    while groups > 64:
        offsets.append(offsets[-1] + (groups | 63) + 1)
        groups = -(-groups // 64)
    counts = np.zeros(offsets[-1] + 64, np.int32)
    last = np.full(trace.distinct, -1, np.int64)
    live = np.zeros((references | 63) + 1, np.uint8)
    found = np.zeros(references, np.int32)
    compiled(walk)(trace.blocks, trace.starts, trace.order, tail_first, (last, live, counts, np.array(offsets)), found)
    return found


def walk(blocks: Any, starts: Any, order: Any, tail_first: bool, state: Any, found: Any) -> None:
    """Look up and touch the requests in their order."""
    last, live, counts, offsets = state
    position = 0
    for request in order:
        begin, end = starts[request], starts[request + 1]
        deepest, distance, previous = 0, 0, -2
        for index in range(begin, end):
            place = last[blocks[index]]
            if place < 0:
                break
            if place == previous - 1:
                distance += 1
            elif place == previous + 1:
                distance -= 1
            else:
                distance = 0
                for each in range(place, (place | 63) + 1):
                    distance += live[each]
                group = place >> 6
                for offset in offsets:
                    for each in range(offset + group + 1, offset + (group | 63) + 1):
                        distance += counts[each]
                    group >>= 6
            previous = place
            deepest = max(deepest, distance)
            found[index] = deepest
        for step in range(end - begin):
            block = blocks[end - 1 - step] if tail_first else blocks[begin + step]
            for place, change in ((last[block], -1), (position, 1)):
                if place >= 0:
                    live[place] += change
                    group = place >> 6
                    for offset in offsets:
                        counts[offset + group] += change
                        group >>= 6
            last[block] = position
            position += 1
