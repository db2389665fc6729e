"""Does the block manager's work for a block grow with its pools? Twenty times the blocks, as many requests.

    python benchmarks/tiered.py

Processor time of 500 requests of 20 blocks over 1,000 and over 20,000 blocks in HBM, as a ratio.
"""

from time import process_time

from kvcalc.tiered.blocks import Lease
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.movers import Link, TimedMover
from kvcalc.tiered.orders import LeastRecentlyUsed
from kvcalc.tiered.pools import Pool

MOST = 5.0  # caches of the processor are allowed for; work that grew with the pool would show as twenty


def seconds(blocks: int, inclusive: bool) -> float:
    """Processor time of the requests, once the pools are full."""
    at_once = Link(bytes_per_s=float("inf"))
    mover = TimedMover(1.0, {(0, 1): at_once, (1, 0): at_once}, lambda: 0.0)
    pools = [Pool(blocks, LeastRecentlyUsed()), Pool(2 * blocks, LeastRecentlyUsed(), blocks)]
    manager = BlockManager(pools, mover, inclusive=inclusive)
    requests = [range(20 * number, 20 * number + 20) for number in range(3 * blocks // 20)]
    for request in requests:
        _finish(manager, manager.acquire(request))
    began = process_time()
    for request in (requests * 50)[:500]:
        _finish(manager, manager.acquire(request))
    return process_time() - began


def _finish(manager: BlockManager, lease: Lease | None) -> None:
    assert lease is not None
    manager.publish(lease)
    manager.release(lease)


def main() -> None:
    """Print the ratios."""
    for inclusive in (False, True):
        ratio = seconds(20_000, inclusive) / seconds(1_000, inclusive)
        kind = "inclusive" if inclusive else "exclusive"
        print(f"{kind}: {ratio:.2f}x the work for twenty times the blocks (at most {MOST}x)")


if __name__ == "__main__":
    main()
