"""Markers of a profile's fields that pydantic reads: whole numbers, switches, text, days, unions.

Profiles are plain frozen dataclasses and pydantic validates documents into them. Nothing here imports pydantic before a
document is validated, so that a command whose profiles are known already (see `cache`) doesn't wait for it.
"""

from collections.abc import Callable
from datetime import date
from typing import Any, TypeVar, dataclass_transform, get_args

from kvcalc import units
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def part(cls: type[T]) -> type[T]:
    """A frozen dataclass that refuses unknown keys, infinities and changes."""
    made = frozen(cls)
    made.__pydantic_config__ = {"extra": "forbid", "allow_inf_nan": False}  # type: ignore[attr-defined]
    return made


class Whole:
    """A whole number from `least` to `most`; true and 2.0 are not whole numbers."""

    def __init__(self, least: int, most: int = units.LARGEST_COUNT) -> None:
        self.least, self.most = least, most

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """Strict, since pydantic reads `true` as 1."""
        from pydantic_core import core_schema

        return core_schema.int_schema(strict=True, ge=self.least, le=self.most)


class Flag:
    """true or false."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """Strict, since pydantic reads 1 as true."""
        from pydantic_core import core_schema

        return core_schema.bool_schema(strict=True)


class Text:
    """Text that is not blank and, if a pattern is given, matches it."""

    NOT_BLANK = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"  # on one line

    def __init__(self, pattern: str = NOT_BLANK) -> None:
        self.pattern = pattern

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """A string."""
        from pydantic_core import core_schema

        return core_schema.str_schema(pattern=self.pattern)


class Day:
    """A date."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """A plain function, since pydantic reads a number as seconds since 1970."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(_day)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        """A date as text."""
        return {"type": "string", "format": "date"}


def _day(raw: object) -> date:
    if type(raw) is date:
        return raw
    try:
        return date.fromisoformat(str(raw))
    except ValueError:
        raise UserError(f"{shown(raw)} is not a day; write one like 2026-11-29") from None


class NotEmpty:
    """A collection with at least one member."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The collection's own schema with a least length."""
        return handler(source) | {"min_length": 1}


class But:
    """One of the words of a Literal, except these."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __get_pydantic_core_schema__(self, source: Any, handler: object) -> Any:
        """The Literal with the others."""
        from pydantic_core import core_schema

        return core_schema.literal_schema([word for word in get_args(source) if word not in self.words])


class Tagged:
    """A union whose members are told apart by their `kind`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Pydantic's tagged union."""
        from pydantic import Discriminator

        return Discriminator("kind").__get_pydantic_core_schema__(source, handler)


class Having:
    """A union of two: the second where the document has this key, the first where it has not."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """A tagged union, so that a finding is told of the one that was meant."""
        from pydantic_core import core_schema

        without, having = get_args(source)
        choices = {kind.__name__: handler(kind) for kind in (without, having)}

        def which(document: Any) -> str:
            found = isinstance(document, having) or (isinstance(document, dict) and self.key in document)
            return str((having if found else without).__name__)

        return core_schema.tagged_union_schema(choices, which)
