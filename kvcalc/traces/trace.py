"""A whole trace in columns: a few bytes a block, however the file wrote it."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.traces.request import Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@frozen
class Trace:
    """Columns in the order of the file; `order` sorts them by arrival, ties as in the file.

    Request r has the blocks `blocks[starts[r]:starts[r + 1]]`, head first, numbered from 0 to `distinct` - 1. Of a
    sample (`rate` below 1) only some blocks are kept; `lengths` and `input_tokens` are whole in any case.
    """

    format: str
    time_unit: str
    block_size: int  # tokens; the longest where they differ
    arrival_s: "NDArray[np.float64]"
    input_tokens: "NDArray[np.int32]"
    output_tokens: "NDArray[np.int32]"
    session: "NDArray[np.int32]"  # -1: none
    lengths: "NDArray[np.int32]"  # blocks of each request
    starts: "NDArray[np.int64]"
    blocks: "NDArray[np.int32]"
    places: "NDArray[np.int32] | None"  # of kept blocks in their requests; None: all are kept
    block_tokens: "NDArray[np.int32] | None"  # of kept blocks, where they differ
    order: "NDArray[np.int64]"
    distinct: int
    sessions: int
    rate: float
    notes: tuple[str, ...]  # what looks wrong
    doubt: str = ""  # the one of them that no answer should be read without

    @property
    def references(self) -> int:
        """Blocks of all requests together."""
        return int(self.lengths.sum())

    @cached_property
    def tokens_per_block(self) -> float:
        """What a block of the cache holds: the block size, or the mean of the distinct blocks."""
        import numpy as np

        if self.block_tokens is None or not self.distinct:
            return float(self.block_size)
        sizes = np.zeros(self.distinct, np.int32)
        sizes[self.blocks] = self.block_tokens
        return float(sizes.mean())

    def requests(self) -> Iterator[Request]:
        """The requests in the order of their arrival. Raises UserError for a sample, which has no whole requests."""
        if self.places is not None:
            raise UserError("a sample of a trace has no whole requests; read it without --sample")
        for number in self.order:
            session = int(self.session[number])
            yield Request(
                float(self.arrival_s[number]),
                int(self.input_tokens[number]),
                int(self.output_tokens[number]),
                self.blocks[self.starts[number] : self.starts[number + 1]],
                None if session < 0 else session,
            )
