"""Files that appear whole or not at all."""

import os
from pathlib import Path

from kvcalc.errors import UserError


def write(path: Path, text: str) -> None:
    """Write `text` beside `path`, then rename, so that a reader never sees half of it."""
    from tempfile import mkstemp  # it drags in random and hashlib, which most runs don't need

    try:
        handle, beside = mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be written: {error.strerror}; name another file") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be written: {error.strerror}; name another file") from error
    finally:
        Path(beside).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
