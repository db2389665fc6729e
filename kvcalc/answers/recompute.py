"""How recompute time is found: the ways that this node, model and engine allow, the chosen one first."""

from dataclasses import dataclass

from kvcalc.answers.options import Options
from kvcalc.errors import UserError
from kvcalc.physics import prefill, recompute, work
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Curve, StatedRate
from kvcalc.profiles.model import Model
from kvcalc.profiles.sources import Source


@dataclass(frozen=True, slots=True)
class Ways:
    """The way that is used, the others, and why a way is missing."""

    chosen: recompute.Way
    others: tuple[recompute.Way, ...]
    missing: tuple[str, ...]
