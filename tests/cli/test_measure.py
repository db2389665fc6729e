"""`kvcalc measure` as a user runs it: what it prints, writes, refuses and leaves behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvcalc.measure import fio, memory, prefill
from kvcalc.measure.samples import Budget

ARGUMENTS = ("measure", "--path", ".", "--size", "64 MiB", "--budget", "3 s")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fio, "installed", lambda: False)
    monkeypatch.setattr(memory, "SIZES", (4096, 1_048_576))
    monkeypatch.setattr(memory, "POOL", 4_194_304)
    monkeypatch.setattr(prefill, "LENGTHS", (16, 32, 64))
    monkeypatch.chdir(tmp_path)


def test_a_dry_run_says_what_it_would_do_and_does_nothing(run: Callable[..., Any], tmp_path: Path):
    ran = run("measure", "--dry-run", "--path", ".", "--only", "storage,remote")
    assert (ran.code, ran.err) == (0, "")
    assert "file of 1.07 GB in ., removed after" in ran.out
    assert "remote: no store is named" in ran.out
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_a_gpu_gets_a_profile_that_margin_uses(run: Callable[..., Any], tmp_path: Path):
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: the link stands in for DRAM")
    ran = run(*ARGUMENTS, "--output", "mine.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "Measured against h100-pcie5" in ran.out
    assert "link, blocks, restore: there is no GPU" in ran.out
    assert run("hardware", "check", "mine.yaml").code == 0
    command = re.search(r"Use it: kvcalc (.*)", ran.out)
    assert command is not None
    answer = run(*command[1].split(), "--format", "json").json
    assert answer["recompute"]["basis"] == "measured"
    assert [path["medium"] for path in answer["paths"]] == ["dram", "nvme"]
    assert {"mine.yaml", "mine-cpu.yaml", "mine-dram.yaml", "mine-nvme.yaml"} == {p.name for p in tmp_path.iterdir()}


def test_without_torch_one_line_names_the_extra_and_the_disk_is_measured(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "torch", None)
    ran = run(*ARGUMENTS, "--against", "h200-pcie5", "--output", "mine.yaml")
    assert ran.code == 0
    assert ran.out.count("pip install 'kvcalc[measure]'") == 1
    assert "- link, blocks, restore, prefill: it needs torch; pip install 'kvcalc[measure]'" in ran.out
    assert yaml.safe_load(Path("mine.yaml").read_text())["accelerator"] == "h200-sxm"


def test_json_holds_every_reading_in_si_units(run: Callable[..., Any]):
    answer = run("measure", "--only", "memory", "--budget", "0.1 s", "--format", "json").json
    assert answer["schema_version"] == 1
    reading = answer["parts"][0]["readings"][0]
    assert (reading["unit"], reading["value"]["median"] > 0) == ("B/s", True)
    ran = run("measure", "--only", "memory", "--budget", "0.1 s", "--format", "csv")
    assert ran.out.startswith("part,what,unit,median,low,high,samples\nmemory,")


def test_too_little_for_a_profile_says_why(run: Callable[..., Any], tmp_path: Path):
    ran = run("measure", "--only", "memory", "--budget", "0.1 s")
    assert ran.code == 0
    assert "No node is written: without a GPU it needs the parts memory and prefill" in ran.out
    assert list(tmp_path.iterdir()) == []


def test_tiers_are_written_where_they_are_asked_for_and_make_no_node(run: Callable[..., Any], tmp_path: Path):
    ran = run("measure", "--only", "memory", "--budget", "0.1 s", "--output", "mine.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "No node is written: without a GPU" in ran.out
    assert "Tiers are written to mine-dram.yaml." in ran.out
    assert [path.name for path in tmp_path.iterdir()] == ["mine-dram.yaml"]
    assert run("hardware", "check", "mine-dram.yaml").code == 0


def test_nothing_to_write_where_it_was_asked_for_is_a_failure_that_says_why(run: Callable[..., Any], tmp_path: Path):
    pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    ran = run("measure", "--only", "prefill", "--budget", "0.1 s", "--output", "mine.yaml")
    assert (ran.code, ran.err) == (1, "kvcalc: no node is written: no tier was measured\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", [(), ("--output", "gone/mine.yaml")])
def test_what_can_not_be_written_is_refused_before_anything_is_measured(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, output: tuple[str, ...]
):
    monkeypatch.setattr(memory, "measure", lambda *_: pytest.fail("it was measured"))

    def denied(**_: object) -> None:  # whoever runs the tests may be root, who may write anywhere
        raise PermissionError(13, "Permission denied")

    if not output:
        monkeypatch.setattr(tempfile, "mkstemp", denied)
    assert "cannot be written: " in refused("measure", "--only", "memory", "--budget", "0.1 s", *output)


def test_an_overrun_and_few_samples_are_said(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    measured = memory.measure

    def slow(_: object) -> Any:
        time.sleep(0.1)
        return measured(Budget(0))

    monkeypatch.setattr(memory, "measure", slow)
    ran = run("measure", "--only", "memory", "--budget", "0.09 s")
    assert "more than the budget of 90 ms; raise --budget, or name fewer parts with --only" in ran.out
    assert "few: fewer than 5 samples" in ran.out
    assert "3 (few)" in ran.out


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_password_is_not_in_the_answer(run: Callable[..., Any], form: str):
    pytest.importorskip("redis", reason="redis-py is not installed: the extra 'remote'")
    url = "redis://me:secret@127.0.0.1:9"
    ran = run("measure", "--only", "memory,remote", "--url", url, "--budget", "0.5 s", "--format", form)
    assert ran.code == 1
    assert "redis://***@127.0.0.1:9 refuses" in ran.out
    assert "secret" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [(("--against", "h100-pci5"), "did you mean"), (("--output", "mine.txt"), "a profile's name ends in .yaml")],
)
def test_a_dry_run_refuses_names_that_a_run_would(refused: Callable[..., str], arguments: tuple[str, ...], line: str):
    assert line in refused("measure", "--dry-run", *arguments)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--path", "gone"), "--path 'gone' is no folder; name one on the disk to measure"),
        (("--path", ".", "--size", "1 MB"), "--size must be at least 67.1 MB (64 MiB)"),
        (("--url", "ftp://host"), "--url 'ftp://host' is no address of a store; write redis://"),
        (("--only", "disk"), "--only: no part 'disk'; the parts are link, blocks, restore, memory, prefill, storage"),
        (("--only", "storage"), "nothing was measured: storage: no folder is named; give --path DIR"),
        (("--against", "h100-pci5"), "no node 'h100-pci5'; did you mean 'h100-pcie5'?"),
        (("--endpoint", "http://host/v1"), "--endpoint needs --engine-model"),
        (("--weights", "fp8"), "--weights and --kv-dtype go together"),
        (("--weights", "fp8", "--kv-dtype", "int3"), "no KV format 'int3'"),
        (("--output", "mine.txt"), "--output 'mine.txt': a profile's name ends in .yaml"),
        (("--budget", "60"), "'60' is not a time"),
    ],
)
def test_bad_input_is_one_line(refused: Callable[..., str], arguments: tuple[str, ...], line: str):
    assert line in refused("measure", *arguments)


def test_a_store_that_refuses_is_one_line(refused: Callable[..., str]):
    pytest.importorskip("redis", reason="redis-py is not installed: the extra 'remote'")
    line = refused("measure", "--only", "remote", "--url", "redis://127.0.0.1:9")
    assert line.startswith("nothing was measured: remote: redis://127.0.0.1:9 refuses: ")


@pytest.mark.parametrize("engine", ["fio", "own"])
def test_ctrl_c_leaves_no_file_and_no_process(tmp_path: Path, engine: str):
    if engine == "fio" and shutil.which("fio") is None:
        pytest.skip("fio is not installed; Debian's package is fio")
    path = os.environ["PATH"] if engine == "fio" else "/nowhere"
    assert interrupted(tmp_path, ("--only", "storage"), os.environ | {"PATH": path}, child=engine == "fio") == []


def test_ctrl_c_keeps_what_was_asked_for(tmp_path: Path):
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: the link stands in for DRAM")
    more = ("--only", "memory,prefill,storage", "--output", "kept.yaml")
    kept = interrupted(tmp_path, more, dict(os.environ), said="kvcalc: kept kept-dram.yaml, kept-cpu.yaml, kept.yaml\n")
    assert kept == ["kept-cpu.yaml", "kept-dram.yaml", "kept.yaml"]


def test_ctrl_c_keeps_a_tier_that_makes_no_node(tmp_path: Path):
    more = ("--only", "memory,storage", "--output", "kept.yaml")
    said = "kvcalc: kept kept-dram.yaml; no node is written: without a GPU it needs the parts memory and prefill"
    assert interrupted(tmp_path, more, dict(os.environ), said=said) == ["kept-dram.yaml"]


def interrupted(
    folder: Path, more: tuple[str, ...], env: dict[str, str], child: bool = False, said: str = ""
) -> list[str]:
    """Interrupt a measurement while its file is open, and a child works; the files left beside the disk's folder."""
    disk = folder / "disk"
    disk.mkdir()
    command = [
        sys.executable,
        "-m",
        "kvcalc",
        "measure",
        "--path",
        "disk",
        "--size",
        "256 MiB",
        "--budget",
        "9 s",
        *more,
    ]
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    children: list[str] = []
    while not (on_disk(process.pid, disk) and bool(children) >= child) and time.monotonic() < until:
        time.sleep(0.05)
        children = children_of(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err.startswith(said)
    assert list(disk.iterdir()) == []
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []
    return sorted(path.name for path in folder.iterdir() if path != disk)


def children_of(process: int) -> list[str]:
    """The processes that any of its threads has started."""
    found = []
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # threads come and go
            found += listed.read_text().split()
    return found


def on_disk(process: int, disk: Path) -> bool:
    """Has the process a file open there?"""
    with suppress(FileNotFoundError):  # descriptors come and go
        return any(str(disk) in os.readlink(each) for each in Path(f"/proc/{process}/fd").iterdir())
    return False
