"""What this host has for pinned memory: free memory, the control group's limit, the locked-memory limit."""

from pathlib import Path

from kvcalc.errors import UserError
from kvcalc.frozen import frozen

KIB = 1024
UNLIMITED = 1 << 60  # bytes; version 1 of control groups writes the largest number of pages for no limit


@frozen
class Host:
    """Bytes; None is what is not limited or not known."""

    total_bytes: float
    available_bytes: float  # MemAvailable: free, and what the kernel gives back
    locked_limit_bytes: float | None  # RLIMIT_MEMLOCK of this process
    group_left_bytes: float | None  # of the control group: its limit less what is used

    @property
    def spare_bytes(self) -> float:
        """What a new process here may take."""
        limits = (self.available_bytes, self.group_left_bytes)
        return min(each for each in limits if each is not None)


def read(root: Path = Path("/")) -> Host:
    """What the files below `root` say of this process. Raises UserError where there is no /proc (not Linux)."""
    memory = _meminfo(root / "proc/meminfo")
    return Host(
        total_bytes=memory["MemTotal"],
        available_bytes=memory.get("MemAvailable", memory.get("MemFree", 0.0)),
        locked_limit_bytes=_locked(root / "proc/self/limits"),
        group_left_bytes=_group(root),
    )


def _meminfo(path: Path) -> dict[str, float]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror}; give --host-memory as a size") from error
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    found = {name.strip(): float(value.split()[0]) * KIB for name, value in pairs if value.split()[:1]}
    if "MemTotal" not in found:
        raise UserError(f"{str(path)!r} states no MemTotal; give --host-memory as a size")
    return found


def _locked(path: Path) -> float | None:
    """The soft limit of "Max locked memory", in bytes."""
    text = _text(path) or ""
    line = next((line for line in text.splitlines() if line.startswith("Max locked memory")), "")
    words = line.removeprefix("Max locked memory").split()
    return float(words[0]) if words and words[0].isdecimal() else None


def _group(root: Path) -> float | None:
    """The least that any level of the control group, version 2 or 1, leaves."""
    left = [room for folder, names in _folders(root) if (room := _left(folder, *names)) is not None]
    return min(left, default=None)


def _folders(root: Path) -> list[tuple[Path, tuple[str, str]]]:
    """The group's folder and those above it, with the names of limit and use there."""
    found: list[tuple[Path, tuple[str, str]]] = []
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, group = line.split(":", 2) if line.count(":") >= 2 else ("", "-", "")
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        parts = [part for part in group.split("/") if part not in ("", "..")]
        found += [(base.joinpath(*parts[:depth]), names) for depth in range(len(parts) + 1)]
    return found


def _left(folder: Path, limit_name: str, used_name: str) -> float | None:
    limit, used = ((_text(folder / name) or "").strip() for name in (limit_name, used_name))
    if not limit.isdecimal() or int(limit) >= UNLIMITED:
        return None
    return max(float(limit) - (float(used) if used.isdecimal() else 0.0), 0.0)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
