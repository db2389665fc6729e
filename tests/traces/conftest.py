"""Writing small traces and reading them."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kvcalc.traces.read import read
from kvcalc.traces.reader import Reading
from kvcalc.traces.trace import Trace


@pytest.fixture
def trace_of(tmp_path: Path) -> Callable[..., Trace]:
    """Write lines, or objects as lines of JSON, to a file of this name and read it; options by name."""

    def make(*lines: Any, name: str = "trace.jsonl", end: str = "\n", **options: Any) -> Trace:
        text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines) + end
        packed = {".gz": gzip.compress, ".zst": zstandard.compress}.get(Path(name).suffix, bytes)
        (tmp_path / name).write_bytes(packed(text.encode()))
        return read(tmp_path / name, Reading(**options))

    return make


@pytest.fixture
def row() -> Callable[..., dict[str, Any]]:
    """A Mooncake row; three blocks of 512 tokens unless it is told otherwise."""

    def make(time: float = 0, ids: Any = (1, 2, 3), tokens: int | None = None, **more: Any) -> dict[str, Any]:
        length = 512 * len(ids) - 100 if tokens is None else tokens
        return {"timestamp": time, "input_length": length, "output_length": 7, "hash_ids": list(ids)} | more

    return make
