"""`kvcalc sweep` as a program: formats, options, refusals, plots."""

import csv
import io

import pytest

from kvcalc.answers import sweep as question
from kvcalc.answers.sweep_result import KEYS

CHAPTER = ("sweep", "--model", "llama3-70b")


def test_csv_has_a_row_for_every_point_and_path(run):
    ran = run(*CHAPTER, "--seq", "1k,20k", "--links", "1", "--tier", "dram", "--tier", "nvme", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert (ran.code, ran.err) == (0, "")
    assert tuple(rows[0]) == KEYS
    assert [(row["tier"], row["tokens"]) for row in rows] == [
        (tier, tokens) for tier in ("dram-pcie5", "nvme-gen4") for tokens in ("1000", "20000")
    ]
    assert float(rows[1]["recompute_s"]) == pytest.approx(0.4)


def test_json_is_the_answer_with_the_same_rows(run):
    asked = (*CHAPTER, "--seq", "1k,20k", "--kv-dtype", "fp8,bf16")
    answer = run(*asked, "--format", "json").json
    rows = list(csv.DictReader(io.StringIO(run(*asked, "--format", "csv").out)))
    assert answer["schema_version"] == 1
    assert answer["axes"]["tokens"] == [1000, 20_000]
    assert len(answer["points"]) == len(rows) == 28
    assert [point["margin"] for point in answer["points"]] == [float(row["margin"]) for row in rows]


def test_two_axes_are_a_matrix_for_each_path(run):
    out = run(*CHAPTER, "--seq", "1k..4k", "--bandwidth", "dram=1GB/s,8GB/s,64GB/s", "--links", "1").out
    assert "### dram-pcie5, 1 link: bandwidth of a link across" in out
    assert "| Tokens | 1 GB/s  | 8 GB/s   | 64 GB/s |" in out
    assert "| 1,000  | c 0.12x | c 0.98x? | R 7.8x  |" in out  # 20 ms against 163.84 MB / rate


def test_a_large_grid_is_shown_in_part(run):
    out = run(*CHAPTER, "--seq", "1k..1M:500", "--bandwidth", "1GB/s..1TB/s:100", "--links", "1").out
    matrix = out.split("###")[1].splitlines()
    assert len([line for line in matrix if line.startswith("|")]) == 26
    assert "of 250,000 points" in out


def test_every_option_of_the_issue_may_be_swept_with_every_other(run):
    ran = run(
        "sweep", "--model", "llama3-70b,llama3.1-8b", "--hardware", "h100-pcie5,h200-pcie5", "--seq", "1k,2k",
        "--bandwidth", "1GB/s,2GB/s", "--prefill", "model,50000", "--tp", "4,8", "--kv-dtype", "fp8,bf16",
        "--block", "16,32", "--layout", "per-layer", "--links", "1,all", "--concurrency", "1,2", "--tier", "dram",
        "--format", "csv",
    )  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("\n") == 2**10 + 1


def test_what_is_left_out_is_said_on_stderr_too(run):
    ran = run(*CHAPTER, "--tp", "8,16", "--format", "csv")
    assert ran.code == 0
    assert ran.err == "kvcalc: left out TP 16: 'h100-pcie5' has 8 GPUs, not 16; use --tp 8 or less\n"


def test_all_nodes(run):
    ran = run(*CHAPTER, "--hardware", "all", "--tier", "dram-pcie5", "--format", "csv")
    assert ran.code == 0
    assert len({row["hardware"] for row in csv.DictReader(io.StringIO(ran.out))}) > 15


@pytest.mark.parametrize(("options", "said"), [
    (("--seq", "1M..1k"), "--seq: '1M..1k' is reversed; write 1k..1M"),
    (("--seq", ""), "--seq: '' has an empty part"),
    (("--tp", "0"), "--tp: '0' is not a whole number from 1"),
    (("--tp", "1,x"), "--tp: 'x' is not a whole number from 1"),
    (("--links", "0"), "--links: '0' is not a whole number from 1"),
    (("--concurrency", "0"), "--concurrency: '0' is not a whole number from 1"),
    (("--bandwidth", "dram=5"), "--bandwidth: '5' is not a rate"),
    (("--bandwidth", "tape=1GB/s,2GB/s"), "no tier 'tape'"),
    (("--bandwidth", "dram=1GB/s,2GB/s", "--bandwidth", "nvme=1GB/s,2GB/s"), "sweep one tier"),
    (("--bandwidth", "1GB/s", "--bandwidth", "2GB/s"), "is given twice"),
    (("--bandwidth", "=5GB/s"), "'=5GB/s' has no tier before '='; write one like 'dram=5GB/s' or 'all=5GB/s'"),
    (("--bandwidth", "dram="), "'dram=' has no rate after '='"),
    (("--prefill", "quick"), "--prefill: 'quick' is not a rate in tokens a second"),
    (("--kv-dtype", "fp8,fp9"), "no KV format 'fp9'"),
    (("--model", "llama3-7b"), "no model 'llama3-7b'; did you mean 'llama3-70b'?"),
    (("--hardware", "h100-pcie5,h200-pcie"), "no node 'h200-pcie'; did you mean 'h200-pcie5'?"),
    (("--block", "16"), "pages don't matter to a contiguous layout"),
    (("--seq", "1k..1M:100000", "--bandwidth", "1GB/s..1TB/s:100000"), "points is too large"),
    (("--seq", "1..100M:1000000000"), "a grid of 1,000,000,000 points is too large, the most is 10,000,000;"),
])  # fmt: skip
def test_wrong_input_is_refused_in_one_line(refused, options, said):
    assert said in refused(*CHAPTER, *options)


@pytest.mark.parametrize("command", ["sweep", "crossover"])
@pytest.mark.parametrize(("name", "said"), [
    ("missing/plot.png", "cannot be written"),
    ("plot.jpg", "names no format; end it with .svg, .png, .pdf"),
    ("plot", "names no format"),
])  # fmt: skip
def test_a_plot_that_cannot_be_written_is_refused_before_any_work(refused, tmp_path, monkeypatch, command, name, said):
    monkeypatch.setattr(question, "sweep", None)  # would raise TypeError
    monkeypatch.setattr("kvcalc.answers.crossover.crossover", None)
    assert said in refused(command, "--model", "llama3-70b", "--plot", tmp_path / name)


@pytest.mark.parametrize("command", ["sweep", "crossover"])
def test_outputs_are_checked_together_and_nothing_is_left_of_a_refused_run(refused, tmp_path, monkeypatch, command):
    asked = (command, "--model", "llama3-70b", "--plot", tmp_path / "plot.png")
    monkeypatch.setattr(question, "sweep", None)  # would raise TypeError
    monkeypatch.setattr("kvcalc.answers.crossover.crossover", None)
    assert "cannot be written" in refused(*asked, "--output", tmp_path / "missing" / "page.md")
    assert "--output and --plot both name" in refused(*asked, "--output", tmp_path / "plot.png")
    assert list(tmp_path.glob("*.*")) == []


def test_files_that_were_written_are_named_on_stderr(run, tmp_path):
    page, plot = tmp_path / "page.md", tmp_path / "plot.svg"
    ran = run(*CHAPTER, "--seq", "1k,20k", "--tier", "dram", "--output", page, "--plot", plot)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == f"kvcalc: wrote {plot}\nkvcalc: wrote {page}\n"
    assert page.read_text().startswith("## Llama 3 70B")


def test_one_tier_swept_beside_a_rate_for_all_keeps_the_nodes_tiers(run):
    asked = ("--links", "1", "--bandwidth", "dram=1GB/s..4GB/s", "--bandwidth", "all=5GB/s", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(run(*CHAPTER, *asked).out)))
    assert {float(row["link_bytes_per_s"]) for row in rows if row["tier"] == "dram-pcie5"} == {1e9, 2e9, 4e9}
    others = [row for row in rows if row["tier"] != "dram-pcie5"]
    assert {row["tier"] for row in others} == {"nvme-gen4", "infiniband-400g", "ethernet-25g", "remote-store"}
    assert {float(row["link_bytes_per_s"]) for row in others} == {5e9}


def test_matplotlib_that_is_missing_is_named_with_its_extra(refused, tmp_path, monkeypatch):
    monkeypatch.setattr("kvcalc.plots.figure.find_spec", lambda _: None)
    said = refused(*CHAPTER, "--plot", tmp_path / "plot.png")
    assert said == "--plot needs matplotlib; install it with pip install 'kvcalc[plot]'"


def test_one_link_that_is_all_links_is_one_point(run):
    """TP 1 has one link; TP 2, 4 and 8 have one and all."""
    points = run(*CHAPTER, "--tp", "1,2,4,8", "--tier", "dram").out.split("### Points")[1].split("###")[0]
    assert points.count("| dram-pcie5 |") == 7


def test_values_that_are_not_shown_are_said(run):
    out = run(*CHAPTER, "--seq", "1k..1M:500", "--bandwidth", "dram=1GB/s..64GB/s:100", "--links", "1").out
    assert "24 of 500 values of tokens are shown; --format csv has all." in out
    assert "24 of 100 values of bandwidth of a link are shown; --format csv has all." in out


def test_tiers_of_a_medium_share_a_matrix_over_nodes(run):
    """The two nodes call their DRAM and their flash differently; only h100-pcie5 has a remote store."""
    out = run("sweep", "--model", "llama3-70b", "--hardware", "h100-pcie5,gb200-nvlink-c2c", "--links", "1").out
    (head,) = [line for line in out.splitlines() if line.startswith("| Node") and "Tier" not in line]
    assert [cell.strip() for cell in head.strip("|").split("|")][1:3] == ["dram, 1 link", "nvme, 1 link"]
    assert "dram: dram-pcie5, dram-c2c-gb200" in out
    rows = [line for line in out.splitlines() if line.startswith("| gb200-nvlink-c2c |") and "GB/s" not in line]
    assert len(rows) == 1


def test_matrices_have_no_empty_rows_or_columns(run):
    out = run(*CHAPTER, "--hardware", "all", "--seq", "1k..4k", "--tier", "nvme").out
    for block in out.split("###")[1:]:
        if "across" in block.split("\n")[0]:
            lines = [line.strip("|").split("|") for line in block.splitlines() if line.startswith("|")]
            assert all(any(cell.strip() for cell in row[1:]) for row in lines)
            assert all(any(row[place].strip() for row in lines[2:]) for place in range(len(lines[0])))


def test_new_tokens_may_be_a_range(run):
    ran = run(*CHAPTER, "--new", "1k..4k", "--tier", "dram", "--links", "1", "--format", "csv")
    assert [row["new_tokens"] for row in csv.DictReader(io.StringIO(ran.out))] == ["1000", "2000", "4000"]


def test_bases_that_differ_are_warned_of_on_the_page(run):
    assert "### Warnings" in run(*CHAPTER, "--tp", "4,8").out
    assert "### Warnings" not in run(*CHAPTER, "--tp", "4,8", "--prefill", "model").out
