"""`kvcalc route` as a program: exit code, stdout and stderr."""

import csv
import io

import pytest

ASKED = "--model", "llama3-70b", "--replicas", "3", "--hbm", "25GB"


@pytest.fixture
def excerpt(data):
    return data / "mooncake_arxiv_excerpt_1178625ms.jsonl"


def test_markdown_begins_with_the_recommendation(run, excerpt):
    ran = run("route", excerpt, *ASKED)
    assert (ran.code, ran.err) == (0, "")
    title, _, advice = ran.out.splitlines()[:3]
    assert title.endswith("3 replicas of Llama 3 70B on h100-pcie5")
    assert "against" in advice
    for word in (
        "round-robin",
        "least-loaded",
        "prefix-aware",
        "consistent-hash",
        "shared-store",
        " needs ",
        "It fails so",
    ):
        assert word in ran.out


def test_json_is_the_result(run, excerpt):
    found = run("route", excerpt, *ASKED, "--store", "ethernet=1TB", "--format", "json").json
    assert (found["store"], found["store_bytes"]) == ("ethernet-25g", 10**12)
    assert [each["run"]["name"] for each in found["strategies"]][-1] == "shared-store"


def test_csv_has_a_row_a_strategy(run, excerpt):
    rows = list(csv.DictReader(io.StringIO(run("route", excerpt, *ASKED, "--format", "csv").out)))
    assert len(rows) == 5
    assert {"name", "token_rate", "load_imbalance", "network_bytes", "components"} <= set(rows[0])


def test_the_same_seed_gives_the_same_output_byte_for_byte(run, excerpt):
    asked = ("route", excerpt, *ASKED, "--spacing", "spread", "--seed", "5")
    assert run(*asked).out == run(*asked).out


@pytest.mark.parametrize(
    "options",
    [
        ["--tier", "dram=100GB"],
        ["--load-cap", "1"],
        ["--hash-tokens", "4k"],
        ["--prefetch", "lazy"],
        ["--fetch-if", "margin>3"],
        ["--bandwidth", "infiniband=3GB/s"],
        ["--speed", "0.5"],
    ],
)
def test_each_option_answers(run, excerpt, options):
    assert run("route", excerpt, *ASKED, *options, "--format", "json").json["strategies"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--replicas", "1"], "--replicas"),
        (["--load-cap", "0.9"], "--load-cap"),
        (["--hash-tokens", "0"], "--hash-tokens"),
        (["--store", "floppy"], "'floppy'"),
        (["--store", "infiniband", "--tier", "infiniband=1TB"], "is a tier of each replica already"),
        (["--store", "dram"], "no tier that several replicas reach"),
        (["--store", "infiniband=1MB"], "the longest prompt has"),
    ],
)
def test_wrong_options_are_refused_in_one_line(refused, excerpt, options, said):
    assert said in refused("route", excerpt, *ASKED, *options)


def test_how_many_replicas_has_to_be_said(refused, excerpt):
    assert "--replicas" in refused("route", excerpt, "--model", "llama3-70b")


def test_tables_fit_80_columns_with_names_whole(run, excerpt, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = run("route", excerpt, *ASKED, "--format", "text").out
    rows = [line for line in out.splitlines() if line.startswith("consistent-hash ")]
    assert len(rows) == 1
    assert max(map(len, rows)) <= 80
