"""Direct I/O on the disk that the tests run on."""

import os
from pathlib import Path
from typing import get_args

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import direct
from kvcalc.measure.direct import Load, Way
from kvcalc.measure.samples import Budget

SIZE = 16 * 1024 * 1024


@pytest.mark.parametrize("way", get_args(Way))
@pytest.mark.parametrize("depth", [1, 3])
def test_every_load_moves_whole_blocks_past_the_page_cache(tmp_path: Path, way: Way, depth: int):
    with direct.scratch(tmp_path, SIZE) as handle:
        assert list(tmp_path.iterdir()) == []  # the file has no name
        rate = direct.run(handle, SIZE, Load(way, 65536, depth), Budget(0.05))
        assert direct.cached_share(handle, SIZE) == 0
        assert os.fstat(handle).st_size == SIZE
    assert rate.requests >= depth
    assert 0 < rate.p50_s <= rate.p99_s
    assert rate.bytes_per_s > 0


def test_what_the_page_cache_holds_is_seen(tmp_path: Path):
    with direct.scratch(tmp_path, SIZE) as handle:
        plain = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY)
        os.read(plain, SIZE)
        os.close(plain)
        assert direct.cached_share(handle, SIZE) > 0.9


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="no such file or directory; name a folder on the disk"):
        direct.scratch(tmp_path / "gone", SIZE).__enter__()


def test_a_filesystem_that_only_has_files_with_names_gets_one_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened = os.open

    def plain(path: object, flags: int, *more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(95, "Operation not supported")
        return opened(path, flags, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", plain)
    with direct.scratch(tmp_path, SIZE) as handle:
        assert list(tmp_path.iterdir()) == []
        assert os.fstat(handle).st_size == SIZE


def test_a_full_disk_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(UserError, match="the disk failed while it was filled: No space left"):
        direct.scratch(tmp_path, SIZE).__enter__()


def test_a_request_cut_short_is_a_failure(tmp_path: Path):
    with direct.scratch(tmp_path, SIZE) as handle, pytest.raises(UserError, match="only 0 of 65536 bytes"):
        direct.run(handle, 100 * SIZE, Load("read", 65536, 2), Budget(60))


def test_loads_are_named_in_words():
    assert Load("randread", 4096, 16).text == "random read, depth 16"
    assert Load("write", 4096, 1).text == "sequential write, depth 1"
