"""Traces of token counts."""

import pytest

from kvcalc.traces.read import read


def test_azure_rows_have_times_of_seven_decimals(data):
    trace = read(data / "azure_code_first49.csv")
    assert trace.format == "Azure CSV"
    assert len(trace.order) == 49
    assert trace.input_tokens[:2].tolist() == [4808, 3180]
    assert trace.arrival_s[1] - trace.arrival_s[0] == pytest.approx(0.052, abs=1e-6)
    assert trace.references == 0


def test_vidur_rows_are_read(data):
    trace = read(data / "vidur_splitwise_first29.csv")
    assert trace.format == "vidur CSV"
    assert trace.arrival_s[:2].tolist() == [0, 4.314579]


def test_failures_of_burstgpt_are_left_out(trace_of):
    header = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type"
    trace = trace_of(header, "5,a,1,GPT-4,472,18,490,Conversation log", "6,b,1,GPT-4,99,0,99,API log", name="t.csv")
    assert trace.input_tokens.tolist() == [472]
    assert "a failed request" in trace.notes[0]


def test_a_shared_prefix_is_the_same_in_every_prompt(trace_of):
    """40 tokens are two whole blocks of 16; a third of them holds the prompt's own tokens too."""
    rows = "arrived_at,num_prefill_tokens,num_decode_tokens", "0,100,1", "1,50,1", "2,20,1"
    trace = trace_of(*rows, name="t.csv", shared_prefix=40)
    assert [request.blocks.tolist() for request in trace.requests()] == [[0, 1, 2, 3, 4, 5, 6], [0, 1, 7, 8], [0, 9]]
