"""A profile that was validated once is remembered until its file changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.profiles import cache, documents, fields, hardware, model, places, sources
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.hardware import Tier

TIER = """\
kind: tier
name: shelf
title: A shelf
medium: nvme
path: PCIe 4.0
links: per-node
read:
  bandwidth: 7 GB/s [sheet]
sources:
  sheet: {title: Data sheet, address: "https://example.com/sheet.pdf", basis: datasheet, checked: 2026-11-29}
"""

SHIPPED = [
    pytest.param(kind, places.shipped() / folder / f"{name}.yaml", id=f"{kind.__name__.lower()}-{name}")
    for kind, folder in places.FOLDERS.items()
    for name in sorted(path.stem for path in (places.shipped() / folder).glob("*.yaml"))
]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a tier, and an empty cache."""
    monkeypatch.setenv("KVCALC_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "shelf.yaml"
    path.write_text(TIER)
    return path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were validated."""
    found: list[Path] = []
    validate = documents.load

    def watched(kind: type[Profile], path: Path) -> Profile:
        found.append(path)
        return validate(kind, path)

    monkeypatch.setattr(documents, "load", watched)
    return found


def kept(path: Path) -> Path:
    """The only file of the cache."""
    (only,) = (path.parent / "cache").iterdir()
    return only


@pytest.mark.parametrize(("kind", "path"), SHIPPED)
def test_a_remembered_profile_equals_the_validated_one(
    kind: type[Profile], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[Path]
):
    monkeypatch.setenv("KVCALC_CACHE", str(tmp_path))
    validated = cache.load(kind, path)
    remembered = cache.load(kind, path)
    assert read == [path]
    assert remembered == validated
    assert repr(remembered) == repr(validated)  # and every value has its type


def test_a_profile_is_validated_once(shelf: Path, read: list[Path]):
    assert [cache.load(Tier, shelf).name for _ in range(3)] == ["shelf"] * 3
    assert read == [shelf]


def test_a_changed_file_is_read_again(shelf: Path, read: list[Path]):
    assert cache.load(Tier, shelf).read.bandwidth.typical.value == 7e9
    shelf.write_text(TIER.replace("7 GB/s", "70 GB/s"))
    assert cache.load(Tier, shelf).read.bandwidth.typical.value == 70e9
    assert len(read) == 2


def test_a_file_changed_within_its_length_is_read_again(shelf: Path, read: list[Path]):
    cache.load(Tier, shelf)
    before = shelf.stat()
    shelf.write_text(TIER.replace("7 GB/s", "8 GB/s"))
    os.utime(shelf, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert cache.load(Tier, shelf).read.bandwidth.typical.value == 8e9
    assert len(read) == 2


def test_a_file_that_was_good_and_is_bad_now_is_refused(shelf: Path):
    cache.load(Tier, shelf)
    shelf.write_text(TIER.replace("7 GB/s", "7"))
    with pytest.raises(UserError, match=r"line 8: read.bandwidth"):
        cache.load(Tier, shelf)


def test_a_file_that_is_gone_is_refused(shelf: Path):
    cache.load(Tier, shelf)
    shelf.unlink()
    with pytest.raises(UserError, match="no such file"):
        cache.load(Tier, shelf)


def test_a_bad_file_is_not_remembered(shelf: Path):
    shelf.write_text(TIER.replace("7 GB/s", "7"))
    for _ in range(2):
        with pytest.raises(UserError, match="is not a rate"):
            cache.load(Tier, shelf)
    assert not (shelf.parent / "cache").exists()


def test_two_files_of_one_name_are_told_apart(shelf: Path, tmp_path: Path):
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "shelf.yaml"
    other.write_text(TIER.replace("7 GB/s", "8 GB/s"))
    for _ in range(2):
        assert cache.load(Tier, shelf).read.bandwidth.typical.value == 7e9
        assert cache.load(Tier, other).read.bandwidth.typical.value == 8e9


def test_a_relative_path_is_remembered_with_its_folder(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Even if another file of that name has the same length and time."""
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "shelf.yaml"
    other.write_text(TIER.replace("7 GB/s", "8 GB/s"))
    for path in (shelf, other):
        os.utime(path, ns=(0, 10**18))
    monkeypatch.chdir(shelf.parent)
    assert cache.load(Tier, Path("shelf.yaml")).read.bandwidth.typical.value == 7e9
    monkeypatch.chdir(other.parent)
    assert cache.load(Tier, Path("shelf.yaml")).read.bandwidth.typical.value == 8e9


def test_a_cache_that_cannot_be_written_is_done_without(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[Path]
):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("KVCALC_CACHE", str(tmp_path / "file" / "cache"))
    assert [cache.load(Tier, shelf).name for _ in range(2)] == ["shelf"] * 2
    assert len(read) == 2
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"5",
        b"null",
        b'{"stamp": []}',
        b'{"stamp": null, "sources": [], "profile": {}}',
    ],
)
def test_a_damaged_cache_is_read_past_and_mended(shelf: Path, read: list[Path], damaged: bytes):
    expected = cache.load(Tier, shelf)
    good = kept(shelf).read_bytes()
    kept(shelf).write_bytes(damaged)
    assert cache.load(Tier, shelf) == expected
    assert len(read) == 2
    assert kept(shelf).read_bytes() == good


@pytest.mark.parametrize(("good", "damaged"), [(b"nvme", b"nvmf"), (b"Tier", b"Tear"), (b"[", b"[" * 200_000)])
def test_a_damaged_profile_under_the_right_stamp_is_read_past(
    shelf: Path, read: list[Path], good: bytes, damaged: bytes
):
    expected = cache.load(Tier, shelf)
    whole = kept(shelf).read_bytes()
    assert good in whole
    kept(shelf).write_bytes(whole.replace(good, damaged, 1))
    assert cache.load(Tier, shelf) == expected
    assert len(read) == 2


@pytest.mark.usefixtures("shelf")
def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "cache"
    monkeypatch.delenv("KVCALC_CACHE")
    assert cache.folder() == tmp_path / "xdg" / "kvcalc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "kvcalc"


def test_new_code_reads_every_file_again(shelf: Path, read: list[Path], monkeypatch: pytest.MonkeyPatch):
    cache.load(Tier, shelf)
    monkeypatch.setattr(cache, "_code", lambda: (1, 2, 3))  # as after an upgrade
    cache.load(Tier, shelf)
    assert len(read) == 2


def test_a_mended_unit_reaches_a_profile_that_is_remembered():
    """The modules whose change makes a cache old include the one that turns text into numbers."""
    assert {units, fields, hardware, model, sources} <= set(cache._CODE)


def test_a_remembered_profile_needs_neither_yaml_nor_pydantic(shelf: Path):
    program = (
        "import sys; from pathlib import Path; from kvcalc.profiles import cache; from kvcalc.profiles.hardware "
        f"import Tier; cache.load(Tier, Path({str(shelf)!r})); print('yaml' in sys.modules, 'pydantic' in sys.modules)"
    )
    run = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in "12"]
    assert [each.stdout.split() for each in run] == [["True", "True"], ["False", "False"]]
