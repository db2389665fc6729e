"""Rows gathered into columns as they are read, block ids numbered, so that no row outlives its batch."""

from array import array
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

from kvcalc.traces import sampling
from kvcalc.traces.interner import Interner
from kvcalc.traces.row import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 2**18  # references numbered at once


class Builder:
    """Columns in the making. With a `rate` below 1 that share of the distinct blocks is kept, and all requests."""

    def __init__(self, rate: float = 1.0) -> None:
        self.arrival, self.input = array("d"), array("i")
        self.output, self.session = array("i"), array("i")
        self.lengths = array("i")  # blocks of each request, kept or not
        self.timed = 0  # rows that have a time
        self.kept: list[NDArray[np.int32]] = []
        self.kept_lengths: list[NDArray[np.int64]] = []
        self.places: list[NDArray[np.int32]] = []  # in its request, of each block of a sample
        self.tokens: list[NDArray[np.int32]] = []  # of each kept block, where rows give them
        self.rate = rate
        self._interner = Interner()
        self._names: dict[int | str, int] = {}
        self._namespace = 0
        self._clear()

    def _clear(self) -> None:
        self._ids: list[int | str] = []
        self._counts: list[int] = []
        self._block_tokens: list[int] = []
        self._plain = True

    @property
    def distinct(self) -> int:
        """Distinct blocks that were kept."""
        return self._interner.count

    @property
    def sessions(self) -> int:
        """Distinct sessions."""
        return len(self._names)

    def fresh(self) -> None:
        """From here on equal ids are other blocks."""
        self.flush()
        self._namespace += 1
        self._interner.fresh()

    def add(self, made: Row) -> None:
        """Take a row."""
        arrival, tokens, output, blocks, plain, session, block_tokens = made
        self._plain = self._plain and plain
        self.timed += arrival is not None
        self.arrival.append(arrival or 0.0)
        self.input.append(tokens)
        self.output.append(output)
        self.session.append(-1 if session is None else self._names.setdefault(session, len(self._names)))
        self.lengths.append(len(blocks))
        self._counts.append(len(blocks))
        self._ids += blocks
        if block_tokens is not None:
            self._block_tokens += block_tokens
        if len(self._ids) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Number the blocks gathered so far."""
        import numpy as np

        ids, keys = self._ids, _keys(self._ids) if self._plain else None
        counts, tokens = np.array(self._counts, np.int64), np.array(self._block_tokens, np.int32)
        if self.rate < 1:
            hashed = sampling.text_keys(ids) if keys is None else keys
            chosen = sampling.chosen(hashed, self._namespace, self.rate)
            keys = keys if keys is None else keys[chosen]
            ids, tokens = list(compress(ids, chosen)), tokens[chosen] if len(tokens) else tokens
            counts = self._thin(counts, chosen)
        self.kept.append(self._interner.mixed(ids) if keys is None else self._interner.numbers(keys))
        self.kept_lengths.append(counts)
        self.tokens.append(tokens)
        self._clear()

    def _thin(self, counts: "NDArray[np.int64]", chosen: "NDArray[np.bool_]") -> "NDArray[np.int64]":
        """Note the places of the chosen blocks. Returns how many each request has."""
        import numpy as np

        owners = np.repeat(np.arange(len(counts)), counts)
        places = np.arange(len(chosen)) - (np.cumsum(counts) - counts)[owners]
        self.places.append(places[chosen].astype(np.int32))
        return np.bincount(owners[chosen], minlength=len(counts))


def _keys(ids: Sequence[int | str]) -> "NDArray[np.int64] | None":
    """The 64 bits of whole numbers, if all fit."""
    import numpy as np

    try:
        return np.array(ids, np.uint64).view(np.int64)
    except OverflowError:
        return None
