"""What a host says of its memory, from files as the kernel writes them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.observe import host

KIB, MIB = 1024, 1024**2
MEMINFO = "MemTotal:       2113543372 kB\nMemFree:        12000000 kB\nMemAvailable:   1900000000 kB\nHugePages_Total:       0\n"
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max locked memory         {}              67108864             bytes     \n"
)


@pytest.fixture
def root(tmp_path: Path) -> Callable[..., Path]:
    """A root folder with these files, beside a /proc/meminfo."""

    def make(**files: str) -> Path:
        for name, text in (
            {"proc/meminfo": MEMINFO} | {key.replace("__", "/"): text for key, text in files.items()}
        ).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


def test_memory_is_what_the_kernel_would_give(root):
    seen = host.read(root())
    assert (seen.total_bytes, seen.available_bytes) == (2113543372 * KIB, 1900000000 * KIB)
    assert seen.spare_bytes == seen.available_bytes


@pytest.mark.parametrize(("text", "limit"), [("8388608", 8388608.0), ("unlimited", None)])
def test_the_soft_limit_of_locked_memory_counts(root, text, limit):
    assert host.read(root(proc__self__limits=LIMITS.format(text))).locked_limit_bytes == limit


def test_a_container_leaves_less_than_the_host(root):
    """Control groups of version 2: 64 GiB may be used and 16 are."""
    seen = host.read(
        root(
            proc__self__cgroup="0::/kubepods/pod1\n",
            **{
                "sys__fs__cgroup__kubepods__pod1__memory.max": str(64 * 1024 * MIB),
                "sys__fs__cgroup__kubepods__pod1__memory.current": str(16 * 1024 * MIB),
            },
        )
    )
    assert seen.group_left_bytes == seen.spare_bytes == 48 * 1024 * MIB


def test_a_limit_above_the_own_group_holds_too(root):
    seen = host.read(
        root(
            proc__self__cgroup="0::/a/b\n",
            **{
                "sys__fs__cgroup__a__memory.max": "1000000",
                "sys__fs__cgroup__a__memory.current": "400000",
                "sys__fs__cgroup__a__b__memory.max": "max",
                "sys__fs__cgroup__a__b__memory.current": "400000",
            },
        )
    )
    assert seen.group_left_bytes == 600000


def test_control_groups_of_version_1_are_read(root):
    seen = host.read(
        root(
            proc__self__cgroup="9:cpu:/x\n4:memory:/docker/1\n",
            **{
                "sys__fs__cgroup__memory__memory.limit_in_bytes": "9223372036854771712",
                "sys__fs__cgroup__memory__docker__1__memory.limit_in_bytes": "2000000",
                "sys__fs__cgroup__memory__docker__1__memory.usage_in_bytes": "500000",
            },
        )
    )
    assert seen.group_left_bytes == 1500000


def test_a_group_that_is_used_up_leaves_nothing(root):
    seen = host.read(
        root(
            proc__self__cgroup="0::/a\n",
            **{"sys__fs__cgroup__a__memory.max": "1000", "sys__fs__cgroup__a__memory.current": "1200"},
        )
    )
    assert (seen.group_left_bytes, seen.spare_bytes) == (0, 0)


def test_without_limits_nothing_is_limited(root):
    seen = host.read(root())
    assert (seen.locked_limit_bytes, seen.group_left_bytes) == (None, None)


def test_a_system_without_proc_is_refused(tmp_path):
    with pytest.raises(UserError, match="--host-memory as a size"):
        host.read(tmp_path)


def test_this_machine_is_read():
    assert 0 < host.read().spare_bytes <= host.read().total_bytes
