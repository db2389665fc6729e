"""Stack distances against a cache that is simulated block by block."""

import json
from collections import OrderedDict
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcalc.simulate.curve import curve
from kvcalc.simulate.distances import distances
from kvcalc.traces.read import read
from kvcalc.traces.reader import Reading
from kvcalc.traces.trace import Trace

BLOCK = 4


def trace_of(requests: list[list[int]]) -> Trace:
    """A trace of these blocks, one request a second."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made.jsonl"
        rows = (
            {"timestamp": time, "input_length": BLOCK * max(1, len(ids)) - 1, "hash_ids": ids}
            for time, ids in enumerate(requests)
        )
        path.write_text("\n".join(map(json.dumps, rows)))
        return read(path, Reading(block_size=BLOCK, time_unit="s"))


def simulated(requests: list[list[int]], capacity: int, tail_first: bool) -> int:
    """Blocks that hit in a least-recently-used cache: looked up whole, then touched one by one."""
    cache: OrderedDict[tuple[int, ...], None] = OrderedDict()
    hits = 0
    for ids in requests:
        prefixes = [tuple(ids[: place + 1]) for place in range(len(ids))]
        for block in prefixes:
            if block not in cache:
                break
            hits += 1
        for block in reversed(prefixes) if tail_first else prefixes:
            cache[block] = None
            cache.move_to_end(block)
            if len(cache) > capacity:
                cache.popitem(last=False)
    return hits


@st.composite
def chained(draw: st.DrawFn) -> list[list[int]]:
    """Prompts as paths from the root of a tree: each prefix of blocks has its own ids."""
    choices = draw(st.lists(st.lists(st.integers(0, 2), max_size=12), min_size=1, max_size=60))
    known: dict[tuple[int, ...], int] = {}
    return [[known.setdefault(tuple(path[: depth + 1]), len(known)) for depth in range(len(path))] for path in choices]


anything = st.lists(st.lists(st.integers(0, 30), max_size=12), min_size=1, max_size=60)


@settings(max_examples=60)
@given(
    requests=st.one_of(chained(), anything),
    capacities=st.lists(st.integers(1, 80), min_size=50, max_size=50),
    tail_first=st.booleans(),
)
def test_curve_equals_simulation_at_fifty_capacities(requests, capacities, tail_first):
    """Chained ids and ids of content, also twice in one request; what is cached are prefixes in any case."""
    found = curve(trace_of(requests), tail_first)
    for capacity in set(capacities):
        assert found.at(capacity).hits.blocks == simulated(requests, capacity, tail_first), capacity


def test_a_block_is_as_deep_as_what_was_touched_since():
    """By hand, head most recent: after [0 1 2] the stack is 0 1 2; [3] makes it 3 0 1 2, where 0, 1, 2 are second to
    fourth; they go on top, and 3 is fourth."""
    trace = trace_of([[0, 1, 2], [3], [0, 1, 2], [3]])
    assert distances(trace).tolist() == [0, 0, 0, 0, 2, 3, 4, 4]


def test_a_miss_ends_the_prefix():
    """1 was seen, but stands behind 5, which was not."""
    trace = trace_of([[0, 1], [5, 1]])
    assert distances(trace).tolist() == [0, 0, 0, 0]


def test_cyclic_reuse_beyond_the_capacity_hits_nothing_head_first():
    """Three requests of 4 blocks in turn need 12 blocks; head first one block less gives nothing at all, tail first
    about nothing once a whole request is lacking."""
    cycle = [[4 * (turn % 3) + block for block in range(4)] for turn in range(30)]
    head, tail = curve(trace_of(cycle), tail_first=False), curve(trace_of(cycle), tail_first=True)
    assert head.at(12).hits.blocks == tail.at(12).hits.blocks == 108
    assert head.at(11).hits.blocks == 0
    assert tail.at(11).hits.blocks == 81
    assert tail.at(8).hits.blocks == 0


@pytest.mark.parametrize("requests", [1, 64, 65, 4097])
def test_long_traces_cross_every_level_of_counts(requests):
    """The same block again and again, after 130 others each time: always as deep."""
    others = list(range(1, 131))
    trace = trace_of([each for _ in range(requests) for each in ([0], others)])
    found = distances(trace)
    assert set(found[131::131].tolist()) <= {131}
