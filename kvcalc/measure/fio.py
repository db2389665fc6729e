"""The same loads by fio, through its JSON."""

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

from kvcalc.errors import UserError
from kvcalc.measure.direct import Load, Rate
from kvcalc.measure.samples import Budget

LEAST_S = 0.1  # below it fio may move nothing
START_S = 0.4  # that fio 3 takes to begin and to end


def installed() -> bool:
    """Is there a fio?"""
    return shutil.which("fio") is not None


def run(handle: int, size: int, load: Load, budget: Budget) -> Rate:
    """What fio achieves on an open file in the budget; writes end with an fsync. Raises UserError where fio fails."""
    way = [f"--rw={load.way}", f"--bs={load.block}", f"--numjobs={load.depth}", "--time_based"]
    way.append(f"--runtime={round(1000 * max(LEAST_S, budget.left_s - START_S))}ms")
    if not load.way.startswith("rand"):  # each thread has its own stretch
        size = size // load.depth // load.block * load.block
        way.append(f"--offset_increment={size}")
    job = _fio(f"/proc/{os.getpid()}/fd/{handle}", size, way)
    found = job["write" if load.way.endswith("write") else "read"]
    percentiles = found["clat_ns"]["percentile"]
    p50, p99 = (percentiles[f"{each}.000000"] * 1e-9 for each in (50, 99))
    elapsed = job["job_runtime"] / load.depth * 1e-3  # summed over the group's threads, in ms
    return Rate(found["io_bytes"] / elapsed if elapsed else float(found["bw_bytes"]), p50, p99, found["total_ios"])


def _fio(path: str, size: int, way: list[str]) -> Any:
    command = [
        "fio", "--name=kvcalc", f"--filename={path}", f"--size={size}", "--ioengine=psync", "--direct=1", "--thread",
        "--group_reporting", "--end_fsync=1", "--randrepeat=0", "--norandommap",
        "--allow_file_create=0", "--output-format=json", *way,
    ]  # fmt: skip
    stop, started = Event(), list[subprocess.Popen[str]]()
    with ThreadPoolExecutor(1) as starter:  # Ctrl-C interrupts the main thread, so never between a start and its note
        try:
            code, out, err = starter.submit(_finished, command, started, stop).result()
        finally:
            stop.set()
            for process in started:
                process.kill()
    if code:
        raise UserError(f"fio failed: {' '.join((err or out).split())[:200]}")
    try:
        return json.loads(out[out.index("{") :])["jobs"][0]
    except (ValueError, LookupError) as error:
        raise UserError(f"fio printed no figures: {' '.join(out.split())[:200]}; is it fio 3?") from error


def _finished(command: list[str], started: list[subprocess.Popen[str]], stop: Event) -> tuple[int, str, str]:
    """Exit code, stdout and stderr. The program is noted in `started` as soon as it runs, and killed if too late."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.append(process)
    if stop.is_set():
        process.kill()
    out, err = process.communicate()
    return process.returncode, out, err
