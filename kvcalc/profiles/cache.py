"""Validated profiles, remembered between runs: reading YAML and validating it takes longer than everything else.

A profile is kept as JSON in the user's cache folder beside the size and time of the file it came from and of the code
that read it; when any of them changes it is read again. A folder that can't be written is done without.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache as once
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from kvcalc import files, units
from kvcalc.errors import UserError
from kvcalc.profiles import budget, hardware, markers, model
from kvcalc.profiles import fields as kinds
from kvcalc.profiles import sources as origins
from kvcalc.profiles.sources import Source

P = TypeVar("P", bound=kinds.Profile)

_CODE = (units, kinds, markers, hardware, budget, model, origins)
_CLASSES: dict[str, Callable[..., object]] = {
    name: found
    for module in _CODE
    for name, found in vars(module).items()
    if isinstance(found, type) and is_dataclass(found)
}


def load(kind: type[P], path: Path) -> P:
    """The profile in a file, from the cache if it was validated before. Raises UserError as `documents.load` does."""
    where = f"{kind.__name__} {_absolute(path)}"
    name = f"{path.stem}-{crc32(where.encode('utf-8', 'surrogateescape')):08x}.json"
    kept, stamp = folder(), list[object]([where, *_stamp(path)])
    known = _recall(kept / name, stamp) if kept else None
    if isinstance(known, kind):
        return known
    from kvcalc.profiles import documents

    profile = documents.load(kind, path)
    if kept:
        sources: list[Source] = []
        packed = _packed(profile, sources)
        entry = {"stamp": stamp, "sources": [_packed(each, None) for each in sources], "profile": packed}
        _keep(kept / name, json.dumps(entry, separators=(",", ":")))
    return profile


def folder() -> Path | None:
    """Where profiles are kept: $KVCALC_CACHE, else ~/.cache/kvcalc; None for a user without a home."""
    return files.own_folder("KVCALC_CACHE", "XDG_CACHE_HOME", ".cache")


def _absolute(path: Path) -> str:
    try:
        return os.path.abspath(path)
    except OSError:
        return str(path)  # the working directory is gone


def _recall(kept: Path, stamp: list[object]) -> object:
    """What was kept, if it is whole and of this stamp."""
    try:
        if not os.path.isfile(kept):
            return None
        checked, _, text = kept.read_bytes().partition(b"\n")
        if int(checked, 16) != crc32(text):
            return None  # damaged
        found = json.loads(text)
        if found["stamp"] != stamp:
            return None
        return _unpacked(found["profile"], [_unpacked(each, ()) for each in found["sources"]])
    except (OSError, ValueError):
        return None


def _keep(kept: Path, text: str) -> None:
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        files.write(kept, f"{crc32(text.encode()):08x}\n{text}")
    except (OSError, UserError):
        pass  # a cache is a convenience


def _stamp(path: Path) -> list[int]:
    try:
        known = path.stat()
    except OSError:
        return []
    return [known.st_size, known.st_mtime_ns, known.st_ctime_ns, *_code()]


@once
def _code() -> tuple[int, ...]:
    """Size and time of the modules that say what a profile is."""
    found = [os.stat(module.__file__ or "") for module in _CODE]
    return tuple(number for each in found for number in (each.st_size, each.st_mtime_ns))


def _packed(value: object, sources: list[Source] | None) -> object:
    """What JSON can hold: dataclasses as their name and their fields in order, sources as their place in a list."""
    if isinstance(value, Source) and sources is not None:
        if value not in sources:
            sources.append(value)
        return {"source": sources.index(value)}
    if is_dataclass(value):
        return {type(value).__name__: [_packed(getattr(value, field.name), sources) for field in fields(value)]}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, tuple):
        return [_packed(each, sources) for each in value]
    if isinstance(value, dict):
        return {"dict": [[key, _packed(each, sources)] for key, each in value.items()]}
    return value


def _unpacked(value: object, sources: Sequence[object]) -> object:
    if isinstance(value, list):
        return tuple([_unpacked(each, sources) for each in value])
    if not isinstance(value, dict):
        return value
    ((name, held),) = value.items()
    if name == "source":
        return sources[held]
    if name == "dict":
        return {key: _unpacked(each, sources) for key, each in held}
    if name == "date":
        return date.fromisoformat(held)
    return _CLASSES[name](*[_unpacked(each, sources) for each in held])
