"""One request of a trace."""

from typing import TYPE_CHECKING

from kvcalc.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@frozen
class Request:
    """What a cache and a scheduler see of a request. Equal numbers in `blocks` are equal blocks, across the trace."""

    arrival_s: float
    input_tokens: int
    output_tokens: int  # 0 where the trace doesn't say
    blocks: "NDArray[np.int32]"  # of the prompt, head first; numbered from 0
    session: int | None  # numbered from 0
