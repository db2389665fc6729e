"""Files that a command writes: all checked before any work, and written together once everything is made."""

import os
from collections.abc import Mapping
from pathlib import Path

from kvcalc import files
from kvcalc.errors import UserError, shown
from kvcalc.plots import figure as figures

PLOTS = ("--plot", "--map")


def check(outputs: Mapping[str, Path | None]) -> None:
    """Refuse, option by option, what can't be written, and two outputs to one file. Raises UserError."""
    taken: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if option in PLOTS:
            figures.check(option, path)
        else:
            files.check(path)
        before = taken.setdefault(os.path.realpath(path), option)
        if before != option:
            raise UserError(f"{before} and {option} both name {shown(str(path))}; name two files")
