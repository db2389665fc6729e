"""Line forms: the kinds of lines that an engine prints, and the figures that each states."""

import re
from typing import Literal

from kvcalc.frozen import frozen
from kvcalc.observe.fields import SEPARATORS
from kvcalc.physics.formats import SPELLINGS

NUMBER = rf"-?\d(?:[\d{SEPARATORS}]{{0,40}}\d)?"
SIZE = rf"{NUMBER} {{0,2}}(?:[KMGT]?i?B|bytes)"

Kind = Literal["once", "always", "starts", "repeats"]


@frozen
class Form:
    """A kind of line. Every such line contains `marker` and its message begins with `opens`.

    The named groups of `pattern` are fields; `unit` is the unit of `*_bytes` groups without one. `always`: a line that
    opens so states the figure, so one that can't be read is noted. `starts`: the line opens a start, so an earlier
    start in the same log is forgotten. `repeats`: the line is printed again and again, and only the latest counts.
    """

    marker: str
    opens: re.Pattern[str]
    pattern: re.Pattern[str]
    unit: str = "GiB"
    kind: Kind = "once"


def form(marker: str, pattern: str, unit: str = "GiB", opens: str | None = None, kind: Kind = "once") -> Form:
    """A form, from a pattern in which `<n:field>` stands for a number and `<s:field>` for a size with its unit.

    Without `opens` the message begins with the pattern itself.
    """
    kinds = {"n": NUMBER, "s": SIZE}
    whole = re.sub(r"<([ns]):(\w+)>", lambda found: f"(?P<{found[2]}>{kinds[found[1]]})", pattern)
    return Form(marker, re.compile(rf"(?<!\w)(?:{opens or whole})", re.ASCII), re.compile(whole, re.ASCII), unit, kind)


def dtype(text: str | None) -> str | None:
    """An element format in this program's words, or as the engine wrote it; None for "auto"."""
    bare = text.removeprefix("torch.") if text else None
    return None if bare in (None, "auto") else SPELLINGS.get(bare, bare)
