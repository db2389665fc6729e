"""How long a replay takes, from file to answer: a trace with HBM alone and with three tiers.

    python benchmarks/simulate.py                                            # Mooncake's conversation trace
    python benchmarks/simulate.py my-trace.jsonl --runs 5

New processes, one after the other; the least time counts. The first run compiles and is not counted.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

TRACE = Path(__file__).resolve().parents[1] / "tests" / "data" / "traces" / "mooncake_conversation.jsonl.gz"
MOST = 10.0  # seconds

OURS = """
import sys, time
start, cpu = time.perf_counter(), time.process_time()
from kvcalc.answers.options import Options
from kvcalc.answers.placement import Placing
from kvcalc.answers.simulate import simulate
from kvcalc.profiles import catalog
placing = Placing(catalog.model("llama3-70b"), catalog.machine("h100-pcie5"), Options(), kv_dtypes=("fp8",))
answer = simulate(sys.argv[1], placing)
blocks = answer.trace.block_references
print(time.perf_counter() - start, time.process_time() - cpu, answer.trace.requests, blocks)
"""


def run(trace: Path) -> tuple[float, float, int, int]:
    """Seconds by the clock and of the processor, requests, blocks."""
    done = subprocess.run([sys.executable, "-c", OURS, str(trace)], check=True, capture_output=True, text=True)
    wall, cpu, requests, blocks = done.stdout.split()
    return float(wall), float(cpu), int(requests), int(blocks)


def main() -> None:
    """Measure and say whether it is quick enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("trace", nargs="?", type=Path, default=TRACE)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    run(asked.trace)
    runs = [run(asked.trace) for _ in range(asked.runs)]
    wall, cpu, requests, blocks = min(runs)
    load = f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"{requests:,} requests, {blocks:,} blocks, twice: {wall:.1f} s ({cpu:.1f} s of the processor; {load})")
    if wall > MOST:
        print(f"that is more than {MOST:g} s")


if __name__ == "__main__":
    main()
