"""How far a long run is, on stderr where that is a terminal."""

import sys
import time

from kvcalc import units

PATIENCE_S = 1.0  # before the first word, and between two


class Progress:
    """One line that is written over, and wiped at the end."""

    def __init__(self, what: str) -> None:
        self._what, self._said = what, 0
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + PATIENCE_S

    def __call__(self, done: int, of: int) -> None:
        """Say how many are done."""
        if not self._terminal or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PATIENCE_S
        line = f"kvcalc: {units.count(done)} of {units.count(of)} {self._what}"
        sys.stderr.write(f"\r{line.ljust(self._said)}")
        sys.stderr.flush()
        self._said = len(line)

    def wipe(self) -> None:
        """Leave no trace of the line."""
        if self._said:
            sys.stderr.write(f"\r{' ' * self._said}\r")
            sys.stderr.flush()
