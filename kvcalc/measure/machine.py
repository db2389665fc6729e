"""What machine this is: the conditions under which its figures hold."""

import os
import platform
import warnings
from datetime import date
from pathlib import Path
from typing import Any

from kvcalc.frozen import frozen


@frozen
class Gpu:
    """A GPU as torch and its driver see it."""

    name: str
    memory_bytes: int
    free_bytes: int
    node: str | None = None  # the NUMA node that it hangs from, if the system knows


@frozen
class Machine:
    """The conditions of a measurement."""

    node: str
    cpu: str
    cpus: int  # that this process may use
    numa_nodes: int
    numa_node: str  # that this process runs on, if on one
    memory_bytes: int
    system: str
    torch: str | None
    driver: str | None
    gpus: tuple[Gpu, ...]
    day: date

    @property
    def text(self) -> str:
        """In one line, for a source."""
        gpus = f"{len(self.gpus)} x {self.gpus[0].name}, driver {self.driver}" if self.gpus else "no GPU"
        torch = f"torch {self.torch}" if self.torch else "without torch"
        numa = f"{self.numa_nodes} NUMA node{'s' if self.numa_nodes > 1 else ''} (on {self.numa_node})"
        return f"{gpus}; {self.cpu}, {self.cpus} CPU{'s' if self.cpus > 1 else ''}, {numa}; {self.system}; {torch}"


def machine() -> Machine:
    """This one."""
    torch, driver, gpus = _gpus()
    near = nodes()
    return Machine(
        node=platform.node().split(".")[0].lower() or "node",
        cpu=_cpu(),
        cpus=len(os.sched_getaffinity(0)),
        numa_nodes=max(1, len(near)),
        numa_node=next(iter(near), "unknown") if len(near) < 2 else "several",
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        system=f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        torch=torch,
        driver=driver,
        gpus=gpus,
        day=date.today(),
    )


def nodes() -> dict[str, frozenset[int]]:
    """The CPUs of each NUMA node that this process may use, nodes without any left out."""
    own, found = os.sched_getaffinity(0), {}
    for path in sorted(Path("/sys/devices/system/node").glob("node[0-9]*")):
        cpus = own & _cpus((path / "cpulist").read_text(encoding="utf-8").strip())
        if cpus:
            found[path.name] = frozenset(cpus)
    return found


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _cpus(listed: str) -> set[int]:
    """The numbers in a list like "0-3,8"."""
    spans = (span.partition("-") for span in listed.split(",") if span)
    return {cpu for first, _, last in spans for cpu in range(int(first), int(last or first) + 1)}


def _gpus() -> tuple[str | None, str | None, tuple[Gpu, ...]]:
    try:
        with warnings.catch_warnings():  # nothing here hands a tensor to numpy
            warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
            import torch
    except ImportError:
        return None, None, ()
    if not torch.cuda.is_available():
        return torch.__version__, None, ()
    found = []
    for index in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(index)
        found.append(Gpu(torch.cuda.get_device_name(index), total, free, _near(index)))
    return torch.__version__, _driver(), tuple(found)


def _near(index: int) -> str | None:
    """By the GPU's place on the PCI bus, which torch tells since 2.7."""
    import torch

    gpu: Any = torch.cuda.get_device_properties(index)
    try:
        place = f"{gpu.pci_domain_id:04x}:{gpu.pci_bus_id:02x}:{gpu.pci_device_id:02x}.0"
        node = int(Path("/sys/bus/pci/devices", place, "numa_node").read_text(encoding="utf-8"))
    except (AttributeError, OSError, ValueError):
        return None
    return f"node{node}" if node >= 0 else None


def _driver() -> str:
    version = Path("/proc/driver/nvidia/version")
    if not version.is_file():
        return "unknown"
    words = version.read_text(encoding="utf-8").split()
    return next((word for word in words if word[:1].isdigit() and word.count(".") >= 1), "unknown")
