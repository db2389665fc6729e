"""Rows gathered into columns as they are read, block ids numbered, so that no row outlives its batch."""

from array import array
from itertools import chain, compress
from typing import TYPE_CHECKING

from kvcalc.traces import sampling
from kvcalc.traces.interner import Interner
from kvcalc.traces.row import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 2**14  # references, or requests, gathered before they become columns
Times = tuple[float | None, ...]
Counts = tuple[int, ...]
Names = tuple[int | str | None, ...]


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
        self._rows: list[Row] = []
        self._held = 0  # blocks in them

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
        self._rows.append(made)
        self._held += len(made.blocks)
        if self._held >= BATCH or len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Number the blocks gathered so far."""
        import numpy as np

        if not self._rows:
            return
        arrival, inputs, outputs, blocks, sessions, block_tokens = zip(*self._rows, strict=True)
        self._columns(arrival, inputs, outputs, sessions)
        plain = all(type(each) is array for each in blocks)
        keys = np.frombuffer(b"".join(blocks), np.int64) if plain else None
        ids = [] if plain else list(chain.from_iterable(blocks))
        counts = np.array(list(map(len, blocks)), np.int64)
        tokens = np.array([each for given in block_tokens if given for each in given], np.int32)
        self.lengths.extend(counts.tolist())
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

    def _columns(self, arrival: Times, inputs: Counts, outputs: Counts, sessions: Names) -> None:
        self.timed += len(arrival) - arrival.count(None)
        self.arrival.extend(each or 0.0 for each in arrival)
        self.input.extend(inputs)
        self.output.extend(outputs)
        names = self._names
        self.session.extend(-1 if each is None else names.setdefault(each, len(names)) for each in sessions)

    def _thin(self, counts: "NDArray[np.int64]", chosen: "NDArray[np.bool_]") -> "NDArray[np.int64]":
        """Note the places of the chosen blocks. Returns how many each request has."""
        import numpy as np

        owners = np.repeat(np.arange(len(counts)), counts)
        places = np.arange(len(chosen)) - (np.cumsum(counts) - counts)[owners]
        self.places.append(places[chosen].astype(np.int32))
        return np.bincount(owners[chosen], minlength=len(counts))
