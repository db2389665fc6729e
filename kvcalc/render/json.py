"""JSON: a frozen result as it is."""

import dataclasses
import json
from collections.abc import Sequence
from datetime import date


def render(results: Sequence[object]) -> str:
    """One object for one result, an array for several."""
    found = results[0] if len(results) == 1 else list(results)
    return json.dumps(found, default=_plain, indent=2, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in JSON")
