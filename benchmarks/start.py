"""How long a command takes from start to end, as a ratio to importing the libraries that it is made of.

    python benchmarks/start.py [--runs 20]

Runs the two in turn and prints the median of the ratios, pair by pair: a ratio holds when the machine's speed drifts.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

IMPORTS = [sys.executable, "-c", "import typer, rich.table, pydantic, yaml"]
COMMANDS = {
    "margin": (["margin", "--model", "llama3-70b", "--seq", "20000"], 1.5),
    "margin --hardware all": (["margin", "--model", "llama3-70b", "--seq", "20000", "--hardware", "all"], 2.0),
}


def seconds(command: list[str]) -> float:
    """Wall time of a command, its output read and thrown away."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    program = str(Path(sys.executable).with_name("kvcalc"))
    for name, (arguments, most) in COMMANDS.items():
        command = [program, *arguments]
        seconds(command), seconds(IMPORTS)  # the first run validates and remembers the profiles
        pairs = [(seconds(command), seconds(IMPORTS)) for _ in range(runs)]
        ratio = statistics.median(mine / libraries for mine, libraries in pairs)
        mine, libraries = (1e3 * statistics.median(times) for times in zip(*pairs, strict=True))
        print(
            f"{name}: {ratio:.2f}x of importing the libraries (at most {most}x; {mine:.0f} ms against {libraries:.0f})"
        )


if __name__ == "__main__":
    main()
