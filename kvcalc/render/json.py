"""JSON: a frozen result as it is."""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from datetime import date


def render(results: Sequence[object]) -> str:
    """One object for one result, an array for several."""
    if len(results) == 1 and any(_is_long(value) for value in _fields(results[0]).values()):
        return _by_line(results[0])
    found = results[0] if len(results) == 1 else list(results)
    return json.dumps(found, default=_plain, indent=2, allow_nan=False) + "\n"


def _is_long(value: object) -> bool:
    """Rows that are made one after the other, like those of a sweep."""
    return isinstance(value, Iterable) and not isinstance(value, str | list | tuple | dict)


def _by_line(result: object) -> str:
    """The same document with each of its many rows on one line."""
    parts = []
    for name, value in _fields(result).items():
        if isinstance(value, Iterable) and _is_long(value):
            rows = ",\n    ".join(json.dumps(row, default=_plain, allow_nan=False) for row in value)
            parts.append(f'  "{name}": [\n    {rows}\n  ]')
        else:
            text = json.dumps(value, default=_plain, indent=2, allow_nan=False).replace("\n", "\n  ")
            parts.append(f'  "{name}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _fields(result: object) -> dict[str, object]:
    if not dataclasses.is_dataclass(result):
        return {}
    return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in JSON")
