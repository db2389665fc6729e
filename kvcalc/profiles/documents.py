"""Profile files: strict YAML in, a profile out, and every error with its file, line and field."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from kvcalc.errors import UserError
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.sources import Context, Source

if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where libyaml is there

P = TypeVar("P", bound=Profile)
Place = tuple[str | int, ...]

LARGEST_FILE = 1_000_000  # bytes; the largest shipped profile has 20,000


class _Loader(_Base):
    """Safe, and without YAML's silent choice of the last of two equal keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable) or key in seen:
                problem = f"key {key!r} is given twice" if isinstance(key, Hashable) else "a key must be plain text"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def load(kind: type[P], path: Path) -> P:
    """The profile in a file. Raises UserError with file, line, field, what is wrong and what is expected."""
    text = _text(path)
    try:
        return parse(kind, _parsed(text, path))
    except ValidationError as error:
        place, reason = explain(error)
        line, field = _place(text, place)
        raise UserError(f"{path}: line {line}: {field}: {reason}") from error
    except UserError as error:
        raise UserError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from error


def read(path: Path) -> object:
    """The document in a YAML file, not validated. Raises UserError with file and line."""
    return _parsed(_text(path), path)


def parse(kind: type[P], document: object) -> P:
    """A profile from a parsed file. Raises pydantic's ValidationError, or UserError for a source that is not used."""
    if not isinstance(document, Mapping):
        raise UserError("is not a profile: it holds no keys and values")
    sources = document.get("sources")
    context = Context(_sources(sources) if isinstance(sources, Mapping) else {})
    profile = TypeAdapter(kind).validate_python(document, context=context)
    if context.unused:
        raise UserError(f"source {context.unused[0]!r} is used by no figure; use it or take it out of 'sources'")
    return profile


def _sources(document: Mapping[str, object]) -> dict[str, Source]:
    """The sources by key; what is wrong with one is found with the profile."""
    reads, found = TypeAdapter(Source), {}
    for key, value in document.items():
        try:
            found[key] = reads.validate_python(value)
        except ValidationError:
            continue
    return found


def explain(error: ValidationError) -> tuple[Place, str]:
    """The place and the reason of a validation error's first finding, in words a user can act on."""
    found = sorted(error.errors(include_url=False), key=lambda each: each["loc"][:1] != ("sources",))
    reason = str(found[0]["msg"]).removeprefix("Value error, ")
    reason = {"unexpected_keyword_argument": "is not a key known here", "missing": "is missing"}.get(
        found[0]["type"], reason
    )
    more = len(found) - 1
    return found[0]["loc"], reason + (f" (and {more} more)" if more else "")


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{path}: is {path.stat().st_size:,} bytes long, too long for a profile")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not a text file in UTF-8") from error


def _parsed(text: str, path: Path) -> object:
    try:
        return yaml.load(text, Loader=_Loader)  # a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise UserError(f"{path}: {line}{error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not YAML: {str(error).splitlines()[0]}") from error


def _place(text: str, place: Place) -> tuple[int, str]:
    """The line of the deepest part of `place` that the file has, and its dotted name."""
    node = yaml.compose(text, Loader=_Loader)
    line, parts = 1, []
    for part in place:
        found = _child(node, part)
        if found is not None:
            node, line = found, found.start_mark.line + 1
        if found is not None or part == place[-1]:
            parts.append(str(part))
    return line, ".".join(parts)


def _child(node: Any, part: str | int) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part]
    return None
