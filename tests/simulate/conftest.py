"""Traces of the tests, and their counts."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvcalc.traces.read import read
from kvcalc.traces.trace import Trace

DATA = Path(__file__).resolve().parents[1] / "data" / "traces"


@pytest.fixture(scope="session")
def golden() -> Any:
    """Counts that were made apart from this program."""
    return json.loads((DATA / "golden.json").read_text())


@pytest.fixture(scope="session")
def mooncake(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trace]:
    """A Mooncake trace by its name in golden.json; a fixture's name says how many lines of a whole trace it is."""
    folder = tmp_path_factory.mktemp("traces")
    known: dict[str, Trace] = {}
    excerpts = {
        "fixture_arxiv_first20": "mooncake_arxiv_first20.jsonl",
        "fixture_arxiv_excerpt": "mooncake_arxiv_excerpt_1178625ms.jsonl",
    }

    def load(name: str) -> Trace:
        if name not in known:
            if name in excerpts:
                path = DATA / excerpts[name]
            elif name.startswith("fixture_"):
                kind, lines = name.removeprefix("fixture_").split("_first")
                whole = gzip.decompress((DATA / f"mooncake_{kind}.jsonl.gz").read_bytes())
                path = folder / f"{name}.jsonl"
                path.write_bytes(b"".join(whole.splitlines(keepends=True)[: int(lines)]))
            else:
                path = DATA / f"{name}.jsonl.gz"
            known[name] = read(path)
        return known[name]

    return load
