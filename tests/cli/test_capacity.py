"""`kvcalc capacity`: what it prints, and wrong input in one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LOG = (
    "INFO 08-11 07:45:00 Initializing a V1 LLM engine (v0.19.0) with config: model='google/gemma-3-4b-it', "
    "tensor_parallel_size=1, max_seq_len=8192, kv_cache_dtype=auto\n"
    "(EngineCore_0 pid=4242) INFO 09-20 10:33:02 [gpu_worker.py:298] Available KV cache memory: 62.51 GiB\n"
    "(EngineCore_0 pid=4242) INFO 09-20 10:33:02 [kv_cache_utils.py:864] GPU KV cache size: 468,144 tokens\n"
    "(EngineCore_0 pid=4242) INFO 09-20 10:33:02 [kv_cache_utils.py:868] Maximum concurrency for 8,192 tokens per "
    "request: 57.05x\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Callable[[bytes | str], str]:
    """Write a log; its path."""

    def write(content: bytes | str) -> str:
        path = tmp_path / "engine.log"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def test_page_has_the_budget_the_blocks_and_the_places(run: Callable[..., Any]):
    ran = run("capacity", "--model", "gemma3-27b", "--hardware", "h100-pcie5", "--tp", "2", "--prefix", "20k")
    assert (ran.code, ran.err) == (0, "")
    for said in (
        "### HBM of one GPU",
        "| 52 sliding |      6 |              8 |",
        "dram-pcie5",
        "First of all, fp8",
    ):
        assert said in ran.out


@pytest.mark.parametrize("form", ["text", "markdown", "json", "csv"])
def test_every_format_is_written(form: str, run: Callable[..., Any], log: Callable[..., str]):
    for question in (("--model", "llama3.1-8b", "--tp", "1"), ("--log", log(LOG))):
        ran = run("capacity", *question, "--format", form)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out


def test_output_goes_to_a_file(run: Callable[..., Any], tmp_path: Path):
    path = tmp_path / "page.md"
    ran = run("capacity", "--model", "llama3.1-8b", "--output", path)
    assert (ran.code, ran.out) == (0, "")
    assert path.read_text().startswith("## Llama 3.1 8B on h100-pcie5, TP 8, bf16 KV: what fits where?")


def test_json_has_plain_numbers(run: Callable[..., Any]):
    found = run("capacity", "--model", "deepseek-v3", "--hardware", "h200-pcie5", "--format", "json").json
    assert found["schema_version"] == 1
    assert found["prefix"]["logical"] == 70_272 * 20_000
    assert found["store_replicas"] == "once"
    assert [tier["medium"] for tier in found["tiers"]][:2] == ["dram", "nvme"]


def test_csv_has_numbers_and_nothing_where_nothing_is_known(run: Callable[..., Any]):
    lines = run("capacity", "--model", "qwen3.5-27b", "--tp", "1", "--format", "csv").out.splitlines()
    rows = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    dram = next(row for row in rows if row["place"].startswith("dram"))
    assert (dram["size_bytes"], dram["prefixes_low"], dram["prefixes_high"]) == ("2000000000000", "374", "1365")
    store = next(row for row in rows if row["place"] == "remote-store")
    assert (store["size_bytes"], store["prefixes_low"]) == ("", "")
    words = {"place", "kv_stored"}
    assert all(not text or float(text) >= 0 for row in rows for key, text in row.items() if key not in words)


def test_a_replica_s_counts_are_said_to_be_one_s_with_the_node_s_total(run: Callable[..., Any]):
    ran = run("capacity", "--model", "llama3.1-8b", "--tp", "1", "--dp", "8")
    assert "One of 8 replicas: HBM holds" in ran.out
    assert "HBM of all 8 replicas holds" in ran.out


def test_weights_that_do_not_fit_have_no_table_of_places(run: Callable[..., Any]):
    ran = run("capacity", "--model", "llama3.1-405b")
    assert "### What fits" not in ran.out
    assert "--weights fp8 leaves" in ran.out


@pytest.mark.parametrize(("model", "code"), [("llama3.1-8b", 0), ("llama3.1-405b", 3)])
def test_what_does_not_fit_can_fail_a_script(model: str, code: int, run: Callable[..., Any]):
    assert run("capacity", "--model", model, "--fail-if", "does-not-fit").code == code


def test_no_format_is_praised_that_holds_no_more(run: Callable[..., Any]):
    """A pure state-space model keeps no keys and values."""
    out = run("capacity", "--model", "mamba-codestral-7b", "--tp", "1", "--max-model-len", "32k").out
    assert "First of all" not in out


def test_margin_and_capacity_say_that_their_defaults_differ(run: Callable[..., Any]):
    for command, others in (("margin", "those of `capacity`"), ("capacity", "those of `margin`")):
        assert others in " ".join(run(command, "--help").out.replace("│", " ").split())


def test_one_is_not_many(run: Callable[..., Any]):
    ran = run("capacity", "--model", "qwen2.5-72b", "--tp", "2", "--memory-utilization", "0.95", "--prefix", "15k")
    assert "1 prefix of 15,000" in ran.out
    assert "1 prefixes" not in ran.out


def test_what_is_alike_stands_once(run: Callable[..., Any]):
    ran = run("capacity", "--model", "llama3.1-8b", "--tp", "1")
    assert ran.out.count("| stored (") == 1
    assert "on all ranks" not in ran.out


def test_sizes_and_counts_may_have_units(run: Callable[..., Any]):
    options = (
        "--max-model-len",
        "128Ki",
        "--reserve",
        "2 GiB",
        "--tier",
        "dram=1.5TB",
        "--tier",
        "s3=1PB",
        "--tp",
        "4",
    )
    found = run("capacity", "--model", "llama3.1-8b", *options, "--format", "json").json
    assert found["max_model_len"] == 131_072
    assert found["hbm"]["reserved_bytes"] == 2 * 2**30
    sizes = {tier["tier"]: tier["capacity_bytes"] for tier in found["tiers"]}
    assert (sizes["dram-pcie5"], sizes["s3"]) == (1.5e12, 1e15)


def test_a_log_is_explained(run: Callable[..., Any], log: Callable[..., str]):
    ran = run("capacity", "--log", log(LOG))
    assert (ran.code, ran.err) == (0, "")
    assert "hybrid_padding_layers" in ran.out
    assert "| tokens in the pool             | 468,144 |" in ran.out


def test_what_was_found_is_said_in_words_with_units(run: Callable[..., Any], log: Callable[..., str]):
    merged = (
        "INFO 08-11 07:45:10 [kv_cache_utils.py:1911] GPU KV cache size: 1,077,542 tokens, Maximum concurrency for "
        "262,144 tokens per request: 4.11x\n"
        "[2026-05-02] LMCache INFO: Stored 10010 out of total 10010 tokens. size: 1.3747 gb, cost 31.4 ms\n"
    )
    out = run("capacity", "--log", log(merged)).out
    assert "1,077,542 tokens" in out
    assert "e+0" not in out
    assert "merged" not in out
    assert "kv_tokens" not in out
    assert "| tokens that LMCache stored" in out


def test_options_against_the_log_come_before_any_reason(run: Callable[..., Any], log: Callable[..., str]):
    out = run("capacity", "--log", log(LOG), "--tp", "2").out
    said = "he log says TP 1 (line 1), you gave 2"
    assert said in out.splitlines()[2]
    assert out.index(said) < out.index("### Why")


def test_the_pool_of_a_log_is_checked_with_what_it_leaves_unsaid(run: Callable[..., Any], log: Callable[..., str]):
    bare = run("capacity", "--log", log(LOG)).out
    assert "its device is not known: give --hardware" in bare
    known = run("capacity", "--log", log(LOG), "--hardware", "h100-pcie5", "--weights-gib", "8.58").out
    assert "bytes of the KV pool" in known
    assert "not checked" not in known


def test_a_log_comes_from_stdin_too(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path = tmp_path / "log"
    path.write_text(LOG)
    with path.open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        ran = run("capacity", "--log", "-")
    assert (ran.code, ran.err) == (0, "")


def test_colours_and_line_ends_change_nothing(run: Callable[..., Any], log: Callable[..., str]):
    plain = run("capacity", "--log", log(LOG)).out
    coloured = "".join(f"\x1b[36m{line}\x1b[0m\r\n" for line in LOG.splitlines())
    assert run("capacity", "--log", log(coloured)).out == plain


@pytest.mark.parametrize(("options", "said"), [
    ((), "--model is missing"),
    (("--model", "llama3-7b"), "no model 'llama3-7b'"),
    (("--model", "llama3.1-8b", "--hardware", "h100"), "no node 'h100'"),
    (("--model", "llama3.1-8b", "--tp", "0"), "0 is not in the range"),
    (("--model", "llama3.1-8b", "--tp", "64"), "has 8 GPUs"),
    (("--model", "llama3.1-8b", "--weights-gib", "-3"), "is not a size"),
    (("--model", "llama3.1-8b", "--weights-gib", "nan"), "is not a size"),
    (("--model", "llama3.1-8b", "--weights-gib", "0"), "--weights-gib: a size must be above zero"),
    (("--model", "llama3.1-8b", "--memory-utilization", "90"), "is not above 0 and at most 1"),
    (("--model", "llama3.1-8b", "--max-model-len", "8 kB"), "is not a count of tokens"),
    (("--model", "llama3.1-8b", "--prefix", "0"), "at least 1"),
    (("--model", "llama3.1-8b", "--reserve", "2"), "is not a size"),
    (("--model", "llama3.1-8b", "--tier", "dram"), "write one like '--tier dram="),
    (("--model", "llama3.1-8b", "--tier", "dram=1TB", "--tier", "dram=2TB"), "given twice"),
    (("--model", "llama3.1-8b", "--tier", "tape=1PB"), "no tier 'tape'"),
    (("--model", "llama3.1-8b", "--tier", "nvme=0B"), "--tier nvme: a size must be above zero"),
    (("--model", "llama3.1-8b", "--engine-version", "newest"), "is not a version"),
    (("--model", "llama3.1-8b", "--engine", "sglang"), "--mem-fraction-static"),
    (("--model", "llama3-8b", "--prefix", "20000"), "a larger --max-model-len"),
    (("--model", "llama3.1-8b", "--tier", "tape=1PB"), "'kvcalc hardware list' has all tiers"),
    (("--model", "llama3.1-8b", "--kv-dtype", "fp8_ds_mla"), "no engine known here stores"),
    (("--model", "llama3.1-8b", "--draft-tokens", "1000"), "--draft-tokens"),
    (("--model", "mamba-codestral-7b", "--tp", "1"), "add --max-model-len"),
    (("--model", "llama3.1-8b", "--log", "nowhere.log"), "nowhere.log"),
    (("--log", "-", "--prefix", "20k"), "--prefix: --log goes with"),
    (("--log", "-", "--engine-version", "0.19"), "--engine-version: --log goes with"),
])  # fmt: skip
def test_wrong_options_are_refused_in_one_line(options: tuple[str, ...], said: str, refused: Callable[..., str]):
    assert said in refused("capacity", *options)


@pytest.mark.parametrize(("content", "said"), [
    ("", "is empty"),
    ("hello\nworld\n", "states a KV pool"),
    ('{"model_type": "llama"}', "states a KV pool"),
    (b"\x00\x01\xff\xfe" * 100, "engine.log"),
    (LOG + "[2026-03-11 13:53:23 TP0] max_total_num_tokens=442128, context_len=131072\n", "give the log of one engine"),
])  # fmt: skip
def test_what_is_no_log_of_one_engine_is_refused_in_one_line(
    content: bytes | str, said: str, refused: Callable[..., str], log: Callable[..., str]
):
    assert said in refused("capacity", "--log", log(content))
