"""Copies within this machine's DRAM."""

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import memory
from kvcalc.measure.samples import Budget


def test_copies_of_every_size_and_by_all_threads_are_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "SIZES", (4096, 65536, 1_048_576))
    monkeypatch.setattr(memory, "POOL", 4_194_304)
    part = memory.measure(Budget(0.1))
    assert [reading.unit for reading in part.readings] == ["B/s"] * 4
    assert part.tier is not None
    assert part.tier.read == part.tier.write
    assert part.tier.read[0] <= part.tier.read[1] <= part.tier.read[2]
    assert part.laws[0].law.points == 3


def test_a_copy_copies():
    with memory._Pool(8192) as source, memory._Pool(8192) as target:
        source._map[:5] = b"block"
        memory._copies(source, target, 4096)
        assert target._map[:5] == b"block"


def test_a_host_without_room_is_one_line():
    with pytest.raises(UserError, match=r"the host has no .* of memory free; free some"):
        memory._Pool(2**60)
