"""`kvcalc curve` as a program: exit code, stdout and stderr."""

import csv
import io
import json

import pytest

ROW = {"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}


@pytest.fixture
def excerpt(data):
    return data / "mooncake_arxiv_excerpt_1178625ms.jsonl"


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.jsonl"
    path.write_text("\n".join([json.dumps(ROW)] * 3))
    return path


def test_markdown_in_a_pipe_begins_with_the_recommendation(run, excerpt):
    ran = run("curve", excerpt, "--model", "llama3-70b")
    assert (ran.code, ran.err) == (0, "")
    title, _, advice = ran.out.splitlines()[:3]
    assert title.startswith("## ")
    assert title.endswith("hit rate by cache capacity for Llama 3 70B on h100-pcie5")
    assert advice.startswith("Capacity is not the limit: HBM's ")
    assert "### Tiers on the curve" in ran.out


def test_json_is_the_result(run, excerpt):
    found = run("curve", excerpt, "--model", "llama3-70b", "--hardware", "h200-pcie5", "--format", "json").json
    assert found["schema_version"] == 1
    assert found["trace"]["block_references"] == 2181
    assert found["ceiling"]["block_rate"] == pytest.approx(758 / 2181)
    assert {place["tier"] for place in found["places"]} >= {"HBM", "dram-pcie5"}
    assert found["hardware"] == "h200-pcie5"


def test_csv_is_the_curve(run, excerpt):
    rows = list(csv.DictReader(io.StringIO(run("curve", excerpt, "--format", "csv").out)))
    assert float(rows[-1]["block_rate"]) == pytest.approx(758 / 2181)
    assert rows[-1]["mark"] == "ceiling"


def test_the_same_trace_gives_the_same_page(run, data):
    once, again = (run("curve", data / "weka", "--arrival", "concurrency=2", "--sample", "50%").out for _ in range(2))
    assert once == again


def test_touch_decides_what_small_caches_hit(run, data):
    """100 blocks of the excerpt of 20 rows: 41 blocks tail first, 40 head first (golden.json)."""
    rates = []
    for touch in ("tail-first", "head-first"):
        found = run("curve", data / "mooncake_arxiv_first20.jsonl", "--touch", touch, "--format", "json").json
        rates.append({point["capacity_blocks"]: point["block_rate"] for point in found["points"]}[97])
    assert rates[0] > rates[1]


def test_sizes_are_given_in_bytes(run, excerpt):
    found = run(
        "curve", excerpt, "--model", "llama3-70b", "--hbm", "100GB", "--tier", "dram=1TB", "--format", "json"
    ).json
    hbm, dram = found["places"][:2]
    assert (hbm["tier_bytes"], dram["tier_bytes"]) == (100_000_000_000, 1_000_000_000_000)


def test_a_model_without_feed_forward_fields_needs_its_rate_and_hbm(run, refused, excerpt):
    asked = "curve", excerpt, "--model", "hunyuan-a13b"
    assert "give a measured rate with --prefill RATE" in refused(*asked)
    assert "give HBM for KV with --hbm" in refused(*asked, "--prefill", "20000")
    assert run(*asked, "--prefill", "20000", "--hbm", "400GB").code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "llama3-7b"], "no model 'llama3-7b'"),
        (["--model", "llama3-70b", "--hardware", "nowhere"], "'nowhere'"),
        (["--model", "llama3-70b", "--tier", "dram="], "is no tier"),
        (["--hardware", "h100-pcie5", "--tp", "4"], "--hardware, --tp: of no use without a model"),
        (["--shared-prefix", "100"], "--shared-prefix is for traces that name no blocks"),
        (["--plot", "same.png", "--output", "same.png"], "--output and --plot both name 'same.png'"),
        (["--sample", "0.000001%"], "are none of this trace; raise it"),
        (["--model", "llama3-70b", "--hbm", "100"], "is not a size"),
        (["--hbm", "100GB"], "add --model"),
        (["--sample", "0%"], "--sample"),
        (["--sample", "120%"], "--sample"),
        (["--sample", "1"], "is not a percentage"),
        (["--arrival", "later"], "--arrival"),
        (["--arrival", "stagger=60s"], "the times of this trace have one"),
        (["--shared-prefix", "0"], "at least 1"),
    ],
)
def test_wrong_options_are_refused_in_one_line(refused, small, options, said):
    assert said in refused("curve", small, *options)


def test_a_trace_that_is_not_there_is_refused(refused, tmp_path):
    assert "no file or folder" in refused("curve", tmp_path / "none.jsonl")


def test_token_counts_are_refused_until_reuse_is_assumed(refused, run, data):
    path = data / "azure_code_first49.csv"
    assert "--shared-prefix" in refused("curve", path)
    assert run("curve", path, "--shared-prefix", "1k").code == 0


def test_a_wrong_block_size_is_doubted_on_the_page(run, excerpt):
    out = run("curve", excerpt, "--block-size", "16").out
    assert out.splitlines()[2].startswith(
        "The block size is doubtful (blocks of 16 tokens fit 0 % of the prompts; blocks of 512 would fit 100 %)"
    )


@pytest.mark.parametrize("command", ["simulate", "route"])
def test_a_wrong_block_size_is_doubted_first(run, excerpt, command):
    more = ["--replicas", "2"] if command == "route" else []
    out = run(command, excerpt, "--model", "llama3-70b", "--block-size", "256", *more).out
    assert out.splitlines()[2].startswith("The block size is doubtful (blocks of 256 tokens fit")


def test_a_sample_that_is_too_small_says_so_first(run, excerpt):
    small, large = (run("curve", excerpt, "--sample", rate).out.splitlines()[2] for rate in ("1%", "90%"))
    assert small.startswith("The sample is too small to tell: ")
    assert " points; raise --sample. " in small
    assert "too small" not in large


def test_a_tier_is_named_without_its_size_as_in_simulate(run, excerpt):
    found = run("curve", excerpt, "--model", "llama3-70b", "--tier", "dram", "--format", "json").json
    assert {place["tier"] for place in found["places"]} == {"HBM", "dram-pcie5"}


def test_seconds_in_milliseconds_are_doubted_on_the_page(run, tmp_path):
    path = tmp_path / "seconds.jsonl"
    path.write_text("\n".join(json.dumps(ROW | {"timestamp": time / 4}) for time in range(100)))
    out = run("curve", path).out
    assert "so they were read as seconds; --time-unit ms overrides" in out
    assert "times in s" in out


def test_interrupted_it_leaves_nothing(run, small, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kvcalc.traces.columns.trace", interrupt)
    ran = run("curve", small, "--output", tmp_path / "out.md")
    assert (ran.code, ran.out) == (130, "")
    assert not (tmp_path / "out.md").exists()


def test_a_plot_is_drawn_beside_the_page(run, excerpt, tmp_path):
    ran = run("curve", excerpt, "--plot", tmp_path / "curve.svg")
    assert (ran.code, ran.err) == (0, f"kvcalc: wrote {tmp_path / 'curve.svg'}\n")
    assert ran.out == run("curve", excerpt).out
    assert "hit rate by capacity" in (tmp_path / "curve.svg").read_text()


def test_a_plot_of_no_format_is_refused_before_any_work(refused, tmp_path):
    assert "names no format" in refused("curve", tmp_path / "none.jsonl", "--plot", tmp_path / "curve.bmp")


def test_a_tier_that_the_node_lacks_is_taken_from_the_catalog(run, excerpt):
    found = run("curve", excerpt, "--model", "llama3-70b", "--tier", "nvme-gen5=8TB", "--format", "json").json
    assert [place["tier"] for place in found["places"]][:4] == ["HBM", "dram-pcie5", "nvme-gen4", "nvme-gen5"]


def test_tiers_fit_80_columns_with_names_whole(run, excerpt, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = run("curve", excerpt, "--model", "llama3-70b", "--format", "text").out
    rows = [line for line in out.splitlines() if line.startswith("nvme-gen4 ")]
    assert [row.split()[3] for row in rows] == ["fp8", "bf16"]
    assert all(len(row) <= 80 and row.endswith("recompute") for row in rows)
