"""Measured figures as profiles: they load, say where they are from, and name one another."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import profile
from kvcalc.measure.machine import Machine
from kvcalc.measure.profile import Computes
from kvcalc.measure.results import Achieved, CurveFound, Part, Setup, TierFound
from kvcalc.profiles import catalog, check
from kvcalc.profiles.hardware import Curve, Node

HERE = Machine("host", "A CPU", 8, 2, "node1", 2**34, "Linux 6.18", "2.13.0", None, (), date(2026, 11, 29))
RATES = (1.23456e9, 2e9, 3e9)
DRAM = TierFound("dram", "dram", "DRAM", "DRAM copy", RATES, RATES, None, 1e-6, "copied.")
DISK = TierFound("nvme", "nvme", "Disk", "direct I/O", RATES, None, 40e-6, None, "read.")
POINTS = ((512, 1.0), (1024, 2.5))
CURVE = CurveFound(Setup("qwen3-0.6b", 1, "bf16", 16), POINTS, "2 of 28 layers.")
KERNELS = Part("prefill", (), curve=CURVE, achieved=Achieved(2e11, 1e11, 1e10, 3e11))
PARTS = [Part("memory", (), tier=DRAM), Part("storage", (), tier=DISK), KERNELS]


def written(folder: Path, parts: list[Part], computes: Computes) -> list[str]:
    profile.write(profile.documents(folder / "mine.yaml", HERE, parts, computes))
    return sorted(path.name for path in folder.iterdir())


def test_without_a_gpu_the_cpu_computes(tmp_path: Path):
    assert written(tmp_path, PARTS, Computes(None, 1)) == [
        "mine-cpu.yaml", "mine-dram.yaml", "mine-nvme.yaml", "mine.yaml",
    ]  # fmt: skip
    node = check.check(tmp_path / "mine.yaml", catalog.HARDWARE)
    assert isinstance(node, Node)
    machine = catalog.machine(str(tmp_path / "mine.yaml"))
    assert machine.accelerator.peak.bf16.value == 3e11
    assert machine.accelerator.memory_bandwidth.value == 4e9  # read and written
    dram, disk = machine.tiers
    assert [dram.read.bandwidth.at(corner) for corner in ("slow", "typical", "fast")] == [1.235e9, 2e9, 3e9]
    assert dram.read.per_copy is not None
    assert dram.read.per_copy.value == 1e-6
    assert disk.read.latency is not None
    assert disk.read.latency.typical.value == 40e-6
    assert (disk.write, disk.staging) == (None, None)


def test_every_figure_is_measured_and_says_when_and_on_what(tmp_path: Path):
    written(tmp_path, PARTS, Computes(None, 1))
    for path in tmp_path.iterdir():
        for source in check.check(path, catalog.HARDWARE).sources.values():
            assert (source.basis, source.checked, source.title) == ("measured", HERE.day, "kvcalc 0.1.0 on host")
            assert HERE.text in (source.note or "")
            assert source.address.startswith("kvcalc measure")


def test_a_node_s_gpus_reach_a_disk_through_the_host(tmp_path: Path):
    """Copies within DRAM are no figure of a GPU's link."""
    link = replace(DRAM, name="dram", path="host link")
    parts = [Part("link", (), tier=link), *PARTS]
    assert written(tmp_path, parts, Computes("h200-sxm", 8)) == ["mine-dram.yaml", "mine-nvme.yaml", "mine.yaml"]
    machine = catalog.machine(str(tmp_path / "mine.yaml"))
    assert (machine.accelerator.name, machine.node.gpus) == ("h200-sxm", 8)
    assert [tier.path for tier in machine.tiers] == ["host link", "direct I/O"]
    assert machine.tiers[1].staging == "pipelined"


def test_an_engine_s_own_times_come_before_those_of_its_kernels(tmp_path: Path):
    """The first curve that fits is the one that margin uses."""
    live = replace(CURVE, points=((512, 3.0),), note="Time to first token.")
    written(tmp_path, [*PARTS, Part("endpoint", (), curve=live)], Computes(None, 1))
    check.check(tmp_path / "mine.yaml", catalog.HARDWARE)
    curves = catalog.machine(str(tmp_path / "mine.yaml")).node.prefill
    assert [isinstance(each, Curve) and each.points for each in curves] == [{512: 3.0}, dict(POINTS)]


@pytest.mark.parametrize("name", ["My_Host 1.yaml", "-x.yaml", "_.yaml"])
def test_any_file_s_name_makes_a_name_that_is_accepted(tmp_path: Path, name: str):
    profile.write(profile.documents(tmp_path / name, HERE, PARTS, Computes(None, 1)))
    check.check(tmp_path / name, catalog.HARDWARE)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [([], "no tier was measured"), (PARTS[1:], "needs the parts memory and prefill, or --against NODE")],
)
def test_too_little_makes_no_profile(tmp_path: Path, parts: list[Part], reason: str):
    with pytest.raises(UserError, match=reason):
        written(tmp_path, parts, Computes(None, 1))
    assert list(tmp_path.iterdir()) == []
