"""How many points a second `sweep` works out, on one core, and writes as CSV.

    python benchmarks/sweep.py [--points 1000000]

A grid of lengths and bandwidths, one of lengths alone, and one of splits, formats and links: each as arrays with numpy.
"""

import argparse
import os
import time

from kvcalc.answers.axes import Axes
from kvcalc.answers.options import Options
from kvcalc.answers.sweep import sweep
from kvcalc.render import csv
from kvcalc.tables import sweep as tables

LONGEST = 1_000_000


def spread(count: int) -> tuple[int, ...]:
    """So many lengths up to the longest."""
    return tuple(max(1, LONGEST * (place + 1) // count) for place in range(count))


def grids(points: int) -> dict[str, Axes]:
    """Grids of about so many points for one path."""
    side, node = round(points**0.5), ("h100-pcie5",)
    rates = tuple(1e9 * 1.007**place for place in range(side))
    return {
        "length x bandwidth": Axes(
            ("llama3-70b",), node, spread(side), links=(1,), bandwidth=rates, bandwidth_tier="dram"
        ),
        "length": Axes(("deepseek-v3.2",), node, spread(points), links=(1,)),
        "length x TP x format x links": Axes(
            ("llama3-70b",), node, spread(points // 16), (2, 4, 8, 1), ("bf16", "fp8"), links=(1, "all")
        ),
    }


def main() -> None:
    """Print a line for each grid."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    points = parser.parse_args().points
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name, axes in grids(points).items():
        start = time.process_time()
        result = sweep(axes, Options(tiers=("dram",)))
        answered = time.process_time()
        csv.render(tables.page(result))
        written = time.process_time()
        count = len(result.points)
        alone, both = count / (answered - start), count / (written - start)
        print(f"{name}: {count:,} points, {alone:,.0f} points/s, {both:,.0f} with CSV")


if __name__ == "__main__":
    main()
