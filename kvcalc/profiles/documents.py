"""Profile files: strict YAML in, a profile out, and every error with its file, line and field."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from kvcalc.errors import UserError
from kvcalc.profiles import sources

P = TypeVar("P", bound=sources.Profile)

LARGEST_FILE = 1_000_000  # bytes; the largest shipped profile has 20,000


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe, in C where libyaml is there, and without YAML's silent choice of the last of two equal keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable) or key in seen:
                problem = f"key {key!r} is given twice" if isinstance(key, Hashable) else "a key must be plain text"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)  # type: ignore[no-any-return]


def read(path: Path) -> object:
    """The document in a YAML file. Raises UserError with file and line."""
    return _parse(_text(path), path)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{path}: is {path.stat().st_size:,} bytes long, too long for a profile")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not a text file in UTF-8") from error


def _parse(text: str, path: Path) -> object:
    try:
        return yaml.load(text, Loader=_Loader)  # a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise UserError(f"{path}: {line}{error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not YAML: {str(error).splitlines()[0]}") from error


def load(kind: type[P], path: Path) -> P:
    """The profile in a file. Raises UserError with file, line, field, what is wrong and what is expected."""
    text = _text(path)
    return _checked(kind, _parse(text, path), text, path)


def _checked(kind: type[P], document: object, text: str, path: Path) -> P:
    try:
        return sources.parse(kind, document)
    except ValidationError as error:
        place, reason = sources.explain(error)
        line, field = _place(text, place)
        raise UserError(f"{path}: line {line}: {field}: {reason}") from error
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def _place(text: str, place: tuple[str | int, ...]) -> tuple[int, str]:
    """The line of the deepest part of `place` that the file has, and its dotted name."""
    node = yaml.compose(text, Loader=_Loader)
    line, parts = 1, []
    for part in place:
        found = _child(node, part)
        if found is not None:
            node, line = found, found.start_mark.line + 1
            parts.append(str(part))
        elif part == place[-1]:
            parts.append(str(part))
    return line, ".".join(parts)


def _child(node: Any, part: str | int) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part]
    return None
