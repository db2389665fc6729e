"""Block ids of any width, or text, as numbers from 0 on."""

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from kvcalc.errors import UserError
from kvcalc.traces.extra import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 2**31 - 1  # numbers are 32 bits wide
SMALLEST = 1024  # slots of a new table


class Interner:
    """Numbers for ids. After `fresh` equal ids are other blocks: sessions that count from 1 each."""

    def __init__(self) -> None:
        self.count = 0
        self.fresh()

    def fresh(self) -> None:
        """Begin a new namespace."""
        self._rare: dict[int | str, int] = {}  # text, and whole numbers outside 0 to 2^64
        self._table(SMALLEST)

    def _table(self, slots: int) -> None:
        import numpy as np

        self._keys, self._numbers = np.zeros(slots, np.int64), np.zeros(slots, np.int32)
        self._held = 0

    def numbers(self, keys: "NDArray[np.int64]") -> "NDArray[np.int32]":
        """The numbers of ids below 2^64, given as their 64 bits."""
        import numpy as np

        found = np.empty(len(keys), np.int32)
        done = 0
        while done < len(keys):
            if 2 * self._held >= len(self._keys):
                self._grow()
            room = len(self._keys) // 2 - self._held
            start = done
            done, added = compiled(insert)(keys, start, self._keys, self._numbers, self.count, room, found)
            self._held += added
            self.count += added
        if self.count > MOST:
            raise UserError("more than 2^31 distinct blocks; use --sample 10%")
        return found

    def _grow(self) -> None:
        import numpy as np

        held = np.flatnonzero(self._numbers)
        keys, numbers = self._keys[held], self._numbers[held]
        self._table(4 * len(self._keys))
        compiled(move)(keys, numbers, self._keys, self._numbers)
        self._held = len(held)

    def mixed(self, ids: Sequence[int | str]) -> "NDArray[np.int32]":
        """The numbers of ids of any kind."""
        import numpy as np

        narrow = np.array([isinstance(each, int) and 0 <= each < 2**64 for each in ids], bool)
        found = np.empty(len(ids), np.int32)
        found[narrow] = self.numbers(np.array(list(compress(ids, narrow)), np.uint64).view(np.int64))
        found[~narrow] = [self._number(each) for each in compress(ids, ~narrow)]
        return found

    def _number(self, each: int | str) -> int:
        if each not in self._rare:
            self._rare[each] = self.count
            self.count += 1
        return self._rare[each]


def insert(keys: Any, start: int, held: Any, numbers: Any, count: int, room: int, found: Any) -> tuple[int, int]:
    """Look keys up by linear probing from `start` on, adding those that are new while there is room.

    Slots hold number + 1, so that zeros are empty. The multiplier is 2^64 / golden ratio (Knuth, 6.4). Returns where it
    stopped and how many were added.
    """
    mask = len(held) - 1
    added = 0
    for index in range(start, len(keys)):
        key = keys[index]
        slot = ((key * -7046029254386353131) >> 32) & mask
        while numbers[slot] != 0 and held[slot] != key:
            slot = (slot + 1) & mask
        if numbers[slot] == 0:
            if added == room:
                return index, added
            held[slot] = key
            numbers[slot] = count + added + 1
            added += 1
        found[index] = numbers[slot] - 1
    return len(keys), added


def move(keys: Any, values: Any, held: Any, numbers: Any) -> None:
    """Put known keys into a larger table."""
    mask = len(held) - 1
    for index in range(len(keys)):
        slot = ((keys[index] * -7046029254386353131) >> 32) & mask
        while numbers[slot] != 0:
            slot = (slot + 1) & mask
        held[slot] = keys[index]
        numbers[slot] = values[index]
