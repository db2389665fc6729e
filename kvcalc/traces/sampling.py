"""Spatial sampling: the same few blocks wherever they appear (SHARDS, Waldspurger et al., FAST 2015)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def chosen(keys: "NDArray[np.int64]", namespace: int, rate: float) -> "NDArray[np.bool_]":
    """Which ids are in the sample: those whose hash falls in the lowest `rate` of all hashes."""
    import numpy as np

    return _mixed(keys.view(np.uint64) + _mixed(np.array([namespace], np.uint64))) < np.uint64(rate * 2**64)


def text_keys(ids: Sequence[int | str]) -> "NDArray[np.int64]":
    """64 bits for ids of any kind, the same in every run."""
    from hashlib import blake2b

    import numpy as np

    digests = b"".join(blake2b(str(each).encode(), digest_size=8).digest() for each in ids)
    return np.frombuffer(digests, np.int64)


def _mixed(keys: "NDArray[np.uint64]") -> "NDArray[np.uint64]":
    """Every bit of the input moves every bit of the output (SplitMix64, Steele et al., 2014)."""
    import numpy as np

    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
