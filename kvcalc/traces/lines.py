"""Files of a trace as JSON texts or rows of CSV: plain, .gz or .zst, a line at a time."""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from kvcalc.errors import UserError
from kvcalc.traces.extra import need

Progress = Callable[[int], None]  # bytes of the file read so far
PACKED = {".gz", ".zst"}
SUFFIXES = {".json", ".jsonl", ".csv"}
BOM = b"\xef\xbb\xbf"  # of UTF-8, which some editors put first
EVERY = 512  # lines between two reports


def kind(path: Path) -> str:
    """The suffix under the packing: ".jsonl" of "trace.jsonl.gz"."""
    suffixes = [each.lower() for each in path.suffixes]
    return next((each for each in reversed(suffixes) if each not in PACKED), "")


def files(path: Path) -> list[Path]:
    """The file, or the files of a folder by name; lengths of RAGPulse's chunks before the trace that uses them."""
    if not path.exists():
        raise UserError(f"no file or folder {str(path)!r}")
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.is_file() and kind(each) in SUFFIXES)
        if not found:
            raise UserError(
                f"folder {str(path)!r} holds no .json, .jsonl or .csv files, plain, .gz or .zst{_below(path)}"
            )
    else:
        beside = path.parent.glob("[1-5]_*.jsonl*") if path.name.startswith("0_trace.jsonl") else ()
        found = [*sorted(beside), path]
    return sorted(found, key=lambda each: each.name.startswith("0_trace.jsonl"))


def _below(path: Path) -> str:
    found = inner(path)
    return f"; folders inside, such as {found[0]!r}, are not looked into" if found else ""


def inner(path: Path) -> list[str]:
    """The names of the folders in a folder, which `files` does not look into."""
    return sorted(each.name for each in path.iterdir() if each.is_dir()) if path.is_dir() else []


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The unpacked stream, and the file below it, whose position tells the progress."""
    broken: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, *_zst_errors(path))
    try:
        with path.open("rb") as raw:
            yield _unpacked(path, raw), raw
    except broken as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{str(path)!r} can't be read: {reason.lower()}") from None


def _unpacked(path: Path, raw: IO[bytes]) -> IO[bytes]:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if suffix == ".zst":
        need("zstandard")
        import zstandard

        stream = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return io.BufferedReader(cast(io.RawIOBase, stream), 2**18)
    return raw


def _zst_errors(path: Path) -> tuple[type[Exception], ...]:
    if path.suffix.lower() != ".zst":
        return ()
    need("zstandard")
    import zstandard

    return (zstandard.ZstdError,)


def texts(path: Path, progress: Progress) -> Iterator[tuple[int, bytes]]:
    """JSON texts and the lines where they begin; blank lines are empty texts. A file that is one value is one text."""
    with opened(path) as (stream, raw):
        for number, line in enumerate(stream, 1):
            if number == 1:
                line = line.removeprefix(BOM)
            text = line.strip()
            if number == 1 and (text in (b"{", b"[", b"[{") or kind(path) == ".json"):
                yield from _whole(line + stream.read())
                return
            yield number, text
            if number % EVERY == 0:
                progress(raw.tell())


def _whole(text: bytes) -> Iterator[tuple[int, bytes]]:
    """One value over all lines, or one a line after all."""
    import orjson

    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        yield from ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    else:
        yield 1, text


def table(path: Path, progress: Progress) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a CSV file with the numbers of their lines; a row that lacks cells is short of their keys."""
    with opened(path) as (stream, raw):
        rows = csv.DictReader(io.TextIOWrapper(stream, "utf-8-sig", "replace"))
        for number, found in enumerate(rows, 2):
            yield number, {key: value for key, value in found.items() if key and value is not None}
            if number % EVERY == 0:
                progress(raw.tell())
