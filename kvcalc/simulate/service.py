"""What a replica is: how long it computes, how much each tier holds, how its links carry, and by which rules."""

from collections.abc import Callable

from kvcalc.frozen import frozen
from kvcalc.tiered.movers import Link

Prefill = Callable[[int, int], float]  # seconds for so many new tokens after so many cached ones


@frozen
class Tier:
    """A tier below HBM."""

    name: str
    medium: str
    blocks: int
    read: Link  # to the GPUs
    write: Link  # from the tier above


@frozen
class Service:
    """One replica. Sizes are in blocks of `block_bytes`."""

    prefill: Prefill
    block_bytes: float
    hbm_blocks: int
    staging_blocks: int = 0  # that each tier has besides, for blocks on their way in or out
    tiers: tuple[Tier, ...] = ()


@frozen
class Rules:
    """How blocks are kept and fetched."""

    policy: str = "lru"  # see tiered.orders
    admission: str = "always"  # see tiered.admission
    inclusive: bool = False
    prefetch: bool = True  # when a request arrives; else when its turn has come, and the GPU waits
    least_margin: float = 0.0  # recompute time / fetch time above which blocks are fetched; 0: always
