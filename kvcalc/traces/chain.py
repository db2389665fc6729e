"""Ids of content made ids of prefixes: a block is reused only after the same blocks, so its id must tell them too."""

from typing import TYPE_CHECKING, Any

from kvcalc.traces.extra import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def conflicts(blocks: "NDArray[np.int32]", starts: "NDArray[np.int64]", distinct: int) -> int:
    """References whose block follows another one than where it was first seen: none where ids are chained."""
    import numpy as np

    return int(compiled(count)(blocks, starts, np.full(distinct, -2, np.int32)))


def chained(blocks: "NDArray[np.int32]", starts: "NDArray[np.int64]") -> tuple["NDArray[np.int32]", int]:
    """Number each block with what stands before it, as engines hash it. Returns the numbers and how many there are."""
    import numpy as np

    slots = 1 << (2 * len(blocks)).bit_length()
    found = np.empty_like(blocks)
    distinct = compiled(link)(blocks, starts, np.zeros(slots, np.int64), np.zeros(slots, np.int32), found)
    return found, int(distinct)


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


def link(blocks: Any, starts: Any, keys: Any, numbers: Any, found: Any) -> int:
    """Walk each prompt down the tree of prefixes; a pair of the prefix so far and the next block is a node.

    Nodes are found as `interner.insert` finds ids; slots hold number + 1.
    """
    mask = len(keys) - 1
    distinct = 0
    for request in range(len(starts) - 1):
        prefix = 0
        for index in range(starts[request], starts[request + 1]):
            key = (prefix << 32) | blocks[index]
            slot = ((key * -7046029254386353131) >> 32) & mask
            while numbers[slot] != 0 and keys[slot] != key:
                slot = (slot + 1) & mask
            if numbers[slot] == 0:
                distinct += 1
                keys[slot] = key
                numbers[slot] = distinct
            prefix = numbers[slot]
            found[index] = prefix - 1
    return distinct
