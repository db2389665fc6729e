"""The defaults of configuration classes, which stand where a file leaves an entry out; written by a script."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("defaults.yaml")


@cache
def _all() -> dict[str, Any]:
    from kvcalc.profiles import documents

    found: Any = documents.read(FILE)
    return dict(found["classes"])


def of(model_type: str) -> Mapping[str, object]:
    """The defaults of a model type's class by entry, with the class's name as `class`; empty where none is known."""
    found: Mapping[str, object] = _all().get(model_type, {})
    return found
