"""The kinds of fields that profiles have: figures with unit and source, counts, words, and what every profile has."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any

from kvcalc import units
from kvcalc.errors import UserError, shown
from kvcalc.profiles.markers import Flag, NotEmpty, Text, Whole, part
from kvcalc.profiles.sources import Context, Figure, Range, Source, exactly, figure

if TYPE_CHECKING:
    from pydantic import ValidationInfo


class Reads:
    """A figure, or a range of figures, as text with a unit and the key of its source: `55 GB/s [nvbandwidth]`."""

    def __init__(self, read: Callable[[str], float], unit: str, example: str, ranged: bool = False) -> None:
        self.read, self.unit, self.example, self.ranged = read, unit, example, ranged

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """A plain function: the text, its unit and its source are checked in one place."""
        from pydantic_core import core_schema

        return core_schema.with_info_plain_validator_function(self._range if self.ranged else self._figure)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        """A string with its source in brackets, or three of them."""
        text = {"type": "string", "pattern": r"^.+\[[\w.+-]+\]$", "examples": [f"{self.example} [source-key]"]}
        if not self.ranged:
            return text
        keys = {"low": text, "typical": text, "high": text}
        three = {"type": "object", "properties": keys, "required": ["typical"], "additionalProperties": False}
        return {"anyOf": [text, three]}

    def _figure(self, raw: object, info: "ValidationInfo") -> Figure:
        return raw if isinstance(raw, Figure) else figure(raw, _context(info), self.read)

    def _range(self, raw: object, info: "ValidationInfo") -> Range:
        if isinstance(raw, Range):
            return raw
        if not isinstance(raw, Mapping):
            return exactly(self._figure(raw, info))
        if "typical" not in raw or not set(raw) <= {"low", "typical", "high"}:
            keys = shown(", ".join(map(str, raw)))
            raise UserError(f"a range has the keys low, typical and high (typical is required), not {keys}")
        typical = self._figure(raw["typical"], info)
        low, high = (self._figure(raw[key], info) if key in raw else typical for key in ("low", "high"))
        if not low.value <= typical.value <= high.value:
            raise UserError("low, typical and high are not in this order")
        return Range(low, typical, high)


def _context(info: "ValidationInfo") -> Context:
    """The sources of the profile being read; without one there are none."""
    found = info.context
    return found if isinstance(found, Context) else Context({})


class Cites:
    """The key of a source."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """The source that the key names."""
        from pydantic_core import core_schema

        return core_schema.with_info_plain_validator_function(self._cited)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        """A key."""
        return {"type": "string", "description": "a key listed under sources"}

    def _cited(self, raw: object, info: "ValidationInfo") -> Source:
        return raw if isinstance(raw, Source) else _context(info).cite(raw)


class Seconds:
    """A time as text with a unit, its source named once for all of its kind."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """The text's value in seconds."""
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_seconds, core_schema.float_schema(gt=0))

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        """Text."""
        return {"type": "string", "examples": ["47.9 ms"]}


def _seconds(raw: object) -> float:
    if not isinstance(raw, str):
        raise UserError(f"{shown(raw)} is not a time with its unit; write one like '47.9 ms'")
    return units.seconds(raw)


def _positive(read: Callable[[str], float]) -> Callable[[str], float]:
    def checked(text: str) -> float:
        value = read(text)
        if value <= 0:
            raise UserError(f"{shown(text)} must be above zero")
        return value

    return checked


Count = Annotated[int, Whole(1)]
Zero = Annotated[int, Whole(0)]
Parameters = Annotated[int, Whole(1, 10**14)]
Switch = Annotated[bool, Flag()]
Word = Annotated[str, Text()]
Name = Annotated[str, Text(r"^[a-z0-9][a-z0-9.+-]*$")]

Size = Annotated[Figure, Reads(_positive(units.size), "B", "80 GB")]
Time = Annotated[Figure, Reads(units.seconds, "s", "3.5 us")]
Rate = Annotated[Figure, Reads(_positive(units.rate), "B/s", "63 GB/s")]
Compute = Annotated[Figure, Reads(_positive(units.compute), "FLOP/s", "989.4 TFLOP/s")]
TokenRate = Annotated[Figure, Reads(_positive(units.token_rate), "tok/s", "50000 tok/s")]
Percent = Annotated[Figure, Reads(units.percent, "%", "14 %")]
Number = Annotated[Figure, Reads(units.number, "", "0.4")]
TimeRange = Annotated[Range, Reads(units.seconds, "s", "10 us", ranged=True)]
RateRange = Annotated[Range, Reads(_positive(units.rate), "B/s", "55 GB/s", ranged=True)]
Cited = Annotated[Source, Cites()]
Points = Annotated[dict[Count, Annotated[float, Seconds()]], NotEmpty()]  # tokens -> time


@part
class Profile:
    """What every profile has."""

    name: Name
    title: Word
    notes: tuple[Word, ...] = ()
    sources: dict[str, Source] = field(default_factory=dict)
