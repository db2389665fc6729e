"""A log as plain lines: streamed, without colour codes, out of the JSON that containers wrap around them."""

import codecs
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kvcalc.errors import UserError

BLOCK = 4 * 1024 * 1024  # bytes read at a time
LONGEST = 16 * BLOCK  # no line of a log is longer
START = 8192  # bytes that show what a file is

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[@-_]|\^\[\[[\d;]*m|#033\[[\d;]*m")
_MESSAGE = ("log", "message", "msg", "MESSAGE", "textPayload", "line", "body", "text", "event")
_PACKED = ((b"\x1f\x8b", "gzip"), (b"(\xb5/\xfd", "zstd"), (b"PK", "zip"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"))
_WIDE = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # what PowerShell's > writes


def marked(source: str, markers: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Line numbers and lines of a log, counted from 1: those that contain one of `markers`.

    `source` is a path, or `-` for stdin. Raises UserError for what cannot be read and for what is not text.
    """
    if source == "-":
        yield from of_stream(sys.stdin.buffer, "stdin", markers)
        return
    try:
        with Path(source).open("rb") as stream:
            yield from of_stream(stream, repr(source), markers)
    except OSError as error:
        raise UserError(f"{source!r} cannot be read: {error.strerror}; name an engine's log, or - for stdin") from error


def of_text(text: str, markers: frozenset[str]) -> Iterator[tuple[int, str]]:
    """The same for a log that is held already."""
    yield from of_stream(io.BytesIO(text.encode("utf-8", "replace")), "the text", markers)


def of_stream(stream: BinaryIO, name: str, markers: frozenset[str]) -> Iterator[tuple[int, str]]:
    """The same for a stream of bytes; most of a long log is searched and counted, never split into lines."""
    known = [marker.encode() for marker in markers]
    above = 1
    for block in _blocks(stream, name):
        counted = 0
        for start, end in sorted(_spans(block, known)):
            above += block.count(b"\n", counted, start)
            counted = start
            for part in block[start:end].decode("utf-8", "replace").split("\r"):  # a progress bar overwrites its line
                yield above, plain(part)
        above += block.count(b"\n", counted)


def _spans(block: bytes, markers: list[bytes]) -> set[tuple[int, int]]:
    """Where the lines that hold a marker begin and end."""
    found = set()
    for marker in markers:
        at = block.find(marker)
        while at >= 0:
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            found.add((block.rfind(b"\n", 0, at) + 1, end))
            at = block.find(marker, end)
    return found


def _blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Whole lines, about `BLOCK` bytes of them at a time."""
    rest = _start(stream, name)
    wide = next((encoding for mark, encoding in _WIDE.items() if rest.startswith(mark)), None)
    decoder = codecs.getincrementaldecoder(wide)("replace") if wide else None
    _refuse_binary(rest, name, wide is not None)
    rest = decoder.decode(rest).encode() if decoder else rest
    while chunk := stream.read(BLOCK):
        whole, newline, rest = (rest + (decoder.decode(chunk).encode() if decoder else chunk)).rpartition(b"\n")
        if newline:
            yield whole + newline
        elif len(rest) > LONGEST:
            raise UserError(f"{name} has a line of more than {LONGEST} bytes: it is not a log; name an engine's log")
    if rest:
        yield rest


def _start(stream: BinaryIO, name: str) -> bytes:
    start = stream.read(START)
    if not start:
        raise UserError(f"{name} is empty; name an engine's start-up log")
    return start


def _refuse_binary(start: bytes, name: str, wide: bool) -> None:
    packed = next((kind for magic, kind in _PACKED if start.startswith(magic)), None)
    if packed:
        raise UserError(f"{name} is packed ({packed}); unpack it first")
    if b"\0" in start and not wide:
        raise UserError(f"{name} is not text; name an engine's log")


def plain(line: str) -> str:
    """A line as the engine printed it: no colour codes, no JSON around it."""
    return _COLOUR.sub("", _unwrapped(line)).strip()


def _unwrapped(line: str) -> str:
    """The message in a line of JSON, as Docker, Kubernetes and log shippers write them; else the line itself."""
    at = line.find('{"')
    if at < 0:
        return line
    try:
        held, _ = json.JSONDecoder().raw_decode(line[at:])
    except (ValueError, RecursionError):
        return line
    if isinstance(nested := held.get("jsonPayload"), dict):
        held = nested
    message = next((held[key] for key in _MESSAGE if isinstance(held.get(key), str)), None)
    return line if message is None else message
