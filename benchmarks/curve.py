"""How long a hit-rate curve takes, from file to answer, against kvcache-simulator at five capacities.

    python benchmarks/curve.py --peer /path/to/its/environment/bin/python    # 4 million references, Mooncake JSONL
    python benchmarks/curve.py --weka 94000000                               # a folder of sessions, time and memory

The peer has an environment of its own, with `pip install kvcache-simulator==0.1.3` and a C++ compiler. Both run in new
processes, in turn, three times each; the least time counts. Ours answers for every capacity.
"""

import argparse
import heapq
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

CAPACITIES = (1_000, 10_000, 50_000, 200_000, 500_000)

OURS = """
import resource, sys, time
start = time.perf_counter()
from kvcalc.simulate.curve import curve
from kvcalc.traces.read import read
trace = read(sys.argv[1])
read_s = time.perf_counter() - start
found = curve(trace)
rates = [found.at(int(blocks)).token_rate for blocks in sys.argv[2].split(",")]
whole_s = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(f"{whole_s:.3f} {read_s:.3f} {peak:.2f} {trace.references} {trace.distinct} {[round(each, 4) for each in rates]}")
"""

PEER = """
import sys, time
start = time.perf_counter()
from kvcache_sim.cpp_backend import run_cpp_sweep
from kvcache_sim.trace import parse_trace_file
trace = parse_trace_file(sys.argv[1], block_size=512)
read_s = time.perf_counter() - start
sizes = [int(blocks) for blocks in sys.argv[2].split(",")]
run_cpp_sweep(trace, capacities=sizes, policies=["lru"], warmup_requests=trace.request_count // 2)
print(f"{time.perf_counter() - start:.3f} {read_s:.3f}")
"""


def mooncake(path: Path, references: int) -> None:
    """Sessions of several turns, each prompt the one before and a few blocks more, interleaved by time."""
    chance, made, block, session = random.Random(1), 0, 0, 0
    turns: list[tuple[float, int, list[int], int]] = []
    with path.open("w") as stream:
        while made < references:
            while len(turns) < 2_000:
                session += 1
                heapq.heappush(turns, (chance.expovariate(1 / 600) + session / 5, session, [], chance.randint(1, 12)))
            at, number, blocks, left = heapq.heappop(turns)
            more = 1 + int(chance.expovariate(1 / 7))
            blocks = [*blocks, *range(block, block + more)]
            block += more
            made += len(blocks)
            length = 512 * len(blocks) - chance.randint(0, 511)
            row = {"timestamp": int(1e3 * at), "input_length": length, "output_length": 300, "hash_ids": blocks}
            stream.write(json.dumps(row) + "\n")
            if left > 1:
                heapq.heappush(turns, (at + chance.expovariate(1 / 60), number, blocks, left - 1))


def weka(folder: Path, references: int) -> None:
    """Sessions whose prompts grow by a few blocks a request, some of which go back to an earlier prompt."""
    chance, made, number = random.Random(1), 0, 0
    while made < references:
        number += 1
        ids, latest, at = list(range(1, 300)), 299, 0.0
        requests = []
        for _ in range(chance.randint(20, 140)):
            if chance.random() < 0.02:
                ids = ids[: chance.randint(200, len(ids))]
            more = chance.randint(1, 50)
            ids = [*ids, *range(latest + 1, latest + 1 + more)]
            latest += more
            at += chance.expovariate(1 / 60)
            tokens = 64 * len(ids) + chance.randint(0, 63)
            requests.append({"t": at, "type": "n", "in": tokens, "out": 400, "hash_ids": ids})
            made += len(ids)
        session = {"id": str(number), "block_size": 64, "hash_id_scope": "local", "requests": requests}
        (folder / f"trace_{number:06}.json").write_text(json.dumps(session))


def run(python: str, program: str, trace: Path) -> list[str]:
    """What one run prints, in words; its times come first."""
    sizes = ",".join(map(str, CAPACITIES))
    done = subprocess.run([python, "-c", program, str(trace), sizes], check=True, capture_output=True, text=True)
    return done.stdout.split(" ", 5)


def compare(trace: Path, peer: str | None) -> None:
    """Print times of both and their ratio."""
    run(sys.executable, OURS, trace)  # the first run compiles
    runs = [(run(sys.executable, OURS, trace), run(peer, PEER, trace) if peer else None) for _ in range(3)]
    ours = min((mine for mine, _ in runs), key=lambda each: float(each[0]))
    print(f"kvcalc, every capacity: {ours[0]} s ({ours[1]} s of it reading), {ours[3]} references, {ours[2]} GB")
    if peer:
        theirs = min((other for _, other in runs if other), key=lambda each: float(each[0]))
        whole, core = float(theirs[0]), float(theirs[0]) - float(theirs[1])
        print(f"kvcache-simulator, five capacities: {whole:.2f} s ({core:.2f} s of it the C++ core and its files)")
        print(f"{whole / float(ours[0]):.1f}x from file to answer; {core / float(ours[0]):.1f}x against the core alone")


def main() -> None:
    """Generate a trace, then measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", type=int, default=4_000_000)
    parser.add_argument("--peer", help="Python of the environment that has kvcache-simulator")
    parser.add_argument("--weka", type=int, help="References of a generated folder of sessions, measured instead")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.weka:
            weka(Path(folder), asked.weka)
            ours = run(sys.executable, OURS, Path(folder))
            print(f"kvcalc: {ours[0]} s ({ours[1]} s of it reading), {ours[3]} references, {ours[2]} GB")
        else:
            trace = Path(folder) / "trace.jsonl"
            mooncake(trace, asked.references)
            compare(trace, asked.peer)


if __name__ == "__main__":
    main()
