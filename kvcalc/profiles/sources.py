"""Figures that carry their source, and the strict reading of a profile that holds them.

A figure is text with a unit and the key of its source: `55 GB/s [nvbandwidth]`. A profile lists its sources under
`sources:`; a key that is not listed and a source that is not used are both refused.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import CoreSchema, core_schema

from kvcalc import units
from kvcalc.errors import UserError

Basis = Literal["datasheet", "config", "measured", "paper", "textbook", "fit", "estimate", "given"]
Corner = Literal["fast", "typical", "slow"]
# config: a model's published configuration; given: an option on the command line, never in a file


class Strict(BaseModel):
    """Refuses unknown keys, infinities and changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Source(Strict):
    """Where a number comes from."""

    title: Annotated[str, Field(min_length=3)]
    address: Annotated[str, Field(min_length=3)]  # a URL, repository@commit:path, or the method of a measurement
    basis: Basis
    checked: date
    note: str | None = None  # conditions, doubts, what else was seen


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in SI units and its source."""

    value: float
    source: Source


@dataclass(frozen=True, slots=True)
class Range:
    """The least, the usual and the greatest value seen; equal where only one figure is known."""

    low: Figure
    typical: Figure
    high: Figure

    def at(self, corner: Corner) -> float:
        """The value that makes a fast, a typical or a slow path, where more is faster."""
        return {"fast": self.high, "typical": self.typical, "slow": self.low}[corner].value

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Each figure once, the usual first."""
        return tuple(dict.fromkeys((self.typical, self.low, self.high)))


def exactly(figure: Figure) -> Range:
    """A range of one figure."""
    return Range(figure, figure, figure)


_FIGURE = re.compile(r"(?P<text>[^\[\]]*\S)\s*\[(?P<source>[\w.+-]+)\]")


@dataclass(slots=True)
class Context:
    """The sources of the profile being read, and which of them its figures have used so far."""

    sources: dict[str, Source]
    used: set[str]


def _figure(raw: object, info: ValidationInfo, read: Callable[[str], float]) -> Figure:
    if isinstance(raw, Figure):
        return raw
    context: Context = info.context
    found = _FIGURE.fullmatch(raw.strip()) if isinstance(raw, str) else None
    if found is None:
        raise UserError(f"{raw!r} does not name its source; write one like '55 GB/s [key]', the key from 'sources'")
    key = found["source"]
    if key not in context.sources:
        known = ", ".join(sorted(context.sources)) or "none"
        raise UserError(f"source {key!r} is not listed under 'sources'; listed: {known}")
    context.used.add(key)
    return Figure(read(found["text"]), context.sources[key])


def _cited(raw: object, info: ValidationInfo) -> Source:
    if isinstance(raw, Source):
        return raw
    context: Context = info.context
    if not isinstance(raw, str) or raw not in context.sources:
        raise UserError(f"{raw!r} is not listed under 'sources'; listed: {', '.join(sorted(context.sources))}")
    context.used.add(raw)
    return context.sources[raw]


def _range(raw: object, info: ValidationInfo, read: Callable[[str], float]) -> Range:
    if isinstance(raw, Range):
        return raw
    if not isinstance(raw, Mapping):
        return exactly(_figure(raw, info, read))
    if "typical" not in raw or not set(raw) <= {"low", "typical", "high"}:
        raise UserError(f"a range has the keys low, typical and high (typical is required), not {', '.join(raw)}")
    typical = _figure(raw["typical"], info, read)
    low = _figure(raw["low"], info, read) if "low" in raw else typical
    high = _figure(raw["high"], info, read) if "high" in raw else typical
    if not low.value <= typical.value <= high.value:
        raise UserError("low, typical and high are not in this order")
    return Range(low, typical, high)


@dataclass(frozen=True, slots=True)
class Reads:
    """Tells pydantic how the text of a figure becomes a number."""

    read: Callable[[str], float]
    example: str
    ranged: bool = False

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A plain function: the text, its unit and its source are checked in one place."""
        parse = _range if self.ranged else _figure
        return core_schema.with_info_plain_validator_function(lambda raw, info: parse(raw, info, self.read))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """A string with its source in brackets, or three of them."""
        text = {"type": "string", "pattern": r"^.+\[[\w.+-]+\]$", "examples": [f"{self.example} [source-key]"]}
        if not self.ranged:
            return text
        keys = {"low": text, "typical": text, "high": text}
        three = {"type": "object", "properties": keys, "required": ["typical"], "additionalProperties": False}
        return {"anyOf": [text, three]}


@dataclass(frozen=True, slots=True)
class Cites:
    """Tells pydantic to read a source's key."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The source that the key names."""
        return core_schema.with_info_plain_validator_function(_cited)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """A key."""
        return {"type": "string", "description": "a key listed under sources"}


def _positive(read: Callable[[str], float]) -> Callable[[str], float]:
    def checked(text: str) -> float:
        value = read(text)
        if value <= 0:
            raise UserError(f"{text!r} must be above zero")
        return value

    return checked


Size = Annotated[Figure, Reads(_positive(units.size), "80 GB")]
Time = Annotated[Figure, Reads(units.seconds, "3.5 us")]
Rate = Annotated[Figure, Reads(_positive(units.rate), "63 GB/s")]
Compute = Annotated[Figure, Reads(_positive(units.compute), "989.4 TFLOP/s")]
TokenRate = Annotated[Figure, Reads(_positive(units.token_rate), "50000 tok/s")]
Percent = Annotated[Figure, Reads(units.percent, "14 %")]
Number = Annotated[Figure, Reads(units.number, "0.4")]
TimeRange = Annotated[Range, Reads(units.seconds, "10 us", ranged=True)]
RateRange = Annotated[Range, Reads(_positive(units.rate), "55 GB/s", ranged=True)]

Cited = Annotated[Source, Cites()]

Count = Annotated[int, Field(strict=True, gt=0)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]*$")]


class Profile(Strict):
    """What every profile has."""

    name: Name
    title: Annotated[str, Field(min_length=3)]
    notes: tuple[str, ...] = ()
    sources: dict[str, Source] = Field(min_length=1)


P = TypeVar("P", bound=Profile)


def parse(kind: type[P], document: object) -> P:
    """A profile from a parsed file. Raises pydantic's ValidationError, or UserError for a source that is not used."""
    if not isinstance(document, Mapping):
        raise UserError("is not a profile: it holds no keys and values")
    sources = _Sources.model_validate({"sources": document.get("sources", {})}).sources
    context = Context(sources, set())
    profile = kind.model_validate(document, context=context)
    unused = sorted(set(sources) - context.used)
    if unused:
        raise UserError(f"sources: {', '.join(map(repr, unused))} is used by no figure; use it or take it out")
    return profile


class _Sources(BaseModel):
    sources: dict[str, Source]


def explain(error: ValidationError) -> tuple[tuple[str | int, ...], str]:
    """The place and the reason of a validation error's first finding, in words a user can act on."""
    first = error.errors(include_url=False)[0]
    reason = str(first["msg"]).removeprefix("Value error, ")
    more = error.error_count() - 1
    if first["type"] == "extra_forbidden":
        reason = "is not a key known here; remove it or correct its spelling"
    if first["type"] == "missing":
        reason = "is missing"
    return first["loc"], reason + (f" (and {more} more)" if more else "")
