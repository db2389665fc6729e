"""How memory that is asked for grows where it is allocated: GPU blocks of 2 MiB, pinned buffers of a power of two."""

import math

# PyTorch, c10/cuda/CUDACachingAllocator.cpp, kMinLargeAlloc and kRoundLarge: requests from 10 MiB round up to 2 MiB.
LARGE_BYTES = 10 * 1024 * 1024
ROUND_BYTES = 2 * 1024 * 1024


def device(size: float) -> float:
    """Bytes that PyTorch takes of a GPU for a tensor; small ones share what is there already."""
    return math.ceil(size / ROUND_BYTES) * ROUND_BYTES if size >= LARGE_BYTES else size


def pinned(size: float) -> int:
    """Bytes of host memory that PyTorch's caching host allocator takes: the next power of two (pytorch PR 171662)."""
    return 1 << max(math.ceil(size) - 1, 0).bit_length()
