"""fio and kvcalc's own reader on the same disk."""

import os
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import direct, fio
from kvcalc.measure.direct import Load
from kvcalc.measure.samples import Budget, quantile

SIZE = 256 * 1024 * 1024
ROUNDS = 11

pytestmark = pytest.mark.skipif(not fio.installed(), reason="fio is not installed; Debian's package is fio")


@pytest.mark.slow  # what else uses the disk decides as well
@pytest.mark.parametrize("load", [Load("randread", 2**21, 1), Load("randread", 2**17, 4)], ids=lambda load: load.text)
def test_the_two_are_within_a_quarter_of_each_other(tmp_path: Path, load: Load):
    """On the same file and in turns, by the median ratio of neighbours: whoever else uses the disk disturbs both."""
    ratios = []
    with direct.scratch(tmp_path, SIZE) as handle:
        for _ in range(ROUNDS):
            own = direct.run(handle, SIZE, load, Budget(0.3)).bytes_per_s
            ratios.append(own / fio.run(handle, SIZE, load, Budget(0.3)).bytes_per_s)
    assert quantile(ratios, 0.5) == pytest.approx(1, rel=0.25), ratios


def test_it_works_on_a_file_without_a_name(tmp_path: Path):
    with direct.scratch(tmp_path, 2**24) as handle:
        rate = fio.run(handle, 2**24, Load("write", 2**20, 2), Budget(0.2))
        assert list(tmp_path.iterdir()) == []
        assert os.fstat(handle).st_size == 2**24
    assert rate.requests >= 2
    assert rate.p99_s >= rate.p50_s > 0


def test_what_it_refuses_is_told_of(tmp_path: Path):
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(UserError, match="fio failed: "):
        fio.run(folder, 2**24, Load("read", 2**20, 1), Budget(0.2))
    os.close(folder)


def test_a_fio_that_prints_no_figures_is_told_of(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fio, "_finished", lambda *_: (0, "not json", ""))
    with pytest.raises(UserError, match="fio printed no figures: not json"):
        fio.run(0, 2**24, Load("read", 2**20, 1), Budget(0.2))
