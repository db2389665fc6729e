"""A trace from its file or folder: the format found, rows read and checked, columns put in order."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.traces import clock, lines
from kvcalc.traces.bailian import Bailian
from kvcalc.traces.block_size import block_size
from kvcalc.traces.builder import Builder
from kvcalc.traces.clock import Arrival, Unit
from kvcalc.traces.counts import TokenCounts
from kvcalc.traces.extra import need
from kvcalc.traces.mooncake import Mooncake
from kvcalc.traces.ragpulse import RagPulse
from kvcalc.traces.row import Row, Unreadable, WideIds
from kvcalc.traces.trace import Trace
from kvcalc.traces.weka import Weka

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Reader(Protocol):
    """Objects of a file to rows. What the file states about itself is in the attributes after reading."""

    title: str
    unit: Unit
    block_size: int | None
    usual_block_size: int
    local_ids: bool  # does each session count its ids from the start?
    local_clock: bool  # and its time?

    def fits(self, found: Mapping[str, Any]) -> bool:
        """Is this an object of its format?"""

    def rows(self, found: Mapping[str, Any]) -> Sequence[Row]:
        """The requests of one object. Raises Unreadable."""


FORMATS: dict[str, type[Reader]] = {  # in the order in which they are tried
    "bailian": Bailian,
    "weka": Weka,
    "ragpulse": RagPulse,
    "mooncake": Mooncake,
    "counts": TokenCounts,
}
UNKNOWN = 100  # rows without a known format before a file is given up


@frozen
class Reading:
    """How to read a trace; None is found out."""

    format: str | None = None
    time_unit: Unit | None = None
    block_size: int | None = None
    rate: float = 1.0  # of the distinct blocks that are kept
    arrival: Arrival | None = None
    shared_prefix: int | None = None  # the model of reuse for traces that name no blocks: tokens that all prompts share


class _Read:
    """What was read, and what had to be left out."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.builder = Builder(reading.rate)
        self.reader: Reader | None = None
        self.file = ""  # being read
        self.blank = self.bad = 0
        self.first = ""  # where the first bad row is, and why

    def refuse(self, number: int, reason: str) -> None:
        """Leave out what stands on a line of the file."""
        self.bad += 1
        self.first = self.first or f"{self.file} line {number}: {reason}"

    def take(self, number: int, found: object, text: bytes = b"") -> None:
        """The rows of one object; its text is read anew where ids were lost for being wide."""
        try:
            if type(found) is not dict:
                raise Unreadable("not a JSON object")
            reader = self.reader = self.reader or self._reader(found)
            rows = reader.rows(found)
        except WideIds as error:
            if text:
                self.take(number, json.loads(text))
            else:
                self.refuse(number, str(error))
            return
        except Unreadable as error:
            self.refuse(number, str(error))
            return
        if reader.local_ids and rows:
            self.builder.fresh()
        for each in rows:
            self.builder.add(each)

    def _reader(self, found: Mapping[str, Any]) -> Reader:
        name = self.reading.format or next((name for name, made in FORMATS.items() if made().fits(found)), None)
        if name is not None:
            return TokenCounts(self.reading.shared_prefix) if name == "counts" else FORMATS[name]()
        if self.bad > UNKNOWN:
            raise UserError(f"no known trace format: {self.first}")
        keys = ", ".join(map(str, list(found)[:6]))
        raise Unreadable(f"a row of {keys} is of no known format; --trace-format names one of {', '.join(FORMATS)}")


def read(path: Path | str, reading: Reading | None = None, progress: Callable[[int, int], None] | None = None) -> Trace:
    """Read a trace. `progress` is told bytes read and bytes in all.

    Raises UserError for a file that can't be read, holds no requests, or is mostly of rows that can't be used.
    """
    need("numpy", "numba", "orjson")
    asked = reading or Reading()
    if asked.format is not None and asked.format not in FORMATS:
        raise UserError(f"no trace format {shown(asked.format)}; one of {', '.join(FORMATS)}")
    found = lines.files(Path(path))
    total, before = sum(each.stat().st_size for each in found), 0
    taken = _Read(asked)
    for each in found:
        _file(each, taken, _from(before, total, progress))
        before += each.stat().st_size
        if progress:
            progress(before, total)
    taken.builder.flush()
    rows = len(taken.builder.lengths)
    if taken.reader is None or not rows:
        raise UserError(f"{str(path)!r} holds no requests" + (f"; {taken.first}" if taken.first else ""))
    if taken.bad > rows:
        raise UserError(f"{str(path)!r}: {taken.bad:,} of {taken.bad + rows:,} rows can't be used; {taken.first}")
    return _trace(taken, taken.reader)


def _from(before: int, total: int, progress: Callable[[int, int], None] | None) -> lines.Progress:
    """The progress through one file as progress through all."""
    return lambda done: progress(before + done, total) if progress else None


def _file(path: Path, taken: _Read, progress: lines.Progress) -> None:
    taken.file = path.name
    if lines.kind(path) == ".csv":
        for number, found in lines.table(path, progress):
            taken.take(number, found)
        return
    import orjson

    for number, text in lines.texts(path, progress):
        if not text:
            taken.blank += 1
            continue
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            taken.refuse(number, f"not JSON ({str(error).split(':')[0]})")
            continue
        for each in value if type(value) is list else (value,):
            taken.take(number, each, text if each is value else b"")


def _trace(taken: _Read, reader: Reader) -> Trace:
    import numpy as np

    builder = taken.builder
    times, inputs = np.frombuffer(builder.arrival), np.frombuffer(builder.input, np.int32)
    lengths, session = np.frombuffer(builder.lengths, np.int32), np.frombuffer(builder.session, np.int32)
    blocks, tokens = np.concatenate(builder.kept), np.concatenate(builder.tokens)
    builder.kept.clear()
    if len(tokens) not in (0, len(blocks)):
        raise UserError("some rows give the tokens of their blocks and others don't")
    asked = taken.reading
    unit, odd = (reader.unit, ()) if reader.local_clock else clock.unit(times, reader.unit, asked.time_unit)
    unit = asked.time_unit or unit
    arrival = times * clock.SECONDS[unit]
    if reader.local_clock:
        arrival = clock.overlay(arrival, session, asked.arrival or Arrival())
    elif asked.arrival and asked.arrival.way != "recorded":
        raise UserError("--arrival is for sessions without a common clock; the times of this trace have one")
    if len(tokens):
        size = block_size(inputs[:0], lengths[:0], int(tokens.max(initial=1)), None, None)
    else:
        size = block_size(inputs, lengths, reader.usual_block_size, reader.block_size, asked.block_size)
    return Trace(
        format=reader.title,
        time_unit=unit,
        block_size=size.tokens,
        arrival_s=arrival,
        input_tokens=inputs,
        output_tokens=np.frombuffer(builder.output, np.int32),
        session=session,
        lengths=lengths,
        starts=np.concatenate([[0], np.cumsum(np.concatenate(builder.kept_lengths))]),
        blocks=blocks,
        places=np.concatenate(builder.places) if builder.places else None,
        block_tokens=tokens if len(tokens) else None,
        order=np.argsort(arrival, kind="stable"),
        distinct=builder.distinct,
        sessions=builder.sessions,
        rate=builder.rate,
        notes=(*_left_out(taken), *odd, *size.notes, *_oddities(taken, reader, arrival)),
    )


def _left_out(taken: _Read) -> Iterator[str]:
    if taken.bad:
        yield f"{taken.bad:,} rows left out, the first at {taken.first}"
    if taken.blank:
        yield f"{taken.blank:,} blank lines"


def _oddities(taken: _Read, reader: Reader, arrival: "NDArray[np.float64]") -> Iterator[str]:
    """Of the order and of the clock."""
    import numpy as np

    builder = taken.builder
    if builder.timed < len(arrival):
        yield f"{len(arrival) - builder.timed:,} requests have no time and stand at its beginning"
    if reader.local_clock:
        way = taken.reading.arrival or Arrival()
        if way.way == "recorded" and builder.sessions > 1:
            yield (
                "sessions have no common clock and all begin at once, which a small cache feels most; "
                "--arrival stagger=60s or concurrency=8 lays them out"
            )
        return
    backwards = int(np.count_nonzero(np.diff(arrival) < 0))
    if backwards:
        yield f"not sorted by time: {backwards:,} requests come before the one above them; sorted here"
