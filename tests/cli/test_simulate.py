"""`kvcalc simulate` as a program: exit code, stdout and stderr."""

import csv
import gzip
import io
import json

import pytest


@pytest.fixture
def excerpt(data):
    return data / "mooncake_arxiv_excerpt_1178625ms.jsonl"


SMALL = "--model", "llama3-70b", "--hbm", "25GB", "--tier", "dram=200GB"  # 298 and 2,384 blocks of 84 MB


def test_markdown_in_a_pipe_begins_with_the_recommendation(run, excerpt):
    ran = run("simulate", excerpt, *SMALL)
    assert (ran.code, ran.err) == (0, "")
    title, _, advice = ran.out.splitlines()[:3]
    assert title.endswith("Llama 3 70B on h100-pcie5, with time")
    assert advice.startswith("Capacity is")
    for table in ("Without offload and with it", "Saved", "Tiers", "Links", "Replayed", "Assumptions"):
        assert f"### {table}" in ran.out


def test_text_is_for_terminals(run, excerpt):
    assert "TTFT" in run("simulate", excerpt, *SMALL, "--format", "text").out


def test_json_is_the_result(run, excerpt):
    found = run("simulate", excerpt, *SMALL, "--format", "json").json
    assert found["schema_version"] == 1
    assert [each["name"] for each in found["runs"]] == ["HBM alone", "with tiers"]
    assert found["played"]["fetch_if"] == "always"
    assert [each["tier_blocks"] for each in found["tiers"]] == [298, 2384]


def test_csv_has_a_row_a_replay(run, excerpt):
    rows = list(csv.DictReader(io.StringIO(run("simulate", excerpt, *SMALL, "--format", "csv").out)))
    assert [row["name"] for row in rows] == ["HBM alone", "with tiers"]
    assert float(rows[1]["ttft_p50_s"]) > 0


@pytest.mark.parametrize("form", ["text", "markdown", "json", "csv"])
def test_the_same_seed_gives_the_same_output_byte_for_byte(run, excerpt, form):
    asked = ("simulate", excerpt, *SMALL, "--spacing", "poisson", "--seed", "3", "--format", form)
    assert run(*asked).out == run(*asked).out
    assert run(*asked).out != run(*asked[:-4], "--seed", "4", *asked[-2:]).out


@pytest.mark.parametrize(
    "options",
    [
        ["--policy", "fifo"],
        ["--admission", "second-use"],
        ["--hierarchy", "inclusive"],
        ["--prefetch", "lazy"],
        ["--fetch-if", "margin>1"],
        ["--replicas", "3"],
        ["--speed", "2.5"],
        ["--spacing", "spread"],
        ["--tier", "nvme"],
        ["--kv-dtype", "bf16", "--hbm", "50GB"],
        ["--engine", "vllm"],
        ["--bandwidth", "dram=50GB/s", "--latency", "dram=1ms"],
    ],
)
def test_each_option_answers(run, excerpt, options):
    found = run("simulate", excerpt, *SMALL, *options, "--format", "json").json
    assert found["runs"][1]["ttft_p99_s"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "llama3-7b"], "no model 'llama3-7b'"),
        (["--hardware", "nowhere"], "'nowhere'"),
        (["--tier", "floppy"], "'floppy'"),
        (["--tier", "dram="], "is no tier"),
        (["--tier", "dram", "--tier", "dram"], "given twice"),
        (["--tier", "dram=lots"], "is not a size"),
        (["--hbm", "1GB"], "the longest prompt has"),
        (["--fetch-if", "sometimes"], "is none of 'always', 'margin>1'"),
        (["--fetch-if", "margin>0"], "always so"),
        (["--fetch-if", "margin>x"], "--fetch-if"),
        (["--speed", "0"], "--speed"),
        (["--speed", "nan"], "--speed"),
        (["--replicas", "0"], "--replicas"),
        (["--replicas", "9999"], "--replicas"),
        (["--seed", "-1"], "--seed"),
        (["--policy", "lfu"], "--policy"),
        (["--kv-dtype", "fp7"], "fp7"),
        (["--bandwidth", "nvme=1GB/s"], "no tier 'nvme' here"),
    ],
)
def test_wrong_options_are_refused_in_one_line(refused, excerpt, options, said):
    asked = ["--model", "llama3-70b", "--tier", "dram"]
    if options[0] in ("--model", "--tier"):
        at = asked.index(options[0])
        del asked[at : at + 2]
    assert said in refused("simulate", excerpt, *asked, *options)


def test_a_trace_without_blocks_is_refused_until_reuse_is_assumed(refused, run, data):
    path = data / "azure_code_first49.csv"
    assert "--shared-prefix" in refused("simulate", path, "--model", "llama3-70b")
    assert run("simulate", path, "--model", "llama3-70b", "--shared-prefix", "1k").code == 0


@pytest.mark.parametrize("text", ["", "\n\n", "not a trace\n", '{"a": 1}\n', '{"timestamp": 0, "input_len'])
def test_files_that_are_no_trace_are_refused(refused, tmp_path, text):
    (tmp_path / "bad.jsonl").write_text(text)
    assert "bad.jsonl" in refused("simulate", tmp_path / "bad.jsonl", "--model", "llama3-70b")


def test_a_trace_cut_off_in_a_row_is_read_up_to_there(run, excerpt, tmp_path):
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(excerpt.read_bytes()[:-40]))
    out = run("simulate", cut, *SMALL).out
    assert "1 row left out" in out


def test_one_request_is_a_trace(run, tmp_path):
    row = {"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}
    (tmp_path / "one.jsonl").write_text(json.dumps(row))
    found = run("simulate", tmp_path / "one.jsonl", "--model", "llama3-70b", "--format", "json").json
    assert found["runs"][0]["ttft_p50_s"] == pytest.approx(600 / 50_000)


def test_interrupted_it_leaves_nothing(run, excerpt, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kvcalc.simulate.replay.collect", interrupt)
    ran = run("simulate", excerpt, *SMALL, "--output", tmp_path / "out.md")
    assert (ran.code, ran.out) == (130, "")
    assert list(tmp_path.iterdir()) == []


def test_progress_is_shown_on_a_terminal_only(run, excerpt, monkeypatch):
    told = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.progress.Progress.update", lambda _, __, **said: told.append(said["description"]))
    assert run("simulate", excerpt, *SMALL).code == 0
    assert {text.split(": ")[1] for text in told} == {"reading", "without offload", "with tiers"}
