"""`kvcalc checklist`: what it reads, what it prints, and wrong input in one line."""

import http.server
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from kvcalc.observe import scrape

METRICS = Path(__file__).parents[1] / "data" / "metrics"
EXPECTED = yaml.safe_load((METRICS / "EXPECTED.yaml").read_text())
ASK = ("checklist", "--model", "qwen3-32b", "--tp", "1")
VLLM = "vllm:prefix_cache_queries_total {}\nvllm:prefix_cache_hits_total {}\n"


@pytest.fixture
def seen(run: Callable[..., Any]) -> Callable[[str], Any]:
    """What the command says of one of the dumps."""

    def of(name: str) -> Any:
        (one,) = run(*ASK, "--metrics", METRICS / name, "--format", "json").json["seen"]
        return one

    return of


def lookup(seen: Any, tier: str) -> Any:
    return next(each for each in seen["lookups"] if each["tier"] == tier)


def transfer(seen: Any, source: str, target: str) -> Any:
    return next(each for each in seen["transfers"] if (each["source"], each["target"]) == (source, target))


def near(name: str, key: str) -> Any:
    return pytest.approx(EXPECTED[f"{name}.prom"][key], rel=1e-3)


@pytest.mark.parametrize("name", sorted(path.name for path in METRICS.glob("*.prom")))
def test_every_dump_gives_a_page(name, run):
    ran = run(*ASK, "--metrics", METRICS / name)
    assert (ran.code, ran.err) == (0, "")
    assert "### What the engines say" in ran.out


def test_tiered_offload_is_read_with_all_its_figures(seen):
    """EXPECTED.yaml: external_ is not the local counter, two families are the same bytes, times are of threads."""
    name = "vllm_v1_tiered_qwen3-32b_t1"
    found = seen(f"{name}.prom")
    assert lookup(found, "hbm")["hit_rate"] == near(name, "gpu_hit_rate")
    assert lookup(found, "external")["hit_rate"] == near(name, "external_hit_rate")
    assert found["hit_rate"] == near(name, "total_token_hit_rate")
    assert found["bytes_per_hit_token"] == EXPECTED[f"{name}.prom"]["bytes_per_hit_token"]
    assert transfer(found, "dram", "hbm")["bytes_per_s"] / 1e9 == near(name, "cpu_to_gpu_gb_s")
    assert transfer(found, "hbm", "dram")["bytes_per_s"] / 1e9 == near(name, "gpu_to_cpu_gb_s")
    below = "1:StripedFileSystemTierManager"
    assert lookup(found, below)["hit_rate"] == near(name, "fs_chunk_hit_rate")
    slow = transfer(found, below, "dram")
    assert slow["thread_seconds"]
    assert slow["bytes_per_s"] / 1e9 == near(name, "fs_read_gb_s_per_thread")


def test_another_run_of_it_is_no_later_scrape(seen, refused):
    name = "vllm_v1_tiered_qwen3-32b_other_run"
    found = seen(f"{name}.prom")
    assert lookup(found, "external")["hit_rate"] == near(name, "external_hit_rate")
    assert found["bytes_per_hit_token"] == 131072
    assert transfer(found, "dram", "hbm")["bytes_per_s"] / 1e9 == near(name, "cpu_to_gpu_gb_s")
    first = METRICS / "vllm_v1_tiered_qwen3-32b_t1.prom"
    assert "fell from" in refused(*ASK, "--before", METRICS / f"{name}.prom", "--after", first)


def test_bytes_of_a_hit_token_set_the_format_without_configuration(run):
    found = run(*ASK, "--metrics", METRICS / "vllm_v1_tiered_qwen3-32b_t1.prom", "--format", "json").json
    assert (found["kv_dtype"], found["boxes"][0]["answer"], found["boxes"][1]["answer"]) == ("fp8", "yes", "yes")


def test_old_sglang_writes_percent(seen):
    name = "sglang_2024_gemma2-9b"
    found = seen(f"{name}.prom")
    assert found["hit_rate"] == near(name, "cache_hit_rate_fraction")
    assert found["mean_ttft_s"] == near(name, "mean_ttft_s")
    assert found["mean_prompt_tokens"] == near(name, "mean_prompt_tokens")


def test_other_dumps_give_what_they_state(seen):
    trtllm = seen("trtllm_llama-3.1-8b.prom")
    assert (trtllm["hit_rate"], trtllm["pool_usage"]) == (0.38, 0.62)
    v0 = seen("vllm_v0_qwen2.5-coder-1.5b.prom")
    assert (v0["kv_tokens"], v0["host_tokens"], round(v0["host_bytes_per_token"])) == (1308272, 149792, 28673)
    hybrid = seen("vllm_v1_hybrid_qwen3.8-27b.prom")
    assert (hybrid["hit_rate"], hybrid["kv_tokens"], hybrid["block_product"]) == (0.56, 619479, 619840)
    reranker = seen("vllm_v1_reranker_no_connector.prom")
    assert reranker["hit_rate"] == near("vllm_v1_reranker_no_connector", "gpu_hit_rate")
    assert lookup(reranker, "external")["hit_rate"] is None
    assert lookup(seen("lmcache_tp4_same_counter_four_workers.prom"), "lookup")["asked"] == 2
    assert seen("lmcache_dsv2lite_fresh.prom")["hit_rate"] is None
    assert seen("sglang_dsv4_tp8_zero_memory.prom")["available_kv_bytes"] is None
    speed = seen("lmcache_store_speed_histogram.prom")
    assert any("tokens a second but no count" in each for each in speed["notes"])


def test_swap_space_of_v0_is_no_tier(run):
    """149,792 tokens on the CPU hold preempted requests, not prefixes."""
    found = run(*ASK, "--metrics", METRICS / "vllm_v0_qwen2.5-coder-1.5b.prom", "--format", "json").json
    assert "tier-not-larger" not in {each["code"] for each in found["reasons"]}


@pytest.mark.parametrize("form", ["text", "markdown", "json", "csv"])
def test_every_format_is_written(form, run):
    ran = run(*ASK, "--metrics", METRICS / "vllm_v1_tiered_qwen3-32b_t1.prom", "--format", form)
    assert (ran.code, ran.err) == (0, "")
    assert "fetched" in ran.out


def test_the_page_is_complete_without_the_terminal(run, tmp_path):
    path = tmp_path / "review.md"
    ran = run(*ASK, "--metrics", METRICS / "vllm_v1_tiered_qwen3-32b_t1.prom", "--output", path)
    assert (ran.code, ran.out) == (0, "")
    page = path.read_text()
    for title in (
        "The five boxes", "Reasons, by weight", "To know more", "1. Hit rate", "2. Margin", "3. Host memory",
        "4. Interconnect", "5. Cheaper things", "Asked and found, tier by tier", "Copied", "Assumptions", "Sources",
    ):  # fmt: skip
        assert f"### {title}" in page
    for verdict in ("Worth measuring: ", "78.39 %", "131,072", "45.1 GB/s"):
        assert verdict in page


def test_fail_if_says_do_not_build(run):
    question = ("checklist", "--model", "llama3-70b", "--tier", "remote", "--fail-if", "do-not-build")
    assert run(*question).code == 3
    assert run("checklist", "--model", "llama3-70b", "--fail-if", "do-not-build").code == 0


def test_throughput_is_better_the_more_it_is(run):
    ran = run("checklist", "--model", "llama3.1-8b", "--with-offload", "1000 tok/s", "--without-offload", "1500tok/s")
    assert "measured 1000 tok/s with offload and 1500tok/s without: offloading makes it 1.5x as slow" in ran.out


def test_two_scrapes_give_rates(run, tmp_path):
    """4,000 asked and 1,000 found between the two; 36,000 tokens evicted in 10 h are 3,600 an hour."""
    dump = "sglang:prompt_tokens_total {}\nsglang:cached_tokens_total {}\nsglang:evicted_tokens_total {}\n"
    (tmp_path / "a").write_text(dump.format(10_000, 9_000, 4_000))
    (tmp_path / "b").write_text(dump.format(14_000, 10_000, 40_000))
    stored = ("--before", tmp_path / "a", "--after", tmp_path / "b")
    (rates,) = run(*ASK, *stored, "--interval", "36000s", "--format", "json").json["seen"]
    assert (rates["hit_rate"], rates["evicted_per_hour"], rates["elapsed_s"]) == (0.25, 3600, 36000)
    (totals,) = run(*ASK, *stored, "--format", "json").json["seen"]
    assert (totals["evicted"], totals["evicted_per_hour"]) == (36000, None)


def test_log_and_metrics_are_read_together(run, tmp_path):
    (tmp_path / "log").write_text(
        "INFO 09-20 10:33:02 [gpu_worker.py:298] Available KV cache memory: 54.12 GiB\n"
        "INFO 09-20 10:33:02 [kv_cache_utils.py:864] GPU KV cache size: 443,344 tokens\n"
    )
    (tmp_path / "prom").write_text(VLLM.format(9_000_000, 90_000))
    found = run(*ASK, "--log", tmp_path / "log", "--metrics", tmp_path / "prom", "--format", "json").json
    figures = {each["name"]: (each["value"], each["origin"]) for each in found["boxes"][0]["figures"]}
    assert figures["HBM pool of one replica"] == (443_344, "log")
    assert figures["hit rate"] == (0.01, "metrics")


def test_stdin_is_read(run, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VLLM.format(4, 1).encode())))
    (found,) = run(*ASK, "--metrics", "-", "--format", "json").json["seen"]
    assert found["hit_rate"] == 0.25


def test_a_live_engine_is_watched(run):
    """prometheus_client's own server; 30 of every 100 tokens that are asked for while it is watched are found."""
    registry = CollectorRegistry()
    asked = Counter("vllm:prefix_cache_queries", "tokens", registry=registry)
    hits = Counter("vllm:prefix_cache_hits", "tokens", registry=registry)
    usage = Gauge("vllm:kv_cache_usage_perc", "fraction", registry=registry)
    asked.inc(1_000_000)  # before
    server, thread = start_http_server(0, "127.0.0.1", registry)
    stop = threading.Event()

    def serve_requests() -> None:
        while not stop.wait(0.01):
            asked.inc(100)
            hits.inc(30)
            usage.set(0.95)

    mover = threading.Thread(target=serve_requests)
    mover.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/metrics"
        found = run(*ASK, "--metrics", address, "--watch", "1s", "--every", "0.2s", "--format", "json").json
    finally:
        stop.set()
        mover.join()
        server.shutdown()
        server.server_close()
        thread.join()
    (one,) = found["seen"]
    assert one["hit_rate"] == pytest.approx(0.3, abs=0.02)
    assert one["elapsed_s"] == pytest.approx(1, abs=0.9)
    assert one["pool_usage"] == 0.95
    assert {each["code"] for each in found["boxes"][0]["reasons"]} == {"full-without-ceiling"}


def test_ctrl_c_ends_a_watch_with_its_report(run):
    registry = CollectorRegistry()
    Counter("vllm:prefix_cache_queries", "tokens", registry=registry).inc(100)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    interrupt = partial(signal.pthread_kill, threading.main_thread().ident, signal.SIGINT)
    timer = threading.Timer(2.0, interrupt)
    timer.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/metrics"
        ran = run(*ASK, "--metrics", address, "--watch", "1h", "--every", "0.2s")
    finally:
        timer.cancel()
        server.shutdown()
        server.server_close()
        thread.join()
    assert (ran.code, ran.err) == (0, "")
    assert "### The five boxes" in ran.out


def test_the_host_is_read_where_it_is_asked(run):
    found = run(*ASK, "--host-memory", "here", "--host-pool", "1MB", "--format", "json").json
    figures = {each["name"]: each["origin"] for each in found["boxes"][2]["figures"]}
    assert figures["host memory to spare"] == "this host"


class Answers(http.server.BaseHTTPRequestHandler):
    """A path, a behaviour."""

    def do_GET(self) -> None:
        if self.path == "/slow":
            time.sleep(3)
        self.send_response(200)
        self.end_headers()
        try:
            if self.path == "/huge":
                for _ in range(1000):
                    self.wfile.write(b"vllm:a 1\n" * 11_200)  # 100 MB in all
            else:
                self.wfile.write(b"<!doctype html><html><body>Sign in</body></html>")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def serving() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(("path", "said"), [
    ("/login", "is a web page, not metrics, perhaps a login"),
    ("/huge", f"is longer than {scrape.LIMIT:,} bytes"),
    ("/slow", "has not answered within 0.5 s"),
])  # fmt: skip
def test_an_address_that_serves_no_metrics_is_one_line(path, said, refused):
    with serving() as address:
        assert said in refused(*ASK, "--metrics", f"{address}{path}", "--timeout", "0.5s" if path == "/slow" else "10s")


@pytest.mark.parametrize(("text", "said"), [
    ("<html><body>Sign in</body></html>", "is a web page, not metrics"),
    ("", "holds no metrics"),
    ("what is this", "is not a metric"),
    ("node_cpu_seconds_total 1\ngo_goroutines 4\n", "is of no engine known here"),
    ("node_cpu_seconds_total 1\ngo_goroutines 4\n", "its names start with node (1), go (1)"),
    (VLLM.format(4, 1) + "sglang:token_usage 0.5\n", "holds metrics of vLLM and SGLang"),
    ("vllm:prefix_cache_queries_total NaN\nvllm:prefix_cache_hits_total +Inf\n", "is NaN or infinite"),
])  # fmt: skip
def test_text_that_is_no_engines_metrics_is_one_line(text, said, refused, tmp_path):
    (tmp_path / "prom").write_text(text)
    assert said in refused(*ASK, "--metrics", tmp_path / "prom")


def test_a_figure_that_is_not_finite_is_a_note(run, tmp_path):
    (tmp_path / "prom").write_text(VLLM.format(4, 1) + "vllm:kv_cache_usage_perc NaN\n")
    (found,) = run(*ASK, "--metrics", tmp_path / "prom", "--format", "json").json["seen"]
    assert (found["pool_usage"], found["hit_rate"]) == (None, 0.25)
    assert found["notes"] == ["vllm:kv_cache_usage_perc is nan: read as unknown"]


def test_counters_that_went_backwards_are_one_line(refused, tmp_path):
    (tmp_path / "a").write_text(VLLM.format(400, 100))
    (tmp_path / "b").write_text(VLLM.format(40, 10))
    line = refused(*ASK, "--before", tmp_path / "a", "--after", tmp_path / "b")
    assert "fell from" in line
    assert "the earlier first" in line


def test_two_engines_in_two_files_are_one_line(refused, tmp_path):
    (tmp_path / "a").write_text(VLLM.format(400, 100))
    (tmp_path / "b").write_text("sglang:token_usage 0.5\n")
    line = refused(*ASK, "--metrics", tmp_path / "a", "--metrics", tmp_path / "b")
    assert "of sglang and vllm" in line


@pytest.mark.parametrize(("options", "said"), [
    ("--metrics no-such-file", "cannot be read"),
    ("--metrics ftp://host/metrics", "cannot be read"),
    ("--before a", "--before and --after go together"),
    ("--before a --after b --metrics c", "give one of them"),
    ("--interval 1h", "--interval is the time between"),
    ("--watch 10s", "--watch needs one --metrics"),
    ("--every 10s", "--every goes with --watch"),
    ("--metrics - --log -", "stdin is read once"),
    ("--metrics a --metrics a", "is given twice"),
    ("--trace no-such-trace", "--trace: no file or folder"),
    ("--working-set many", "is not an amount of KV cache"),
    ("--working-set 0", "must be above zero"),
    ("--pool 0GB", "must be above zero"),
    ("--hit-rate 1.2", "more than the whole"),
    ("--hit-rate 0.9 --ceiling 0.5", "is above the ceiling"),
    ("--hit-rate 0.1,0.2", "give --hit-rate and --ttft alike"),
    ("--hit-rate 0.1,0.2 --ttft 1s", "give as many"),
    ("--with-offload 2s", "go together"),
    ("--bandwidth 0GB/s", "must be above zero"),
    ("--bandwidth 5", "is not a rate"),
    ("--tier-size dram", "has no tier and value"),
    ("--tier nosuch", "no tier 'nosuch'"),
    ("--kv-dtype nosuch", "no KV format 'nosuch'"),
    ("--host-memory lots", "is not a size"),
    ("--host-pool 5GB --engine ideal", "has no option for host memory"),
])  # fmt: skip
def test_wrong_options_are_one_line(options, said, refused):
    assert said in refused(*ASK, *options.split())


def test_model_is_asked_for_where_nothing_names_one(refused):
    assert "--model is missing" in refused("checklist")


def test_json_holds_nothing_that_is_not_finite(run):
    text = run(*ASK, "--metrics", METRICS / "synthetic_edge_cases.prom", "--format", "json").out
    assert json.loads(text, parse_constant=pytest.fail)["schema_version"] == 1
