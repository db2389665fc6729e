"""Scrapes of files and of real local servers."""

import gzip
import http.server
import io
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from kvcalc.errors import UserError
from kvcalc.observe import metrics, scrape

METRICS = b"vllm:prefix_cache_hits_total 1\nvllm:prefix_cache_queries_total 4\n"


class Answers(http.server.BaseHTTPRequestHandler):
    """One path, one behaviour."""

    def do_GET(self) -> None:
        getattr(self, f"get_{self.path.strip('/')}")()

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def get_metrics(self) -> None:
        self.answer(METRICS)

    def get_login(self) -> None:
        self.answer(b"<!doctype html><html><body>Sign in</body></html>")

    def get_endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"vllm:a 1\n" * 10_000)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def get_drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(100):
                self.wfile.write(b"#")
                self.wfile.flush()
                time.sleep(0.05)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def get_hang(self) -> None:
        time.sleep(2)

    def get_here(self) -> None:
        self.answer(b"", 302, Location="/metrics")

    def get_away(self) -> None:
        self.answer(b"", 302, Location="http://other.example/metrics")

    def get_round(self) -> None:
        self.answer(b"", 302, Location="/round")

    def get_broken(self) -> None:
        self.answer(b"oops", 500)

    def get_secret(self) -> None:
        allowed = self.headers.get("Authorization") == "Bearer sesame"
        self.answer(METRICS if allowed else b"", 200 if allowed else 401)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as running:
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def test_an_address_is_read(server):
    assert metrics.observe(scrape.take(f"{server}/metrics")).traffic.hit_rate == 0.25


def test_a_redirect_within_the_host_is_followed(server):
    assert scrape.take(f"{server}/here").samples


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("login", "is a web page, not metrics"),
        ("away", "which is not followed"),
        ("round", "redirects again and again"),
        ("broken", "answers 500"),
        ("secret", "wants credentials (401); set $KVCALC_METRICS_TOKEN"),
    ],
)
def test_what_is_not_metrics_is_one_clear_line(server, monkeypatch, path, says):
    monkeypatch.delenv(scrape.TOKEN, raising=False)
    with pytest.raises(UserError) as caught:
        scrape.take(f"{server}/{path}")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_body_without_end_is_refused(server, monkeypatch):
    monkeypatch.setattr(scrape, "LIMIT", 1_000_000)
    with pytest.raises(UserError, match=r"is longer than 1,000,000 bytes"):
        scrape.take(f"{server}/endless")


@pytest.mark.parametrize("path", ["hang", "drip"])
def test_a_server_that_hangs_or_drips_times_out(server, path):
    started = time.monotonic()
    with pytest.raises(UserError, match=r"has not answered within 0.3 s"):
        scrape.take(f"{server}/{path}", timeout_s=0.3)
    assert time.monotonic() - started < 2


def test_the_token_comes_from_the_environment(server, monkeypatch):
    monkeypatch.setenv(scrape.TOKEN, "sesame")
    assert scrape.take(f"{server}/secret").samples


def test_a_password_in_an_address_is_refused_unseen():
    with pytest.raises(UserError, match="must not hold a password") as caught:
        scrape.take("http://me:hunter2@127.0.0.1:1/metrics")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/metrics", "http://[::1/metrics", "http:///metrics", "http://"])
def test_an_address_where_nothing_listens_is_refused(address):
    with pytest.raises(UserError) as caught:
        scrape.take(address)
    assert "\n" not in str(caught.value)


def test_files_and_stdin_are_read(tmp_path, monkeypatch):
    path = tmp_path / "metrics.prom"
    path.write_bytes(b"\xef\xbb\xbf" + METRICS.replace(b"\n", b"\r\n"))
    assert scrape.take(str(path)).samples
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(METRICS)))
    assert scrape.take("-").samples


@pytest.mark.parametrize(
    ("content", "says"),
    [(gzip.compress(METRICS), "is not text"), (b"\x7fELF\0\0", "is not text"), (b"", "holds no metrics")],
)
def test_files_that_are_no_metrics_are_refused(tmp_path, content, says):
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(UserError, match=says):
        scrape.take(str(path))


def test_a_long_file_and_a_missing_one_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(scrape, "LIMIT", 10)
    path = tmp_path / "metrics.prom"
    path.write_bytes(METRICS)
    with pytest.raises(UserError, match="is longer than 10 bytes"):
        scrape.take(str(path))
    with pytest.raises(UserError, match="cannot be read"):
        scrape.take(str(tmp_path / "none"))


@contextmanager
def engine(hits: int = 0) -> Iterator[tuple[str, Counter, Gauge]]:
    """prometheus_client's own server, with counters that move."""
    registry = CollectorRegistry()
    found = Counter("vllm:prefix_cache_hits", "tokens", registry=registry)
    asked = Counter("vllm:prefix_cache_queries", "tokens", registry=registry)
    usage = Gauge("vllm:kv_cache_usage_perc", "fraction", registry=registry)
    running, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    found.inc(hits)
    asked.inc(hits)
    try:
        yield f"http://127.0.0.1:{running.server_port}/metrics", found, asked, usage
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


def test_a_live_engine_is_watched():
    """900 of 900 before it was watched; 10 of 40 while it was."""
    with engine(hits=900) as (address, found, asked, usage):
        scrapes, now = [], [0.0]

        def wait(seconds: float) -> None:
            now[0] += seconds

        for each in scrape.watch(address, duration_s=60, every_s=15, clock=lambda: now[0], sleep=wait):
            scrapes.append(each)
            if len(scrapes) == 2:
                found.inc(10)
                asked.inc(40)
                usage.set(0.75)
            elif len(scrapes) == 4:
                usage.set(0.25)
        traffic = metrics.over(scrapes).traffic
    assert len(scrapes) == 5
    assert (traffic.hit_rate, traffic.pool_usage, traffic.elapsed_s) == (0.25, 0.75, 60)


def test_ctrl_c_ends_a_watch_early():
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with engine() as (address, *_):
        assert len(list(scrape.watch(address, duration_s=60, sleep=interrupted))) == 1


def test_a_scrape_that_is_missed_is_told_and_left_out(server, monkeypatch):
    told: list[str] = []
    answers = iter([f"{server}/metrics", f"{server}/broken", f"{server}/metrics"])
    real = scrape.take
    monkeypatch.setattr(scrape, "take", lambda _, clock: real(next(answers), clock))
    clock = iter([0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    seen = list(scrape.watch("x", 2.0, 1.0, missed=told.append, clock=lambda: next(clock), sleep=lambda _: None))
    assert (len(seen), len(told)) == (2, 1)
    assert "answers 500" in told[0]


def test_two_stored_files_are_not_as_far_apart_as_their_reading(tmp_path):
    path = tmp_path / "metrics.prom"
    path.write_bytes(METRICS)
    before, after = scrape.take(str(path)), scrape.take(str(path))
    seen = metrics.observe(after, before)
    assert (before.at_s, seen.traffic.elapsed_s) == (None, None)
    assert any("nothing is told per hour" in note for note in seen.notes)


def test_the_time_between_two_stored_files_can_be_given(tmp_path):
    path = tmp_path / "metrics.prom"
    path.write_bytes(METRICS)
    seen = metrics.observe(scrape.take(str(path), at_s=600.0), scrape.take(str(path), at_s=0.0))
    assert (seen.traffic.elapsed_s, seen.notes) == (600.0, ())
