"""The packages of the extra `simulate`: present or refused, and kernels compiled by numba."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

from kvcalc.errors import UserError


def need(*packages: str) -> None:
    """Refuse to go on without these packages. Raises UserError that names the extra."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UserError(f"traces need {' and '.join(missing)}; install them with: pip install 'kvcalc[simulate]'")


@cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel as machine code, kept on disk for the next run where that can be written."""
    need("numba")
    from numba import njit

    try:
        made: Callable[..., Any] = njit(cache=True)(kernel)
    except RuntimeError:  # no folder that numba could keep it in
        made = njit(kernel)
    return made
