"""A trace from its file or folder: the format found, rows read and checked, what can't be used left out and counted."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kvcalc import units
from kvcalc.errors import UserError, shown
from kvcalc.traces import columns, lines
from kvcalc.traces.builder import Builder
from kvcalc.traces.counts import TokenCounts
from kvcalc.traces.extra import need
from kvcalc.traces.reader import FORMATS, Reader, Reading
from kvcalc.traces.row import LONGEST, Unreadable, WideIds
from kvcalc.traces.trace import Trace

UNKNOWN = 100  # rows without a known format before a file is given up


class _Read:
    """What was read, and what had to be left out."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.builder = Builder(reading.rate)
        self.reader: Reader | None = None
        self.file = ""  # being read
        self.begins = True  # has it given no row of a known format yet?
        self.parts = 0  # files of requests
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
            if self.begins:
                self._same(reader, found)
            rows = reader.rows(found)
            if self.begins and rows:
                self.begins = False
                self.parts += 1
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

    def _same(self, reader: Reader, found: Mapping[str, Any]) -> None:
        """Refuse a file that is of another format than those before. Raises UserError."""
        if self.reading.format is not None or not len(self.builder.lengths):
            return
        other = next((made() for made in FORMATS.values() if made().fits(found)), None)
        if other is not None and type(other) is not type(reader):
            raise UserError(f"{self.file!r} is {other.title}, and files before it are {reader.title}; read them apart")

    def _reader(self, found: Mapping[str, Any]) -> Reader:
        name = self.reading.format or next((name for name, made in FORMATS.items() if made().fits(found)), None)
        if name is not None and self.reading.shared_prefix is not None and "hash_ids" in found:
            raise UserError("--shared-prefix is for traces that name no blocks, and this one names them")
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
    if asked.block_size is not None and not 1 <= asked.block_size <= LONGEST:
        raise UserError(f"--block-size: {asked.block_size} is not a number of tokens from 1 to {LONGEST:,}")
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
    return columns.trace(taken.builder, taken.reader, asked, (*_unread(Path(path)), *_left_out(taken)))


def _unread(path: Path) -> Iterator[str]:
    """Folders in the folder, which are not looked into."""
    inner = lines.inner(path)
    if inner:
        more = f" and {len(inner) - 1} more" if len(inner) > 1 else ""
        yield f"not read: the folder{'s' if more else ''} {inner[0]!r}{more} inside"


def _from(before: int, total: int, progress: Callable[[int, int], None] | None) -> lines.Progress:
    """The progress through one file as progress through all."""
    return lambda done: progress(before + done, total) if progress else None


def _file(path: Path, taken: _Read, progress: lines.Progress) -> None:
    taken.builder.flush()
    taken.file, taken.begins = path.name, True
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


def _left_out(taken: _Read) -> Iterator[str]:
    if taken.bad:
        yield f"{units.counted(taken.bad, 'row')} left out, the first at {taken.first}"
    if taken.parts > 1 and taken.reader is not None and not taken.reader.local_ids:
        yield (
            f"{taken.parts} files with one numbering: equal ids of two files are one block; where each file numbers "
            "its own, read them one at a time"
        )
    if taken.blank:
        yield f"{units.counted(taken.blank, 'blank line')}"
