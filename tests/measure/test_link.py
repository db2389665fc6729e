"""Copies to and from a device, with the CPU in its place."""

import os
import time
from typing import Any

import pytest

from kvcalc.measure import link
from kvcalc.measure.samples import Budget

torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")

SIZES = (4096, 65536, 4_194_304)
NODES = {f"node{number}": frozenset(os.sched_getaffinity(0)) for number in range(2)}  # as if there were two


def test_a_link_is_measured_each_way_alone_at_once_and_together():
    part = link.measure(["cpu", "cpu"], NODES, Budget(0.2), SIZES)
    what = [reading.what for reading in part.readings]
    for direction, far in zip(link.DIRECTIONS, (2, 0), strict=True):
        blocking_both_second_all = 5
        assert sum(f"pageable, {direction}" in each for each in what) == len(SIZES) + blocking_both_second_all + far
    assert sum("both directions at once" in each for each in what) == 2  # each direction its own
    assert sum("cpu, all 2 devices at once" in each for each in what) == 4  # and each device
    assert part.tier is not None
    assert part.tier.read[0] <= part.tier.read[1] <= part.tier.read[2]
    assert [law.what for law in part.laws] == [f"pageable, {direction}" for direction in link.DIRECTIONS]


def test_the_process_runs_where_it_ran_after_the_nodes_were_measured():
    before = frozenset(os.sched_getaffinity(0))
    assert len(link.by_node("cpu", {"node0": frozenset(list(before)[:1]), "node1": before}, 4096, Budget(0))) == 2
    assert os.sched_getaffinity(0) == before


def test_a_copy_on_the_cpu_blocks():
    """The call returns when the copy is done."""
    assert link.blocking("cpu", "to the device", False, 65536)[0].value.median == 1.0


def test_on_cuda_copies_are_pinned_and_on_streams_of_their_own(fake_cuda: Any):
    part = link.measure(["cuda:0", "cuda:1"], NODES, Budget(0.2), SIZES)
    assert part.tier is not None
    assert part.tier.note.startswith("pinned memory")
    assert {law.what.split(",")[0] for law in part.laws} == {"pinned", "pageable"}
    assert {"cuda:0", "cuda:1"} <= fake_cuda.streams


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_of_copies_at_once_each_has_its_own_time(fake_cuda: Any, device: str):  # noqa: ARG001
    copies = [lambda: time.sleep(0.01), lambda: time.sleep(0.1)]
    short, long = link._at_once([device] * 2, copies)
    assert 0.01 <= short < 0.09
    assert 0.1 <= long < 0.3


def test_nodes_are_near_or_far_from_the_device():
    part = link.measure(["cpu"], NODES, Budget(0), SIZES, near="node1")
    what = " ".join(reading.what for reading in part.readings)
    assert "memory of node0 (far)" in what
    assert "memory of node1 (near)" in what
