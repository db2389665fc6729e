"""A file is written whole or not at all."""

import contextlib
import errno
import os
import stat
from pathlib import Path

import pytest

from kvcalc import files
from kvcalc.errors import UserError


def test_a_file_holds_what_was_written_in_utf_8(tmp_path: Path):
    files.write(tmp_path / "out.txt", "10 µs\n")
    assert (tmp_path / "out.txt").read_bytes() == "10 µs\n".encode()


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path):
    out = tmp_path / "out.txt"
    files.write(out, "first")
    files.write(out, "second")
    assert out.read_text() == "second"
    assert list(tmp_path.iterdir()) == [out]


def test_a_file_has_the_permissions_that_a_plain_one_would_have(tmp_path: Path):
    (tmp_path / "plain.txt").write_text("")
    files.write(tmp_path / "out.txt", "")
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == stat.S_IMODE((tmp_path / "plain.txt").stat().st_mode)


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "out.txt"
    out.write_text("old")
    seen = []
    rename = os.replace

    def watched(beside: str, path: Path) -> None:
        seen.append((out.read_text(), Path(beside).read_text()))
        rename(beside, path)

    monkeypatch.setattr(os, "replace", watched)
    files.write(out, "new")
    assert seen == [("old", "new")]
    assert out.read_text() == "new"


def test_the_old_file_stays_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "out.txt"
    out.write_text("old")

    def full(_beside: str, _path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UserError, match="No space left on device"):
        files.write(out, "new")
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_nothing_is_left_beside_when_writing_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "out.txt"
    out.write_text("old")

    def interrupted(_beside: str, _path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write(out, "new")
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_text_that_is_not_utf_8_leaves_the_old_file(tmp_path: Path):
    out = tmp_path / "out.txt"
    out.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        files.write(out, "half a pair: \ud800")
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_that_is_not_there_is_the_users_to_mend(tmp_path: Path):
    path = tmp_path / "none" / "out.txt"
    with pytest.raises(UserError) as refusal:
        files.write(path, "text")
    assert str(refusal.value) == f"{str(path)!r} cannot be written: No such file or directory; name another file"


def test_a_folder_in_the_place_of_the_file_is_the_users_to_mend(tmp_path: Path):
    folder = tmp_path / "out.txt"
    folder.mkdir()
    with pytest.raises(UserError, match="cannot be written"):
        files.write(folder, "text")
    assert list(tmp_path.iterdir()) == [folder]


def test_a_missing_permission_is_the_users_to_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def denied(*_given: object, **_named: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", denied)  # root may write anywhere, so the folder's mode would not tell
    with pytest.raises(UserError, match="Permission denied"):
        files.write(tmp_path / "out.txt", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link_and_its_file_is_written(tmp_path: Path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "real.txt").write_text("old")
    (tmp_path / "out.txt").symlink_to(tmp_path / "kept" / "real.txt")
    files.write(tmp_path / "out.txt", "new")
    assert (tmp_path / "out.txt").is_symlink()
    assert (tmp_path / "kept" / "real.txt").read_text() == "new"


def test_what_is_no_plain_file_is_not_replaced_by_one(tmp_path: Path):
    """`--output /dev/null` as root would take the device away from everybody."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with contextlib.suppress(UserError):  # written to or refused, as one likes
            files.write(pipe, "text")
        assert stat.S_ISFIFO(pipe.stat().st_mode)
    finally:
        os.close(reader)


def test_a_name_too_long_is_the_users_to_mend(tmp_path: Path):
    with pytest.raises(UserError, match="File name too long"):
        files.write(tmp_path / ("x" * 300), "text")


def test_bytes_are_written_as_they_are(tmp_path: Path):
    files.write(tmp_path / "out.png", b"\x89PNG\xff")
    assert (tmp_path / "out.png").read_bytes() == b"\x89PNG\xff"


def test_a_check_leaves_nothing_behind_and_the_old_file_as_it_is(tmp_path: Path):
    (tmp_path / "old.png").write_text("old")
    files.check(tmp_path / "old.png")
    files.check(tmp_path / "new.png")
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert (tmp_path / "old.png").read_text() == "old"


def test_a_check_refuses_what_cannot_be_written(tmp_path: Path):
    with pytest.raises(UserError, match="cannot be written"):
        files.check(tmp_path / "missing" / "plot.png")
    with pytest.raises(UserError, match="it is not a plain file"):
        files.check(tmp_path)
