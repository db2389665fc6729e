"""What an imported model is called, by what the user says, else by where its file lies, and where it was read."""

import re
from collections.abc import Mapping
from pathlib import Path

from kvcalc.errors import UserError, printable, shown

_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_HASH = re.compile(r"[0-9a-f]{32,64}")  # the folder of a snapshot in the hub's cache


def checked(name: str) -> str:
    """A name as the user gave it. Raises UserError for one that a profile can't have."""
    if not _NAME.fullmatch(name):
        hint = f"; {plain(name)!r} would do" if plain(name) else ""
        raise UserError(f"--name: {shown(name)} is no name of a profile; small letters, digits and . + - only{hint}")
    return name


def plain(text: str) -> str:
    """A text as a name: small letters, hyphens for what a name doesn't have, the organisation left out."""
    last = re.split(r"__|--", text)[-1].lower()
    return re.sub(r"[^a-z0-9.+-]+", "-", last).strip("-.+")


def title(path: Path | None, config: Mapping[str, object]) -> str | None:
    """The model's name by its folder or file, else by _name_or_path, or None; without a path it came from stdin."""
    placed = None if path is None else _placed(path)
    told = config.get("_name_or_path")
    found = placed or (_last(told) if isinstance(told, str) else None)
    return printable(found) if found and plain(found) else None


def _placed(path: Path) -> str | None:
    """By the folder of a config.json, by the file otherwise; the hub's cache has the model's name two folders up."""
    whole = path.resolve() if path.is_dir() else path.absolute()
    folder = whole if path.is_dir() else whole.parent
    if path.is_dir() or path.name == "config.json":
        return _last(folder.parent.parent.name if folder.parent.name == "snapshots" else folder.name)
    return _last(re.sub(r"([._-]config)?\.json$", "", path.name))


def _last(text: str) -> str | None:
    """The last part of a path or of the hub's ORGANISATION--NAME; None for a hash or nothing."""
    found = re.split(r"__|--", text.rstrip("/").split("/")[-1])[-1]
    return None if _HASH.fullmatch(found) or not found.strip(".") else found


def address(path: Path | None, from_hub: str | None, read: str) -> str:
    """Where a profile says that it was read: on the hub, or in a local file on a day, never a path of this machine."""
    if from_hub:
        return f"https://huggingface.co/{from_hub}"
    if path is None:
        return f"stdin, read {read}"
    return f"{printable('config.json' if path.is_dir() else path.name)}, local file, read {read}"
