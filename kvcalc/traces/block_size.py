"""Tokens of a block: as asked for, as the file states it, or the format's usual one, held against prompt lengths."""

from typing import TYPE_CHECKING

from kvcalc.errors import UserError
from kvcalc.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KNOWN = tuple(2**power for power in range(13))  # 1 to 4,096 tokens
MOST = 0.9  # of the prompts must fit


@frozen
class BlockSize:
    """Tokens of a block, how many prompts fit, and what is odd about it."""

    tokens: int
    fitting: float  # share of prompts whose count of blocks is their length over the block size, rounded up or down
    notes: tuple[str, ...]
    doubt: str = ""  # why whatever counts tokens may be wrong: another size fits


def block_size(
    inputs: "NDArray[np.int32]", lengths: "NDArray[np.int32]", usual: int, stated: int | None, asked: int | None
) -> BlockSize:
    """Choose it. Raises UserError where nothing says it and nothing fits."""
    used = asked or stated or usual
    share = fitting(inputs, lengths, used)
    if share >= MOST or not len(inputs):
        return BlockSize(used, share, ())
    best = max(KNOWN, key=lambda size: fitting(inputs, lengths, size))
    likely = fitting(inputs, lengths, best) >= MOST
    odd = f"blocks of {used} tokens fit {100 * share:.0f} % of the prompts"
    if asked or stated:
        hint = f"; blocks of {best} would fit {100 * fitting(inputs, lengths, best):.0f} %" if likely else ""
        return BlockSize(used, share, (odd + hint,), odd + hint if likely else "")
    if likely:
        found = fitting(inputs, lengths, best)
        return BlockSize(best, found, (f"{odd}, so blocks of {best} were read; --block-size {used} overrides",))
    raise UserError(f"ids and prompt lengths fit no block size ({odd}); give it with --block-size")


def fitting(inputs: "NDArray[np.int32]", lengths: "NDArray[np.int32]", size: int) -> float:
    """The share of prompts that fit: Mooncake rounds up, WEKA down."""
    import numpy as np

    down = inputs // size
    return float(np.mean((lengths == down) | (lengths == down + (inputs % size > 0)))) if len(inputs) else 1.0
