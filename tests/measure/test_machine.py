"""The conditions of a measurement."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kvcalc.measure import machine as module
from kvcalc.measure.machine import Gpu, machine


def test_this_machine_has_a_cpu_and_memory():
    found = machine()
    assert found.cpus == len(os.sched_getaffinity(0))
    assert found.memory_bytes > 10**8
    assert found.numa_nodes >= 1
    assert found.day == date.today()
    assert found.cpu in found.text


def test_without_torch_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = machine()
    assert (found.torch, found.gpus) == (None, ())
    assert "without torch" in found.text


def test_gpus_are_named_with_their_memory_and_driver(monkeypatch: pytest.MonkeyPatch):
    cuda: Any = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 2,
        mem_get_info=lambda _: (60, 80),
        get_device_name=lambda _: "NVIDIA H200",
        get_device_properties=lambda _: SimpleNamespace(pci_domain_id=0, pci_bus_id=0x1B, pci_device_id=0),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__="2.13.0", cuda=cuda))
    found = machine()
    assert found.gpus == (Gpu("NVIDIA H200", 80, 60),) * 2
    assert found.text.startswith("2 x NVIDIA H200, driver ")


@pytest.mark.parametrize(("listed", "cpus"), [("0-3", {0, 1, 2, 3}), ("0,8-9", {0, 8, 9}), ("", set())])
def test_lists_of_cpus_are_read(listed: str, cpus: set[int]):
    assert module._cpus(listed) == cpus


def test_the_driver_is_read_from_its_own_file(monkeypatch: pytest.MonkeyPatch):
    text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\n"
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    assert module._driver() == "550.54.15"


@pytest.mark.parametrize(("known", "node"), [("1\n", "node1"), ("-1\n", None)])
def test_a_gpu_s_numa_node_is_that_of_its_place_on_the_bus(
    monkeypatch: pytest.MonkeyPatch, known: str, node: str | None
):
    """Linux says -1 where the firmware does not tell."""
    gpu = SimpleNamespace(pci_domain_id=0, pci_bus_id=0x1B, pci_device_id=0)
    cuda = SimpleNamespace(get_device_properties=lambda _: gpu)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))

    def read(path: Path, **_: object) -> str:
        assert str(path) == "/sys/bus/pci/devices/0000:1b:00.0/numa_node"
        return known

    monkeypatch.setattr(Path, "read_text", read)
    assert module._near(0) == node


def test_one_cpu_is_not_several():
    one = replace(machine(), cpus=1)
    assert ", 1 CPU, " in one.text


def test_torch_without_numpy_warns_of_nothing():
    pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    code = "import sys; sys.modules['numpy'] = None; from kvcalc.measure.machine import machine; machine()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
