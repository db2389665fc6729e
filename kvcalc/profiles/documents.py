"""Profile files: strict YAML in, a profile out, and every error with its file, line and field."""

import re
from collections.abc import Hashable, Mapping
from datetime import date
from functools import cache as once
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from kvcalc.errors import UserError, shown
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.markers import Text
from kvcalc.profiles.sources import Context, Source, given

if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where libyaml is there

P = TypeVar("P", bound=Profile)
Place = tuple[str | int, ...]

_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
LARGEST_FILE = 1_000_000  # bytes; the largest shipped profile has 20,000


class _Odd:
    """What YAML 1.1 reads in a way that nobody expects: 12:30 as 750, 010 as 8. No field takes it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class _Loader(_Base):
    """Safe, without YAML's silent choice of the last of two equal keys and without its odd numbers and days."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable) or key in seen:
                problem = (
                    f"key {shown(key)} is given twice" if isinstance(key, Hashable) else "a key must be plain text"
                )
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def whole(self, node: yaml.ScalarNode) -> int | _Odd:
        """A whole number in plain decimal digits."""
        return int(node.value) if _DECIMAL.fullmatch(node.value) else _Odd(node.value)

    def day(self, node: yaml.ScalarNode) -> date | _Odd:
        """A day that there is."""
        try:
            return date.fromisoformat(node.value)
        except ValueError:
            return _Odd(node.value)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.whole)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.day)


def load(kind: type[P], path: Path) -> P:
    """The profile in a file. Raises UserError with file, line, field, what is wrong and what is expected."""
    return loads(kind, _text(path), path)


def loads(kind: type[P], text: str, path: Path) -> P:
    """The profile in the text of a file. Raises UserError as `load` does."""
    document = _parsed(text, path)
    if not isinstance(document, Mapping):
        raise UserError(f"{path}: is not a profile: it holds no keys and values")
    word, wanted = document.get("kind"), kind.__name__.lower()
    if isinstance(word, str) and word != wanted:
        raise UserError(f"{path}: is a profile of kind {shown(word)}, not of kind {wanted!r}")
    context = Context(_sources(document.get("sources")))
    try:
        profile: P = _adapter(kind).validate_python(document, context=context)  # type: ignore[arg-type]
    except ValidationError as error:
        raise _misplaced(path, text, *_explained(error)) from error
    if context.unused:
        place = ("sources", context.unused[0])
        raise _misplaced(path, text, place, "is used by no figure; use it or take it out")
    return profile


@once
def _adapter(kind: Any) -> Any:
    """Building one takes longer than reading a file."""
    return TypeAdapter(kind)


def read(path: Path) -> object:
    """The document in a YAML file, not validated. Raises UserError with file and line."""
    return _parsed(_text(path), path)


def _misplaced(path: Path, text: str, place: Place, reason: str) -> UserError:
    line, field = _place(text, place)
    return UserError(f"{path}: line {line}: {field}: {reason}")


def _sources(document: object) -> dict[str, Source]:
    """The sources by key; what is wrong with one is found with the profile, and any stands for it till then."""
    reads, found = _adapter(Source), {}
    for key, value in document.items() if isinstance(document, Mapping) else ():
        try:
            found[key] = reads.validate_python(value)
        except ValidationError:
            found[key] = given(key)
    return found


def _explained(error: ValidationError) -> tuple[Place, str]:
    """The place and the reason of a validation error's first finding, in words a user can act on."""
    every = error.errors(include_url=False)
    within = {each["loc"][:depth] for each in every for depth in range(len(each["loc"]))}
    found = [each for each in every if each["loc"] not in within]  # a list that lacks a wrong member is no news
    found.sort(key=lambda each: (each["loc"][:1] != ("sources",), each["type"] != "unexpected_keyword_argument"))
    first, more = found[0], len(found) - 1
    return first["loc"], _in_words(first) + (f" (and {more} more)" if more else "")


def _in_words(found: Mapping[str, Any]) -> str:
    """What is wrong, without pydantic's own terms."""
    context = found.get("ctx", {})
    if found["type"] == "string_pattern_mismatch":
        return (
            "must be text on one line, not blank"
            if context["pattern"] == Text.NOT_BLANK
            else "has letters that a name can't have"
        )
    reasons = {
        "unexpected_keyword_argument": "is not a key known here",
        "missing": "is missing",
        "union_tag_not_found": "has no 'kind'",
        "union_tag_invalid": f"kind {shown(context.get('tag'))} is none of {context.get('expected_tags')}",
        "too_short": "must not be empty",
    }
    reason = str(found["msg"]).removeprefix("Value error, ").replace("Input should", "should").replace("a valid", "a")
    return reasons.get(found["type"], reason)


def _text(path: Path) -> str:
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            raise UserError(f"{path}: is not a plain file")
        if found.st_size > LARGEST_FILE:
            raise UserError(f"{path}: is {found.st_size:,} bytes long, too long for a profile")
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
        if "tag:yaml.org,2002:merge" in str(error):
            raise UserError(f"{path}: {line}merge keys (<<) are not read; write the keys out") from error
        hint = "; a text with [ ] inside { } stands in quotes" if "',' or '}'" in str(error.problem) else ""
        raise UserError(f"{path}: {line}{error.problem or error.context}{hint}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not YAML: {str(error).splitlines()[0]}") from error
    except (KeyError, TypeError) as error:  # PyYAML's own, of values that don't suit their tags
        raise UserError(f"{path}: has a value that does not suit its tag (!!); leave the tag out") from error


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
