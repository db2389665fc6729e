"""`kvcalc margin`: its options, exit codes and where its output goes."""

import csv
import datetime
import os

import pytest

from kvcalc.profiles import places, sources
from kvcalc.profiles.hardware import Node

CHAPTER = ("margin", "--model", "llama3-70b")


class Later(datetime.date):
    @classmethod
    def today(cls):
        return cls(2031, 1, 2)


def tiers(answer):
    return list(dict.fromkeys(path["tier"] for path in answer["paths"]))


def test_answer_goes_to_stdout_and_nothing_to_stderr(run):
    ran = run(*CHAPTER, "--seq", "20000")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("## Llama 3 70B, 20,000 tokens: fetch or recompute?\n\nRestore from dram-pcie5")
    for title in (
        "Restored",
        "Recompute",
        "Verdicts",
        "Warnings",
        "What would change the verdict",
        "Assumptions",
        "Sources",
    ):
        assert f"\n### {title}" in ran.out
    assert ran.out.endswith("\n")
    assert not ran.out.endswith("\n\n")


@pytest.mark.parametrize("text", ["20000", "20_000", "20k", "20e3", " 20000"])
def test_lengths_are_read_as_people_write_them(margin, text):
    assert margin("--seq", text)["tokens"] == 20_000


def test_binary_length_is_a_multiple_of_1024(margin):
    assert margin("--seq", "128Ki")["tokens"] == 131_072


def test_default_length_is_the_chapters(margin):
    assert margin() == margin("--seq", "20000")


def test_tier_picks_and_adds(margin):
    assert tiers(margin("--tier", "nvme")) == ["nvme-gen4"]
    assert tiers(margin("--tier", "store", "--tier", "dram-pcie5")) in (
        ["remote-store", "dram-pcie5"], ["dram-pcie5", "remote-store"],
    )  # fmt: skip
    assert "s3" in tiers(margin("--tier", "s3"))
    assert len(tiers(margin("--tier", "s3"))) == 6


def test_bandwidth_is_one_direction_of_one_link_and_bits_are_divided_by_eight(margin):
    paths = margin("--tier", "dram", "--bandwidth", "dram=400Gb/s")["paths"]
    assert paths[0]["bandwidth_bytes_per_s"] == 50e9
    assert margin("--tier", "dram", "--bandwidth", "dram=50 GB/s")["paths"][0]["fetch_s"] == paths[0]["fetch_s"]
    binary = margin("--tier", "dram", "--bandwidth", "dram=50GiB/s")["paths"][0]
    assert binary["bandwidth_bytes_per_s"] == 50 * 2**30


def test_latency_is_added_once(margin):
    slow, fast = (
        margin("--tier", "dram", "--latency", f"dram={each}")["paths"][0]["fetch_s"] for each in ("30ms", "0")
    )
    assert slow - fast == pytest.approx(0.03)


def test_links_are_one_row_each(margin):
    assert [path["links"] for path in margin("--tier", "dram")["paths"]] == [1, 8]
    assert [path["links"] for path in margin("--tier", "dram", "--links", "3")["paths"]] == [3]
    assert [path["links"] for path in margin("--tier", "dram", "--links", "all")["paths"]] == [8]


@pytest.mark.parametrize(
    ("way", "basis"), [("profile", "textbook"), ("model", "fit"), ("textbook", "textbook"), ("28000", "given")]
)
def test_prefill_chooses_how_the_recompute_time_is_found(margin, way, basis):
    assert margin("--prefill", way)["recompute"]["basis"] == basis


def test_prefill_rate_may_have_its_unit(margin):
    plain, unit = (margin("--prefill", text)["recompute"]["seconds"] for text in ("28000", "28000 tok/s"))
    assert plain == unit == 20_000 / 28_000


def test_tokens_to_follow_are_not_fetched(margin):
    answer = margin("--seq", "10k", "--new", "5k", "--prefill", "model")
    assert (answer["tokens"], answer["new_tokens"], answer["kv_bytes"]) == (10_000, 5_000, 1_638_400_000)


def test_minimum_margin_moves_the_verdict(margin):
    verdicts = [
        margin("--tier", "dram", "--links", "1", "--min-margin", each)["paths"][0]["verdict"] for each in (3, 7)
    ]
    assert verdicts == ["restore", "marginal"]  # 6.7x


def test_weights_and_kv_formats_are_taken(margin):
    answer = margin("--weights", "bf16", "--kv-dtype", "nvfp4")
    assert (answer["weights"], answer["kv_dtype"]) == ("bf16", "nvfp4")
    assert answer["kv_bytes_per_token"] == 163_840 * 9 // 16  # half a byte an element, and a byte for 16 of them


def test_engine_pages_can_be_laid_out_otherwise(margin):
    path = margin("--tp", "1", "--tier", "dram", "--engine", "vllm", "--layout", "per-layer", "--page", "32")["paths"][
        0
    ]
    assert path["copies"] == 20_000 // 32 * 80


def test_hardware_may_be_repeated_and_each_is_shown_once(run, margin):
    names = ("h100-pcie5", "b200-pcie5", "h100-pcie5")
    asked = [word for name in names for word in ("--hardware", name)]
    assert [answer["hardware"] for answer in margin(*asked)] == ["h100-pcie5", "b200-pcie5"]
    out = run(*CHAPTER, *asked).out
    assert "| Node " in out
    assert "### Verdicts, h100-pcie5" in out
    assert "### Verdicts, b200-pcie5" in out


@pytest.mark.parametrize(("model", "tp"), [
    ("llama3-70b", None),
    ("llama3.1-8b", None),
    ("gpt-oss-120b", None),  # A100s have no constants for its MXFP4 experts
    ("deepseek-v3", None),  # nor for FP8 experts
    ("qwen2.5-7b", "4"),  # 28 heads divide by 4 and not by 8; some nodes have one GPU
])  # fmt: skip
def test_all_hardware_is_every_node_that_can_answer(run, model, tp):
    split = ("--tp", tp) if tp else ()
    ran = run("margin", "--model", model, "--hardware", "all", *split, "--format", "csv")
    assert ran.code == 0, ran.err
    nodes = {row["hardware"] for row in csv.DictReader(ran.out.splitlines())}
    assert nodes >= {"h200-pcie5", "b200-pcie5", "gb200-nvlink-c2c"}  # these have FP8, and at least 4 GPUs
    left_out = {line.removeprefix("kvcalc: left out ").partition(":")[0] for line in ran.err.splitlines()}
    assert nodes.isdisjoint(left_out)
    assert nodes | left_out == set(places.names(Node))


@pytest.mark.parametrize(("options", "fail_if", "code"), [
    (("--tier", "dram"), "recompute", 0),  # 6.7x and 26x
    (("--tier", "dram"), "marginal", 0),
    (("--tier", "nvme"), "recompute", 3),  # 0.85x
    (("--tier", "nvme"), "marginal", 3),  # worse than marginal
    (("--tier", "nvme", "--bandwidth", "nvme=10GB/s"), "recompute", 0),  # 328 ms: 1.2x
    (("--tier", "nvme", "--bandwidth", "nvme=10GB/s"), "marginal", 3),
    (("--tier", "nvme", "--bandwidth", "nvme=30GB/s"), "marginal", 0),  # 109 ms: 3.7x
    ((), "recompute", 3),  # some tier
    (("--hardware", "gh200-nvlink-c2c", "--hardware", "h100-pcie5", "--tier", "nvme", "--tp", "1"), "recompute", 3),
])  # fmt: skip
def test_fail_if_makes_a_bad_verdict_exit_code_three_and_still_prints(run, options, fail_if, code):
    asked = (*CHAPTER, "--prefill", "50000", *options)
    ran = run(*asked, "--fail-if", fail_if)
    assert (ran.code, ran.err) == (code, "")
    assert ran.out == run(*asked).out


def test_explain_adds_the_arithmetic(run):
    plain, explained = run(*CHAPTER), run(*CHAPTER, "--explain")
    assert "Arithmetic" not in plain.out
    assert "### Arithmetic" in explained.out
    assert "163,840 B a token x 20,000 tokens" in explained.out


def test_output_is_written_to_the_file_and_nothing_printed(run, tmp_path):
    file = tmp_path / "answer.md"
    assert run(*CHAPTER, "--output", str(file)) == (0, "", f"kvcalc: wrote {file}\n")
    assert file.read_text() == run(*CHAPTER).out
    assert os.listdir(tmp_path) == ["answer.md"]


@pytest.mark.parametrize("form", ["text", "markdown", "json", "csv"])
def test_output_takes_every_format(run, tmp_path, form):
    file = tmp_path / "answer"
    assert run(*CHAPTER, "--format", form, "--output", str(file)) == (0, "", f"kvcalc: wrote {file}\n")
    assert file.read_text() == run(*CHAPTER, "--format", form).out


def test_output_replaces_a_file_whole_or_leaves_it(run, tmp_path, monkeypatch):
    file = tmp_path / "answer.md"
    file.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        ran = run(*CHAPTER, "--output", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert str(file) in ran.err
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["answer.md"]
    run(*CHAPTER, "--output", str(file))
    assert file.read_text().startswith("## Llama 3 70B")


def test_output_that_can_not_be_written_leaves_nothing(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "none" / "answer.md", tmp_path / "folder"):
        assert str(place) in refused(*CHAPTER, "--output", str(place))
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(tmp_path / "folder") == []


def test_new_file_is_readable_by_others_as_the_umask_allows(run, tmp_path):
    before = os.umask(0o022)
    try:
        run(*CHAPTER, "--output", str(tmp_path / "answer.md"))
    finally:
        os.umask(before)
    assert (tmp_path / "answer.md").stat().st_mode & 0o777 == 0o644


def test_help_names_every_option(run):
    ran = run("margin", "--help")
    assert (ran.code, ran.err) == (0, "")
    for option in (
        "--model", "--seq", "--hardware", "--tier", "--kv-dtype", "--weights", "--tp", "--engine", "--prefill",
        "--bandwidth", "--latency", "--links", "--layout", "--page", "--new", "--min-margin", "--fail-if", "--explain",
        "--format", "--output",
    ):  # fmt: skip
        assert option in ran.out


def test_same_question_has_the_same_answer_on_another_day(run, monkeypatch):
    asked = (*CHAPTER, "--bandwidth", "dram=50GB/s")
    today = run(*asked).out
    monkeypatch.setattr(sources, "date", Later, raising=False)
    assert run(*asked).out == today
