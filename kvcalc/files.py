"""Files that appear whole or not at all, and where a user's own lie."""

import os
from pathlib import Path

from kvcalc.errors import UserError, shown


def own_folder(variable: str, standard: str, below_home: str) -> Path | None:
    """A user's folder: $variable, else kvcalc in $standard or in ~/below_home; None for a user without a home."""
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen)
    home = os.path.expanduser("~")
    base = os.environ.get(standard) or (os.path.join(home, below_home) if os.path.isabs(home) else None)
    return Path(base, "kvcalc") if base else None


def printable(path: Path) -> str:
    """A path as a message shows it, also one that is not text in this system's encoding."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def write(path: Path, content: str | bytes) -> None:
    """Write beside `path`, then rename, so that a reader never sees half of it. A link stays a link."""
    target, handle, beside = _open_beside(path)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.encode("utf-8") if isinstance(content, str) else content)
        os.chmod(beside, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        os.replace(beside, target)
    except OSError as error:
        raise _refusal(path, error.strerror) from error
    finally:
        Path(beside).unlink(missing_ok=True)


def check(path: Path) -> None:
    """Refuse, before any work, a file that can't be written. Raises UserError."""
    _, handle, beside = _open_beside(path)
    os.close(handle)
    Path(beside).unlink()


def _open_beside(path: Path) -> tuple[Path, int, str]:
    """The file that is meant, and an open one beside it with its name."""
    from tempfile import mkstemp  # it drags in random and hashlib, which most runs don't need

    if (os.path.exists(path) and not os.path.isfile(path)) or os.path.abspath(path).startswith(("/dev/", "/proc/")):
        raise _refusal(path, "it is not a plain file")
    target = Path(os.path.realpath(path))
    try:
        handle, beside = mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise _refusal(path, error.strerror) from error
    return target, handle, beside


def _refusal(path: Path, reason: str | None) -> UserError:
    return UserError(f"{shown(str(path))} cannot be written: {reason}; name another file")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
