"""Restores with real tensors, the CPU in the device's place."""

from typing import Any

import pytest

from kvcalc.measure import restore
from kvcalc.measure.samples import Budget
from kvcalc.profiles import catalog

pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
MODEL = catalog.model("qwen3-0.6b")


def test_fetches_stand_beside_the_raw_copy_and_beside_work():
    part = restore.measure(MODEL, 1, "cpu", Budget(0), (1, 2))
    what = [reading.what for reading in part.readings]
    assert [each.split(",")[0] for each in what[:4]] == [
        "fetch", "fetch", "one raw copy", "fetch as a share of the raw copy",
    ]  # fmt: skip
    assert len(what) == 2 * 4 + 3
    assert all(reading.value.median > 0 for reading in part.readings[:-1])


def test_on_cuda_pinned_and_pageable_pools_are_compared(fake_cuda: Any):
    part = restore.measure(MODEL, 1, "cuda:0", Budget(0), (2,))
    assert {reading.what.split(",")[1] for reading in part.readings if reading.what.startswith("fetch,")} == {
        " pinned", " pageable",
    }  # fmt: skip
    assert fake_cuda.streams
