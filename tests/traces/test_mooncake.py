"""Mooncake rows, and the names that other tools give their fields."""

import pytest


def test_dynamo_names_mean_the_same(trace_of):
    """dynamo.replay: created_time, input_tokens, output_tokens."""
    trace = trace_of({"created_time": 1500, "input_tokens": 600, "output_tokens": 4, "hash_ids": [1, 2]})
    (request,) = trace.requests()
    assert (request.arrival_s, request.input_tokens, request.output_tokens) == (1.5, 600, 4)


def test_a_header_row_gives_the_block_size(trace_of):
    header = {"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": 64}
    trace = trace_of(header, {"timestamp": 0, "input_length": 130, "hash_ids": [1, 2, 3]})
    assert (len(trace.order), trace.block_size) == (1, 64)


def test_block_size_of_a_row_is_honoured_and_another_one_refused(trace_of, row):
    first = row(0, [1, 2, 3], tokens=40, block_size=16)
    trace = trace_of(first, first, row(1, [1, 2, 3], tokens=90, block_size=32))
    assert trace.block_size == 16
    assert "block_size 32 is not that of the rows before" in trace.notes[0]


def test_a_delay_counts_from_the_turn_before(trace_of, row):
    """aiperf: a turn has a timestamp or a delay in ms."""
    first, second = row(1000, [1], session_id="a"), row(0, [1, 2], session_id="a", delay=500)
    del second["timestamp"]
    assert trace_of(first, second).arrival_s.tolist() == [1, 1.5]


def test_tokens_of_blocks_are_taken_as_given(trace_of, row):
    trace = trace_of(row(0, [1, 2], tokens=30, block_tokens=[20, 10]))
    assert trace.block_tokens.tolist() == [20, 10]
    assert trace.tokens_per_block == 15


@pytest.mark.parametrize("tokens", [[20], [20, 0], "20"])
def test_tokens_that_are_not_one_a_block_are_left_out(trace_of, row, tokens):
    trace = trace_of(row(0), row(1), row(2, [1, 2], tokens=30) | {"block_tokens": tokens}, block_size=512)
    assert "block_tokens are not one whole number for each" in trace.notes[0]


def test_requests_without_a_time_keep_the_order_of_the_file(trace_of):
    rows = [{"input_length": 100, "hash_ids": [number]} for number in (3, 1, 2)]
    trace = trace_of(*rows)
    assert [request.blocks.tolist() for request in trace.requests()] == [[0], [1], [2]]
    assert "3 requests without a time stand at the beginning" in trace.notes[0]
