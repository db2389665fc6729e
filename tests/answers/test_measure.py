"""Measured figures beside the shipped ones."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from kvcalc.answers import measure
from kvcalc.errors import UserError
from kvcalc.measure.machine import Gpu, Machine
from kvcalc.measure.results import Achieved, Part, TierFound
from kvcalc.profiles import catalog

HERE = Machine("host", "A CPU", 8, 1, "node0", 2**34, "Linux", "2.13.0", None, (), date(2026, 11, 29))
DISK = TierFound("nvme", "nvme", "Disk", "direct I/O", (1e9, 3.5e9, 4e9), None, 50e-6, None, "read.")


def test_a_ratio_is_measured_over_shipped():
    """h100-pcie5 has 7 GB/s and 100 us for NVMe."""
    found = measure.measured(HERE, [Part("storage", (), tier=DISK)], [], "h100-pcie5")
    assert [(each.figure, each.ratio, each.shipped_from) for each in found.comparisons] == [
        ("read", 0.5, "nvme-gen4"),
        ("latency", 0.5, "nvme-gen4"),
    ]


def test_copies_within_dram_are_not_compared_with_a_link():
    memory = replace(DISK, name="dram", medium="dram")
    found = measure.measured(HERE, [Part("memory", (), tier=memory)], [], "h100-pcie5")
    assert {each.shipped for each in found.comparisons} == {None}


def test_what_no_shipped_profile_has_is_shown_alone():
    disk = replace(DISK, medium="store", per_copy_s=1e-6)
    found = measure.measured(HERE, [Part("storage", (), tier=disk)], [], "h200-pcie5")
    assert [each.ratio for each in found.comparisons if each.figure == "per copy"] == [None]


def test_efficiencies_stand_beside_those_of_the_fit():
    """An H200 has 989.4 TFLOP/s; the fit's share for GEMMs is in hardware_profiles/fits/hopper.yaml."""
    gpu = replace(HERE, gpus=(Gpu("NVIDIA H200", 100, 100),))
    achieved = Achieved(gemm_flops=0.5 * 989.4e12, attention_flops=1e14, element_bytes=1e12, peak_flops=6e14)
    found = measure.measured(gpu, [Part("prefill", (), achieved=achieved)], [], "h200-pcie5")
    gemm = found.comparisons[0]
    fit = catalog.fit("hopper").any.gemm.bf16
    assert fit is not None
    assert (gemm.measured, gemm.shipped_from) == (pytest.approx(0.5, rel=1e-3), "hopper")
    assert gemm.ratio == pytest.approx(0.5 / fit.value, rel=1e-3)
    assert len(found.comparisons) == 3


def test_a_gpu_in_use_by_others_is_warned_of():
    busy = replace(HERE, gpus=(Gpu("NVIDIA H200", 100, 50), Gpu("NVIDIA H200", 100, 99)))
    found = measure.measured(busy, [Part("link", (), warnings=("said",))], [], "h200-pcie5")
    assert found.warnings == ("said", "GPU 0 is in use by others: 50 of 100 bytes are free")


@pytest.mark.parametrize(
    ("name", "memory", "accelerator"),
    [
        ("NVIDIA H200", 150_754_820_096, "h200-sxm"),
        ("NVIDIA H100 80GB HBM3", 85_045_878_784, "h100-sxm"),
        ("NVIDIA L40S", 47_810_936_832, "l40s"),
    ],
)
def test_the_node_with_this_gpu_is_compared_with(name: str, memory: int, accelerator: str):
    """Memory as torch reports it on such a device."""
    node = measure.beside(replace(HERE, gpus=(Gpu(name, memory, memory),)))
    assert node is not None
    assert catalog.machine(node).accelerator.name == accelerator


def test_without_a_gpu_there_is_no_such_node():
    assert measure.beside(HERE) is None


def test_an_unknown_gpu_asks_for_a_node():
    with pytest.raises(UserError, match="no shipped node has a GeForce 256; name the nearest with --against"):
        measure.beside(replace(HERE, gpus=(Gpu("GeForce 256", 2**25, 2**25),)))


def test_a_disk_is_kept_behind_the_gpus_of_a_named_node(tmp_path: Path):
    found = measure.measured(HERE, [Part("storage", (), tier=DISK)], [], "h100-pcie5")
    measure.save(found, tmp_path / "mine.yaml", "h100-pcie5")
    machine = catalog.machine(str(tmp_path / "mine.yaml"))
    assert (machine.accelerator.name, machine.node.gpus) == ("h100-sxm", 8)
