"""Do ids stand for blocks with everything before them, or for content alone?"""

from typing import TYPE_CHECKING, Any

from kvcalc.traces.extra import compiled

if TYPE_CHECKING:
    from kvcalc.traces.trace import Trace


def conflicts(trace: "Trace") -> int:
    """References whose block follows another one than where it was first seen: none where ids are chained.

    A sample has gaps and gives none.
    """
    import numpy as np

    if trace.places is not None:
        return 0
    return int(compiled(count)(trace.blocks, trace.starts, np.full(trace.distinct, -2, np.int32)))


def count(blocks: Any, starts: Any, before: Any) -> int:
    """Note what comes before each block where it is first seen, and count what differs later; -1 is a prompt's head."""
    found = 0
    for request in range(len(starts) - 1):
        previous = -1
        for index in range(starts[request], starts[request + 1]):
            block = blocks[index]
            if before[block] == -2:
                before[block] = previous
            elif before[block] != previous:
                found += 1
            previous = block
    return found
