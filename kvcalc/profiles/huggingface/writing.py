"""A profile's document as YAML in the form of the shipped files: a group a line."""

import json
import re
from collections.abc import Mapping
from datetime import date

from kvcalc.profiles.huggingface.importer import Document

SCHEMA = "# yaml-language-server: $schema=schemas/model.json"
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_./+() -]*(?<! )")
_WORDS = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}


def text(document: Document) -> str:
    """The file's text."""
    lines = [SCHEMA]
    for key, value in document.items():
        if key == "sources" and isinstance(value, Mapping):
            lines += _sources(value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            lines += [f"{key}:", *(f"  - {_flow(each)}" for each in value)]
        elif key == "notes" and isinstance(value, list):
            lines += [f"{key}:", *(f"  - {json.dumps(each, ensure_ascii=False)}" for each in value)]
        else:
            lines.append(f"{key}: {_value(value)}")
    return "\n".join(lines) + "\n"


def _sources(sources: Mapping[str, Mapping[str, object]]) -> list[str]:
    lines = ["sources:"]
    for name, source in sources.items():
        lines.append(f"  {name}:")
        for key, value in source.items():
            plain = key in ("basis", "checked")
            lines.append(f"    {key}: {_value(value) if plain else json.dumps(value, ensure_ascii=False)}")
    return lines


def _flow(group: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{key}: {_value(value)}" for key, value in group.items()) + "}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    if isinstance(value, str) and (not _BARE.fullmatch(value) or value.lower() in _WORDS):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
