"""What is measured of a disk, and the folders that are none."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import direct, fio, storage
from kvcalc.measure.samples import Budget


@pytest.fixture
def by_own_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fio, "installed", lambda: False)


@pytest.mark.usefixtures("by_own_reader")
def test_a_disk_is_measured_and_left_as_it_was(tmp_path: Path):
    said: list[str] = []
    part = storage.measure(tmp_path, storage.LEAST, Budget(3.0), said.append)
    assert list(tmp_path.iterdir()) == []
    assert len(said) == 1 + len(storage.loads())
    assert part.tier is not None
    assert part.tier.write is not None
    for rates in (part.tier.read, part.tier.write):
        assert 0 < rates[0] <= rates[1] <= rates[2]
    assert part.tier.latency_s is not None
    assert 0 < part.tier.latency_s < 1
    assert "own reader" in part.tier.note
    assert part.warnings == ()


@pytest.mark.usefixtures("by_own_reader")
def test_a_small_budget_makes_a_small_file_and_few_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    monkeypatch.setattr(direct, "cached_share", lambda _, size: sizes.append(size) or 0.0)
    said: list[str] = []
    part = storage.measure(tmp_path, 64 * storage.LEAST, Budget(0), said.append)
    assert sizes == [storage.LEAST]
    assert len(said) == 1 + len(storage.READS)
    assert part.tier is not None
    assert part.tier.write is None


@pytest.mark.parametrize(("most", "count"), [(0, 4), (6.9, 4), (7, 7), (12, 7), (13, 13)])
def test_loads_are_left_out_from_the_end(most: float, count: int):
    """Four reads and three writes make a profile; six more are shown."""
    assert storage.loads(most) == storage.loads()[:count]


@pytest.mark.usefixtures("by_own_reader")
def test_figures_of_the_page_cache_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(direct, "cached_share", lambda *_: 0.5)
    part = storage.measure(tmp_path, storage.LEAST, Budget(0.1), lambda _: None)
    assert part.tier is None
    assert "the page cache holds 50%" in part.warnings[0]


@pytest.mark.skipif(not fio.installed(), reason="fio is not installed; Debian's package is fio")
def test_fio_is_used_where_it_is_installed(tmp_path: Path):
    part = storage.measure(tmp_path, storage.LEAST, Budget(3), lambda _: None)
    assert part.tier is not None
    assert part.tier.note.startswith("fio, direct I/O on ")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"is no folder; name one on the disk to measure"):
        storage.check(tmp_path / "gone", storage.LEAST)


def test_a_folder_that_can_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # whoever runs the tests may be root, who may write anywhere
    with pytest.raises(UserError, match="can't be written; name another folder"):
        storage.check(tmp_path, storage.LEAST)


def test_a_folder_with_too_little_room_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100_000_000))
    with pytest.raises(UserError, match=r"has 100 MB free and twice the file, 134 MB, is asked for"):
        storage.check(tmp_path, storage.LEAST)


def test_a_file_too_small_to_measure_with_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="--size must be at least"):
        storage.check(tmp_path, 1000)


@pytest.mark.skipif(storage.filesystem(Path("/dev/shm")) != "tmpfs", reason="/dev/shm is no tmpfs here")
def test_memory_is_no_disk():
    with pytest.raises(UserError, match=r"is in memory \(tmpfs\), no disk"):
        storage.check(Path("/dev/shm"), storage.LEAST)


def test_a_system_without_a_list_of_mounts_is_taken_at_its_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def missing(*_: object, **__: object) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", missing)
    assert storage.filesystem(tmp_path) == "unknown"


def test_a_busy_disk_may_swap_the_rates(rates: Callable[[tuple[float, float, float]], tuple[float, float, float]]):
    assert rates((3.0, 2.0, 1.0)) == (2.0, 2.0, 2.0)
    assert rates((1.0, 2.0, 3.0)) == (1.0, 2.0, 3.0)


@pytest.fixture
def rates() -> Callable[[tuple[float, float, float]], tuple[float, float, float]]:
    return storage._ordered
