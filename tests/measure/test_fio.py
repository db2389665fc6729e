"""fio and kvcalc's own reader on the same disk."""

import os
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import direct, fio
from kvcalc.measure.direct import Load
from kvcalc.measure.samples import Budget, quantile

SIZE = 256 * 1024 * 1024
ROUNDS = 7

pytestmark = pytest.mark.skipif(not fio.installed(), reason="fio is not installed; Debian's package is fio")


@pytest.mark.parametrize("load", [Load("randread", 2**21, 1), Load("randread", 2**17, 4)], ids=lambda load: load.text)
def test_the_two_are_within_a_quarter_of_each_other(tmp_path: Path, load: Load):
    """On the same file and in turns, by the median ratio of neighbours: whoever else uses the disk disturbs both."""
    ratios = []
    with fio.scratch(tmp_path, SIZE) as path:
        handle = os.open(path, os.O_RDWR | os.O_DIRECT)
        for _ in range(ROUNDS):
            own = direct.run(handle, SIZE, load, Budget(0.5)).bytes_per_s
            ratios.append(own / fio.run(path, SIZE, load, Budget(0.5)).bytes_per_s)
        os.close(handle)
    assert quantile(ratios, 0.5) == pytest.approx(1, rel=0.25), ratios


def test_its_file_is_gone_afterwards(tmp_path: Path):
    with fio.scratch(tmp_path, 2**24) as path:
        assert path.stat().st_size == 2**24
        rate = fio.run(path, 2**24, Load("write", 2**20, 2), Budget(0.2))
    assert rate.requests >= 2
    assert list(tmp_path.iterdir()) == []


def test_what_it_refuses_is_told_of(tmp_path: Path):
    with pytest.raises(UserError, match="fio failed: "):
        fio.run(tmp_path, 2**24, Load("read", 2**20, 1), Budget(1))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="no such file or directory; name another --path"):
        fio.scratch(tmp_path / "gone", 2**24).__enter__()
