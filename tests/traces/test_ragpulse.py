"""RAGPulse: components of a prompt, and lengths of chunks in files beside the trace."""

import json

import pytest

from kvcalc.simulate.curve import curve
from kvcalc.traces.read import read


def prompt(time, system, passages, tokens):
    parts = {"sys_prompt": system, "passages_ids": passages, "history": [], "web_search": [], "user_input": [99]}
    return {
        "timestamp": str(time),
        "input_length": tokens,
        "output_length": 5,
        "hash_ids": parts,
        "session_id": "a",
    }


@pytest.fixture
def folder(tmp_path):
    """Two prompts with the same two passages in another order; 30 tokens of the question are in no file."""
    rows = [prompt(10, [1], [2, 3], 330), prompt(20, [1], [3, 2], 330)]
    (tmp_path / "0_trace.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows) + "\n")
    lengths = {"1_sys_prompt": ("sys_prompt_id", {1: 50}), "2_passages": ("passages_id", {2: 200, 3: 50})}
    for name, (key, known) in lengths.items():
        lines = [json.dumps({key: number, "token_length": tokens}) for number, tokens in known.items()]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.parametrize("name", [".", "0_trace.jsonl"])
def test_chunks_have_the_lengths_of_the_files_beside(folder, name):
    trace = read(folder / name)
    assert trace.block_tokens.tolist() == [50, 200, 50, 30, 50, 50, 200, 30]
    assert trace.block_size == 200
    assert trace.tokens_per_block == pytest.approx((50 + 2 * (200 + 50 + 30)) / 7)


def test_only_the_prefix_hits_and_the_rest_is_said(folder):
    """The system prompt, 50 of 660 tokens; the passages and the question stand elsewhere or behind what is missing."""
    trace = read(folder)
    found = curve(trace)
    assert found.ceiling.hits.tokens == 50
    assert found.ceiling.token_rate == pytest.approx(50 / 660)
    (note,) = (each for each in trace.notes if "content" in each)
    assert "(3 blocks follow others than where they were first seen)" in note
    assert "matched anywhere, 50.0 % of the blocks and 50.0 % of their tokens were seen before" in note


def test_without_the_files_chunks_share_the_prompt(folder):
    for path in folder.glob("[1-5]*"):
        path.unlink()
    assert read(folder).block_tokens.tolist() == [82] * 8


def test_chunks_of_unknown_length_are_counted(folder):
    """The question, 99, of both prompts; without the files of lengths all four ids of both."""
    (note,) = (each for each in read(folder).notes if "share" in each)
    assert note.startswith("2 chunks of 1 id stand in no file of lengths: each was given an equal share")
    for path in folder.glob("[1-5]*"):
        path.unlink()
    (note,) = (each for each in read(folder).notes if "share" in each)
    assert note.startswith("8 chunks of 4 ids have no files of lengths beside the trace")
