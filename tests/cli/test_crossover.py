"""`kvcalc crossover` as a program."""

import csv
import io

import pytest

CHAPTER = ("crossover", "--model", "llama3-70b")


def test_page_tells_crossovers_break_even_bandwidths_and_variants(run):
    out = run(*CHAPTER).out
    for title in (
        "### Crossovers",
        "### Break-even bandwidth of one link, by length",
        "### Bandwidth of one link for 3x, by length",
        "### By TP degree, all links",
        "### By KV format, all links",
        "### By prefill, all links",
        "### Assumptions",
    ):
        assert title in out
    (row,) = [line for line in out.splitlines() if line.startswith("| infiniband-400g | InfiniBand NDR, 1 link")]
    assert [cell.strip() for cell in row.split("|")][4] == "from 60"  # as `margin` says


@pytest.mark.parametrize(
    ("other", "names"), [("h200-pcie5", ("h100-pcie5", "h200-pcie5")), ("bf16", ("fp8 KV", "bf16 KV"))]
)
def test_against_puts_two_answers_side_by_side(run, other, names):
    ran = run(*CHAPTER, "--against", other)
    assert ran.code == 0
    assert "### Side by side" in ran.out
    for name in names:
        assert f"{name}: tier" in ran.out
        assert f"### Crossovers, {name}" in ran.out
    assert len(run(*CHAPTER, "--against", other, "--format", "json").json) == 2


def test_csv_has_a_row_for_each_path_and_length(run):
    ran = run(*CHAPTER, "--seq", "1k,20k", "--tier", "dram", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [(row["links"], row["tokens"]) for row in rows] == [
        ("1", "1000"),
        ("1", "20000"),
        ("8", "1000"),
        ("8", "20000"),
    ]
    assert float(rows[1]["break_even_link_bytes_per_s"]) == pytest.approx(8.19e9, rel=1e-3)


def test_the_longest_prompt_is_drawn_too(run, tmp_path):
    assert run(*CHAPTER, "--seq", "100M", "--links", "1", "--tier", "dram", "--plot", tmp_path / "plot.svg").code == 0


def test_plots_are_written(run, tmp_path):
    times, verdicts = tmp_path / "times.svg", tmp_path / "map.pdf"
    ran = run(*CHAPTER, "--seq", "1k..1M", "--plot", times, "--map", verdicts)
    assert (ran.code, ran.err) == (0, f"kvcalc: wrote {times}\nkvcalc: wrote {verdicts}\n")
    assert times.read_text().startswith("<?xml")
    assert verdicts.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(("options", "said"), [
    (("--against", "h200-pcie"), "no node 'h200-pcie'; did you mean 'h200-pcie5'?"),
    (("--against", "int7"), "no node 'int7'"),
    (("--against", "int7"), "or a KV format: "),
    (("--against", "h100-pcie5"), "--against h100-pcie5: it is what is asked about; name another node or KV format"),
    (("--against", "fp8"), "--against fp8: it is what is asked about"),
    (("--plot", "one.svg", "--map", "one.svg"), "--plot and --map both name 'one.svg'; name two files"),
    (("--seq", "1M..1k"), "is reversed"),
    (("--map", "map.gif"), "--map: 'map.gif' names no format"),
    (("--tp", "3"), "can't be split over 3 GPUs"),
])  # fmt: skip
def test_wrong_input_is_refused_in_one_line(refused, options, said):
    assert said in refused(*CHAPTER, *options)


def test_rows_of_different_bases_are_noted(run):
    assert "Rows differ in basis (measured, textbook), so they are not alike; --prefill model" in run(*CHAPTER).out
    beside = run(*CHAPTER, "--against", "h200-pcie5")
    assert "different bases (textbook on h100-pcie5, fit on h200-pcie5), so they are not alike" in beside.out


def test_at_80_columns_no_number_and_no_name_is_broken(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for options in ((), ("--against", "h200-pcie5"), ("--seq", "1M,100M")):
        out = run(*CHAPTER, *options, "--format", "text").out
        assert max(map(len, out.splitlines())) <= 80
        for name in ("dram-pcie5", "infiniband-400g", "remote-store"):
            assert name in out
        assert "1,000,000" in out
        words = set(out.split())
        assert not words & {"dram-pc", "ie5", "infiniband-4", "1,000,0", "00", "GB/"}
