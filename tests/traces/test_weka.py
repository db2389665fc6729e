"""WEKA sessions: ids of their own, sub-agents, their own clock."""

import pytest

from kvcalc.errors import UserError
from kvcalc.traces.clock import Arrival


def session(*requests, **more):
    """A session of these requests, with one block of 64 tokens for each id."""
    return {"id": "s", "block_size": 64, "hash_id_scope": "local", "requests": list(requests)} | more


def request(at, ids):
    """A request of whole blocks and a rest that they don't cover."""
    return {"t": at, "type": "n", "in": 64 * len(ids) + 10, "out": 3, "hash_ids": ids}


def test_equal_ids_of_two_sessions_are_different_blocks(trace_of):
    trace = trace_of(session(request(0, [1, 2])), session(request(0, [1, 2, 3])))
    assert trace.blocks.tolist() == [0, 1, 2, 3, 4]
    assert trace.distinct == 5


def test_equal_ids_of_two_sessions_of_global_scope_are_one_block(trace_of):
    shared = {"hash_id_scope": "global"}
    trace = trace_of(session(request(0, [1, 2]), **shared), session(request(0, [1, 2, 3]), **shared))
    assert trace.distinct == 3


def test_sub_agents_share_the_ids_of_their_session(trace_of):
    agent = {"t": 5.0, "type": "subagent", "agent_id": "a", "requests": [request(6.0, [1, 2]), request(7.0, [1, 9])]}
    trace = trace_of(session(request(0, [1, 2]), agent, request(20, [1, 2, 3])))
    assert trace.arrival_s.tolist() == [0, 6, 7, 20]
    assert trace.distinct == 4
    assert trace.sessions == 1


def test_a_sub_agent_whose_time_begins_at_zero_begins_with_its_entry(trace_of):
    agent = {"t": 5.0, "type": "subagent", "requests": [request(0.0, [1])]}
    assert trace_of(session(request(0, [1]), agent)).arrival_s.tolist() == [0, 5]


def test_sessions_are_laid_on_one_clock_as_asked(trace_of):
    three = [session(request(0, [1]), request(10, [1])) for _ in range(3)]
    assert sorted(trace_of(*three).arrival_s) == [0, 0, 0, 10, 10, 10]
    staggered = trace_of(*three, arrival=Arrival("stagger", every_s=60))
    assert staggered.arrival_s.tolist() == [0, 10, 60, 70, 120, 130]
    two = trace_of(*three, arrival=Arrival("concurrency", sessions=2))
    assert two.arrival_s.tolist() == [0, 10, 0, 10, 10, 20]


def test_that_they_have_no_common_clock_is_said(trace_of):
    ids, clock = trace_of(session(request(0, [1])), session(request(0, [1]))).notes
    assert "what sessions share (tools, system prompt) can't be seen" in ids
    assert "--arrival stagger=60s" in clock


def test_a_row_of_another_format_among_sessions_is_left_out(trace_of, row):
    trace = trace_of(session(request(0, [1, 2])), row(0))
    assert len(trace.order) == 1
    assert "1 row left out, the first at trace.jsonl line 2: requests are not a list" in trace.notes[0]


@pytest.mark.parametrize("size", [0, 2**31, "64", 1.5])
def test_a_block_size_that_is_none_is_refused_in_one_line(trace_of, size):
    with pytest.raises(UserError, match=r"line 1: block_size .* is not a count of tokens$"):
        trace_of(session(request(0, [1, 2]), block_size=size))


def test_a_block_size_of_another_session_is_named_with_the_first(trace_of):
    trace = trace_of(session(request(0, [1])), session(request(0, [1])), session(request(0, [2]), block_size=16))
    assert "block_size 16 is not that of the sessions before, 64" in trace.notes[0]
