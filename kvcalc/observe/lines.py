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
from kvcalc.observe import prefix

BLOCK = 4 * 1024 * 1024  # bytes read at a time
LONGEST = 16 * BLOCK  # no line of a log is longer
START = 8192  # bytes that show what a file is
LATEST = 16  # lines of each block that say the same again

# Escapes, as bytes, as `cat -v` and syslog write them, and in JSON.
_COLOUR = rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\n]*\x07|\x1b[@-_]|\^\[\[[\d;]*m|#033\[[\d;]*m|\\u001[bB]\[[\d;]*m"
_COLOURS = re.compile(_COLOUR)
_ESCAPES = (b"\x1b", b"^[[", b"#033[", b"\\u001b", b"\\u001B")
_MESSAGE = ("log", "message", "msg", "MESSAGE", "textPayload", "line", "body", "text", "event")
_PRETTY = re.compile(r'\s*"(?:log|message|msg|MESSAGE)":\s*("(?:[^"\\]|\\.)*"),?\s*')
_LOGFMT = re.compile(r'(?:\w+=[^\s"]* )+(?:msg|message)="((?:[^"\\]|\\.)*)"')
_WRAPPED = 3  # times that one shipper wraps what another wrapped
_PACKED = ((b"\x1f\x8b", "gzip"), (b"(\xb5/\xfd", "zstd"), (b"PK", "zip"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"))
_WIDE = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # what PowerShell's > writes


def marked(source: str, markers: frozenset[str], repeated: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """Line numbers and lines of a log, counted from 1: those that contain one of `markers`.

    Of lines that hold one of the `repeated` markers, which say the same again and again, only some of the latest.

    `source` is a path, or `-` for stdin. Raises UserError for what cannot be read and for what is not text.
    """
    if source == "-":
        yield from of_stream(sys.stdin.buffer, "stdin", markers, repeated)
        return
    try:
        with Path(source).open("rb") as stream:
            yield from of_stream(stream, repr(source), markers, repeated)
    except OSError as error:
        raise UserError(f"{source!r} cannot be read: {error.strerror}; name an engine's log, or - for stdin") from error


def of_text(text: str, markers: frozenset[str], repeated: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """The same for a log that is held already."""
    yield from of_stream(io.BytesIO(text.encode("utf-8", "replace")), "the text", markers, repeated)


def of_stream(
    stream: BinaryIO, name: str, markers: frozenset[str], repeated: frozenset[str] = frozenset()
) -> Iterator[tuple[int, str]]:
    """The same for a stream of bytes; most of a long log is searched and counted, never split into lines."""
    known, latest = _bytes(markers), _bytes(repeated)
    above = 1
    for block in map(_uncoloured, _blocks(stream, name)):
        counted = 0
        for start, end in sorted(_spans(block, known) | _latest(block, latest)):
            above += block.count(b"\n", counted, start)
            counted = start
            for part in block[start:end].decode("utf-8", "replace").split("\r"):  # a progress bar overwrites its line
                yield above, plain(part)
        above += block.count(b"\n", counted)


def _bytes(markers: frozenset[str]) -> list[bytes]:
    """Without those that hold another one."""
    return [marker.encode() for marker in markers if not any(each in marker for each in markers - {marker})]


def _uncoloured(block: bytes) -> bytes:
    """A code inside a marker would hide it."""
    return _COLOURS.sub(b"", block) if any(escape in block for escape in _ESCAPES) else block


def _spans(block: bytes, markers: list[bytes]) -> set[tuple[int, int]]:
    """Where the lines that hold a marker begin and end."""
    found = set()
    for marker in markers:
        at = block.find(marker)
        while at >= 0:
            start, end = _line(block, at)
            found.add((start, end))
            at = block.find(marker, end)
    return found


def _latest(block: bytes, markers: list[bytes]) -> set[tuple[int, int]]:
    """The last lines that hold a marker: several, since a prompt may quote one and several engines may share a log."""
    found = set()
    for marker in markers:
        at = block.rfind(marker)
        for _ in range(LATEST):
            if at < 0:
                break
            start, end = _line(block, at)
            found.add((start, end))
            at = block.rfind(marker, 0, start)
    return found


def _line(block: bytes, at: int) -> tuple[int, int]:
    end = block.find(b"\n", at)
    return block.rfind(b"\n", 0, at) + 1, len(block) if end < 0 else end


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
    for _ in range(_WRAPPED):
        inner = _unwrapped(line)
        if inner == line:
            break
        line = inner
    return (line if line.isprintable() else _colourless(line)).strip()


def _colourless(line: str) -> str:
    return _uncoloured(line.encode("utf-8", "replace")).decode("utf-8", "replace")


def _unwrapped(line: str) -> str:
    """The message in a line of JSON or logfmt, as containers and log shippers write them; else the line itself."""
    if '"' not in line:
        return line
    if pretty := _PRETTY.fullmatch(line):
        return str(json.loads(pretty[1], strict=False))
    if logfmt := _LOGFMT.match(line):
        return logfmt[1]
    at = line.find('{"')
    if at < 0 or not prefix.leads(line, at):
        return line
    try:
        held, _ = json.JSONDecoder(strict=False).raw_decode(line[at:])
    except (ValueError, RecursionError):
        return line
    if isinstance(nested := held.get("jsonPayload"), dict):
        held = nested
    message = next((held[key] for key in _MESSAGE if isinstance(held.get(key), str)), None)
    return line if message is None else message
