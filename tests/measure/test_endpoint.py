"""Times to first token from a small real HTTP server that takes known times."""

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import endpoint
from kvcalc.measure.fits import Curve
from kvcalc.measure.results import Setup
from kvcalc.measure.samples import Budget

pytest.importorskip("httpx", reason="httpx is not installed: the extra 'remote'")

FIXED_S, TOKEN_S, SQUARE_S = 0.02, 1e-5, 2e-9  # computed
WARM_S, WARM_TOKEN_S = 0.03, 2e-6  # found


class Engine(BaseHTTPRequestHandler):
    """Remembers prompts; the first token of a known one comes sooner."""

    seen: ClassVar[set[str]] = set()
    longest = 10**6

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, name = body["prompt"], json.dumps(body["prompt"])
        tokens = len(prompt)
        if body["model"] != "small" or tokens > self.longest:
            self.send_response(404)
            self.end_headers()
            self.wfile.write(json.dumps({"error": {"message": f"no such model: {body['model']}, {tokens}"}}).encode())
            return
        cold = FIXED_S + TOKEN_S * tokens + SQUARE_S * tokens * tokens
        time.sleep(WARM_S + WARM_TOKEN_S * tokens if name in self.seen else cold)
        self.seen.add(name)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'data: {"choices": [{"text": "a"}]}\n\ndata: [DONE]\n\n')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def engine() -> Iterator[Callable[..., str]]:
    servers = []

    def start(handler: type[BaseHTTPRequestHandler] = Engine) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_the_server_s_own_delays_are_found(engine: Callable[..., str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(endpoint, "LENGTHS", (512, 1024, 2048, 4096, 8192, 16384))
    setup = Setup("llama3-8b", 1, "fp8", 8)
    part = endpoint.measure(engine(), "small", setup, Budget(60), lambda _: None)
    assert part.curve is not None
    assert part.curve.setup == setup
    assert [tokens for tokens, _ in part.curve.points] == list(endpoint.LENGTHS)
    cold, warm = (law.law for law in part.laws)
    assert isinstance(cold, Curve)
    assert isinstance(warm, Curve)
    for tokens in (1000, 8000, 16000):
        assert cold.seconds(tokens) == pytest.approx(
            FIXED_S + TOKEN_S * tokens + SQUARE_S * tokens**2, rel=0.2, abs=0.01
        )
        assert warm.seconds(tokens) == pytest.approx(WARM_S + WARM_TOKEN_S * tokens, rel=0.2, abs=0.01)
    assert warm.per_square_s == 0
    assert len(part.readings) == 12


def test_lengths_stop_where_the_budget_does(engine: Callable[..., str]):
    part = endpoint.measure(engine(), "small", None, Budget(0), lambda _: None)
    assert len(part.readings) == 2 * endpoint.LEAST
    assert part.curve is None  # nothing says what runs there


def test_a_prompt_too_long_for_the_server_ends_the_rise(engine: Callable[..., str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Engine, "longest", 2048)
    part = endpoint.measure(engine(), "small", None, Budget(60), lambda _: None)
    assert len(part.readings) == 6
    assert "stopped at 4,096 tokens" in part.warnings[0]


def test_what_the_server_says_is_passed_on(engine: Callable[..., str]):
    with pytest.raises(UserError, match="answers 404: 'no such model: large, 16'"):
        endpoint.measure(engine(), "large", None, Budget(1), lambda _: None)


def test_a_server_that_is_not_there_is_one_line():
    with pytest.raises(UserError, match=r"can't be asked: .*refused"):
        endpoint.measure("http://127.0.0.1:9/v1", "small", None, Budget(1), lambda _: None)


def test_an_address_that_is_none_is_one_line_without_its_password():
    with pytest.raises(UserError, match="is no address; write http://host:8000/v1") as raised:
        endpoint.measure("http://me:secret@host:port/v1", "small", None, Budget(1), lambda _: None)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("address", [f"http://{'a' * 80}/v1", "nohost", "http://127.0.0.1:99999/v1"])
def test_an_address_that_no_server_has_is_one_line(address: str):
    with pytest.raises(UserError, match="can't be asked: "):
        endpoint.measure(address, "small", None, Budget(1), lambda _: None)


@pytest.mark.parametrize("drips", [False, True])
def test_a_server_that_hangs_ends_with_the_budget(
    engine: Callable[..., str], monkeypatch: pytest.MonkeyPatch, drips: bool
):
    class Hanging(Engine):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            for _ in range(20):
                time.sleep(0.1)
                if drips:
                    self.wfile.write(b": still here\n")

    monkeypatch.setattr(endpoint, "SHORTEST_S", 0.3)
    began = time.monotonic()
    with pytest.raises(UserError, match=r"sent no token in 0\.\d+ s after a prompt of 16; raise --budget"):
        endpoint.measure(engine(Hanging), "small", None, Budget(0), lambda _: None)
    assert time.monotonic() - began < 1.5


def test_a_server_that_streams_nothing_is_named(engine: Callable[..., str]):
    class Silent(Engine):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

    with pytest.raises(UserError, match="sent no token"):
        endpoint.measure(engine(Silent), "small", None, Budget(1), lambda _: None)


def test_an_answer_that_is_no_json_is_quoted():
    assert endpoint._said("<html>bad gateway</html>") == "<html>bad gateway</html>"
