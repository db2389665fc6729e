"""The same loads by fio, through its JSON."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kvcalc.errors import UserError
from kvcalc.measure.direct import Load, Rate
from kvcalc.measure.samples import Budget

LEAST_S = 0.1  # below it fio may move nothing


def installed() -> bool:
    """Is there a fio?"""
    return shutil.which("fio") is not None


@contextmanager
def scratch(folder: Path, size: int) -> Iterator[Path]:
    """A file that fio fills on its first run, in a folder that is removed with it."""
    try:
        with TemporaryDirectory(prefix=".kvcalc-", dir=folder) as inside:
            path = Path(inside) / "blocks"
            _fio(path, size, ["--rw=write", "--bs=16m"])
            yield path
    except OSError as error:
        raise UserError(
            f"{str(folder)!r} can't be written: {(error.strerror or '').lower()}; name another --path"
        ) from error


def run(path: Path, size: int, load: Load, budget: Budget) -> Rate:
    """What fio achieves in the budget; writes end with an fsync."""
    seconds = max(LEAST_S, budget.left_s)
    way = [
        f"--rw={load.way}",
        f"--bs={load.block}",
        f"--numjobs={load.depth}",
        "--time_based",
        f"--runtime={round(seconds * 1000)}ms",
    ]
    if load.way == "read" or load.way == "write":
        way.append(f"--offset_increment={size // load.depth // load.block * load.block}")
        way.append(f"--io_size={size // load.depth // load.block * load.block}")
    job = _fio(path, size, way)
    found = job["write" if load.way.endswith("write") else "read"]
    percentiles = found["clat_ns"]["percentile"]
    p50, p99 = (percentiles[f"{each}.000000"] * 1e-9 for each in (50, 99))
    elapsed = job["job_runtime"] / load.depth * 1e-3  # summed over the group's threads, in ms
    return Rate(found["io_bytes"] / elapsed if elapsed else float(found["bw_bytes"]), p50, p99, found["total_ios"])


def _fio(path: Path, size: int, way: list[str]) -> Any:
    command = [
        "fio", "--name=kvcalc", f"--filename={path}", f"--size={size}", "--ioengine=psync", "--direct=1", "--thread",
        "--group_reporting", "--end_fsync=1", "--randrepeat=0", "--norandommap",
        "--output-format=json", *way,
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate()
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise UserError(f"fio failed: {' '.join((err or out).split())[:200]}")
    return json.loads(out[out.index("{") :])["jobs"][0]
