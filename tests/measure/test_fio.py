"""fio and kvcalc's own reader on the same disk."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import direct, fio
from kvcalc.measure.direct import Load
from kvcalc.measure.samples import Budget, quantile

SIZE = 256 * 1024 * 1024
ROUNDS = 3

pytestmark = pytest.mark.skipif(not fio.installed(), reason="fio is not installed; Debian's package is fio")


@pytest.mark.parametrize("load", [Load("randread", 2**21, 1), Load("randread", 2**17, 4)], ids=lambda load: load.text)
def test_the_two_are_within_a_quarter_of_each_other(tmp_path: Path, load: Load):
    """In turns, so that whoever else uses the disk disturbs both alike; the medians are compared."""
    rates: dict[str, list[float]] = {"own": [], "fio": []}
    with direct.scratch(tmp_path, SIZE) as handle, fio.scratch(tmp_path, SIZE) as path:
        runs: dict[str, Callable[[], direct.Rate]] = {
            "own": lambda: direct.run(handle, SIZE, load, Budget(1)),
            "fio": lambda: fio.run(path, SIZE, load, Budget(1)),
        }
        for _ in range(ROUNDS):
            for name, run in runs.items():
                rates[name].append(run().bytes_per_s)
    own, other = (quantile(each, 0.5) for each in rates.values())
    assert own == pytest.approx(other, rel=0.25)


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
