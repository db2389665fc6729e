"""Files to columns: formats found, rows that can't be used left out and counted, other files refused in one line."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.traces.read import read
from kvcalc.traces.reader import Reading

AZURE = ("TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:17:03.9799600,4808,10")
WEKA = {
    "id": "s",
    "block_size": 64,
    "hash_id_scope": "local",
    "requests": [{"t": 0.0, "type": "n", "in": 130, "out": 5, "hash_ids": [1, 2]}],
}
BAILIAN = {
    "chat_id": 1,
    "parent_chat_id": -1,
    "timestamp": 0.5,
    "input_length": 30,
    "output_length": 3,
    "turn": 1,
    "hash_ids": [1, 2],
}
PARTS = {"sys_prompt": [1], "passages_ids": [2, 3], "history": [], "web_search": [], "user_input": [4]}
RAGPULSE = {"timestamp": "27", "input_length": 100, "output_length": 1, "hash_ids": PARTS, "session_id": "a"}


def test_a_request_has_what_its_row_says(trace_of, row):
    trace = trace_of(row(0, [9, 8]), row(2000, [9, 8, 7], session_id="a"))
    first, second = trace.requests()
    assert (first.arrival_s, first.input_tokens, first.output_tokens, first.session) == (0, 924, 7, None)
    assert (second.arrival_s, second.session) == (2, 0)
    assert first.blocks.tolist() == [0, 1]
    assert second.blocks.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("rows", "name", "title", "unit", "size"),
    [
        ([{"timestamp": 0, "input_length": 600, "hash_ids": [1, 2]}], "t.jsonl", "Mooncake JSONL", "ms", 512),
        ([BAILIAN], "t.jsonl", "Qwen-Bailian JSONL", "s", 16),
        ([WEKA], "t.json", "WEKA kv-cache-tester JSON", "s", 64),
        ([WEKA], "t.jsonl", "WEKA kv-cache-tester JSON", "s", 64),
        ([RAGPULSE], "0_trace.jsonl", "RAGPulse JSONL", "s", 25),
        (AZURE, "t.csv", "Azure CSV", "s", 16),
    ],
)
def test_format_unit_and_block_size_are_found(trace_of, rows, name, title, unit, size):
    trace = trace_of(*rows, name=name)
    assert (trace.format, trace.time_unit, trace.block_size) == (title, unit, size)


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.jsonl.zst"])
def test_packed_files_are_read_as_plain_ones(trace_of, row, name):
    assert trace_of(row(0), row(1), name=name).references == 6


def test_blank_lines_are_no_requests(trace_of, row):
    trace = trace_of("", row(0), "", row(1), "")
    assert len(trace.order) == 2
    assert trace.notes == ("3 blank lines",)


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([{"timestamp": 0, "input_length": 600, "hash_ids": [1, 2]}] * 3, "t.jsonl"),
        ([BAILIAN] * 3, "t.jsonl"),
        ([WEKA] * 3, "t.jsonl"),
        ([RAGPULSE] * 3, "0_trace.jsonl"),
    ],
)
def test_a_file_that_ends_within_a_line_loses_that_line(trace_of, rows, name):
    whole = [json.dumps(each) for each in rows]
    trace = trace_of(*whole[:-1], whole[-1][:-20], name=name, end="")
    assert len(trace.order) == 2
    assert trace.notes[0] == f"1 row left out, the first at {name} line 3: not JSON (unexpected end of data)"


def test_a_csv_that_ends_within_a_row_loses_that_row(trace_of):
    trace = trace_of(*AZURE, AZURE[1], "2023-11-16 18:17:0", name="t.csv", end="")
    assert len(trace.order) == 2
    assert "1 row left out, the first at t.csv line 4" in trace.notes[0]


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.jsonl.zst"])
def test_a_packed_file_that_is_cut_off_is_refused(trace_of, row, tmp_path, name):
    trace_of(*(row(time, [time]) for time in range(500)), name=name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:300])
    with pytest.raises(UserError, match=r"can't be read|holds no requests"):
        read(tmp_path / name)


def test_a_session_file_that_is_cut_off_is_left_out_of_its_folder(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(WEKA))
    (tmp_path / "b.json").write_text(json.dumps(WEKA)[:-30])
    trace = read(tmp_path)
    assert trace.sessions == 1
    assert "b.json line 1: not JSON" in trace.notes[0]


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    (tmp_path / "empty.jsonl").write_text(text)
    with pytest.raises(UserError, match=r"empty.jsonl' holds no requests$"):
        read(tmp_path / "empty.jsonl")


def test_a_file_of_mostly_bad_rows_is_refused_with_the_first(trace_of, row):
    with pytest.raises(UserError, match=r"2 of 3 rows can't be used; trace.jsonl line 2: no list of block ids"):
        trace_of(row(0), {"timestamp": 1, "input_length": 5}, {"timestamp": 1, "input_length": 5})


def test_a_file_of_no_known_format_is_refused_with_its_keys(trace_of):
    with pytest.raises(UserError, match="a row of prompt, answer is of no known format; --trace-format names one of"):
        trace_of({"prompt": "a", "answer": "b"})


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(UserError, match="no file or folder"):
        read(tmp_path / "nothing.jsonl")
    with pytest.raises(UserError, match=r"holds no \.json"):
        read(tmp_path)


def test_rows_out_of_order_are_sorted_and_ties_keep_the_order_of_the_file(trace_of, row):
    trace = trace_of(row(5, [1]), row(3, [2]), row(5, [3]), row(3, [4]))
    assert [request.blocks.tolist() for request in trace.requests()] == [[1], [3], [0], [2]]
    assert trace.notes == ("not sorted by time: 2 requests come before the one above them; sorted here",)


@pytest.mark.parametrize(
    "ids",
    [
        [[2**63, 2**64 - 1], [2**63, 2**64 - 1]],
        [[2**64, 2**100 + 1], [2**64, 2**100 + 1]],
        [[-1, -(2**70)], [-1, -(2**70)]],
        [["00a1b2c3d4e5f607", "ffffffffffffffff"], ["00a1b2c3d4e5f607", "ffffffffffffffff"]],
        [["1", 1], ["1", 1]],
        [[2**64, 5], [2**64, 5]],
    ],
)
def test_ids_of_any_width_and_text_are_kept_apart(trace_of, row, ids):
    trace = trace_of(*(row(time, each) for time, each in enumerate(ids)))
    first, second, *again = trace.blocks.tolist()
    assert {first, second} == {0, 1}
    assert again == [first, second]


def test_ids_that_differ_only_beyond_64_bits_differ(trace_of, row):
    trace = trace_of(row(0, [2**64 + 1, 2**65 + 1, 1, 2**64 + 2]))
    assert trace.distinct == 4


@pytest.mark.parametrize("ids", [[1.5], [True], [None], [[1]]])
def test_other_things_are_no_ids(trace_of, row, ids):
    trace = trace_of(row(0), row(1), row(2, ids, tokens=400))
    assert "block ids are whole numbers or text" in trace.notes[0]


@pytest.mark.parametrize(
    "field",
    [{"input_length": "5"}, {"input_length": -1}, {"output_length": -1}, {"timestamp": "x"}, {"timestamp": 10**400}],
)
def test_a_row_with_a_wrong_field_is_left_out(trace_of, row, field):
    trace = trace_of(row(0), row(1), row(2) | field)
    assert len(trace.order) == 2
    assert "line 3" in trace.notes[0]


def test_an_array_of_rows_is_read_as_rows(tmp_path, row):
    (tmp_path / "t.json").write_text(json.dumps([row(0), row(1)], indent=1))
    assert len(read(tmp_path / "t.json").order) == 2


def test_sessions_of_the_tests_are_whole(data):
    """Requests and tokens counted with `grep -o` and by their own totals: 52,760 input tokens in trace_0026."""
    trace = read(data / "weka")
    assert trace.sessions == 3
    assert int(trace.input_tokens[trace.session == 0].sum()) == 52_760


def test_a_sample_has_no_whole_requests(trace_of, row):
    with pytest.raises(UserError, match="without --sample"):
        list(trace_of(row(0), rate=0.5).requests())


def test_progress_ends_at_the_size_of_the_file(tmp_path, row):
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(row(time)) for time in range(2000)))
    seen = []
    read(tmp_path / "t.jsonl", None, lambda done, total: seen.append((done, total)))
    size = (tmp_path / "t.jsonl").stat().st_size
    assert seen[-1] == (size, size)
    assert len(seen) > 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
MOONCAKE = {"timestamp": 1, "input_length": 600, "output_length": 2, "hash_ids": [1, 2], "session_id": "a", "delay": 3}


@given(data=st.data())
def test_whatever_stands_in_a_field_is_read_or_left_out(data):
    """Any JSON in any field of any format, in a file with two good rows."""
    good = data.draw(st.sampled_from([MOONCAKE, BAILIAN, WEKA, RAGPULSE]))
    found = dict(good)
    target = found
    if "requests" in found and data.draw(st.booleans()):
        target = dict(found["requests"][0])
        found["requests"] = [target]
    key = data.draw(st.sampled_from([*target, "block_size", "block_tokens", "token_length", "schema"]))
    target[key] = data.draw(JSON)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "0_trace.jsonl"
        path.write_text("\n".join(map(json.dumps, [good, good, found])))
        assert len(read(path, Reading(block_size=64)).order) in (2, 3)


def test_a_missing_package_is_named_with_its_extra(monkeypatch, tmp_path):
    monkeypatch.setattr("kvcalc.traces.extra.find_spec", lambda name: None if name == "numba" else object())
    with pytest.raises(UserError, match=r"traces need numba; install them with: pip install 'kvcalc\[simulate\]'"):
        read(tmp_path)


def folder(tmp_path, **files):
    """Files of rows in a folder."""
    for name, rows in files.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_formats_mixed_in_a_folder_are_refused_by_name(tmp_path, row):
    with pytest.raises(UserError, match=r"'b.jsonl' is WEKA .* and files before it are Mooncake JSONL"):
        read(folder(tmp_path, a=[row(0)], b=[WEKA]))
    with pytest.raises(UserError, match=r"'c.jsonl' is Qwen-Bailian JSONL"):
        read(folder(tmp_path, a=[row(0)], b=[row(1)], c=[BAILIAN]))


def test_files_with_one_numbering_are_named(tmp_path, row):
    trace = read(folder(tmp_path, a=[row(0)], b=[row(1)]))
    assert trace.distinct == 3
    assert trace.notes[0].startswith("2 files with one numbering: equal ids of two files are one block")


def test_sessions_of_a_folder_have_numberings_of_their_own(tmp_path):
    assert not [note for note in read(folder(tmp_path, a=[WEKA], b=[WEKA])).notes if "one numbering" in note]


def test_folders_inside_a_folder_are_said_not_to_be_read(tmp_path, row):
    (tmp_path / "more").mkdir()
    assert "not read: the folder 'more' inside" in read(folder(tmp_path, a=[row(0)])).notes


def test_a_byte_order_mark_is_no_part_of_the_first_row(trace_of, row):
    trace = trace_of("\ufeff" + json.dumps(row(0)), row(1))
    assert (len(trace.order), trace.notes) == (2, ())
    assert len(trace_of("\ufeff" + json.dumps(WEKA), name="t.json").order) == 1
