"""Stores put to use: a folder, a real Redis, a real S3 server."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import remote, stores
from kvcalc.measure.samples import Budget


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BLOCKS", 4)
    monkeypatch.setattr(remote, "BLOCK", 65536)
    monkeypatch.setattr(remote, "WORKERS", (1, 4))


def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


def serve(command: list[str], number: int) -> Iterator[int]:
    """A server while the test runs; it is there when its port answers."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", number)) == 0:
                    break
            time.sleep(0.1)
        else:
            pytest.fail(f"{command[0]} does not answer on port {number}")
        yield number
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def redis_port(tmp_path: Path) -> Iterator[int]:
    pytest.importorskip("redis", reason="redis-py is not installed: the extra 'remote'")
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed; Debian's package is redis-server")
    number = port()
    yield from serve(["redis-server", "--port", str(number), "--dir", str(tmp_path), "--save", ""], number)


@pytest.fixture
def s3_port() -> Iterator[int]:
    pytest.importorskip("obstore", reason="obstore is not installed: the extra 'remote'")
    pytest.importorskip("moto", reason="moto is not installed: the extra 'test'")
    number = port()
    yield from serve([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(number)], number)


def measured(url: str) -> None:
    part = remote.measure(url, Budget(0.3), lambda _: None)
    assert [reading.unit for reading in part.readings] == ["s", "B/s", "B/s", "B/s", "B/s"]
    assert part.tier is not None
    assert part.tier.medium == "store"
    assert part.tier.read[0] <= part.tier.read[1] <= part.tier.read[2]
    assert part.tier.latency_s is not None
    assert 0 < part.tier.latency_s < 5


def test_a_folder_is_a_store_and_is_left_empty(tmp_path: Path):
    pytest.importorskip("obstore", reason="obstore is not installed: the extra 'remote'")
    measured(f"file://{tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_redis_is_measured_and_left_empty(redis_port: int):
    import redis

    measured(f"redis://127.0.0.1:{redis_port}/0")
    assert redis.Redis(port=redis_port).dbsize() == 0


def test_s3_is_measured_and_left_empty(s3_port: int, monkeypatch: pytest.MonkeyPatch):
    import httpx

    endpoint = f"http://127.0.0.1:{s3_port}"
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    httpx.put(f"{endpoint}/blocks").raise_for_status()
    measured("s3://blocks/prefix")
    assert "<Key>" not in httpx.get(f"{endpoint}/blocks").text


def test_a_redis_that_is_not_there_is_one_line():
    pytest.importorskip("redis", reason="redis-py is not installed: the extra 'remote'")
    with pytest.raises(UserError, match=r"redis://127.0.0.1:9 refuses: .*refused"):
        remote.measure("redis://127.0.0.1:9", Budget(1), lambda _: None)


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path):
    pytest.importorskip("obstore", reason="obstore is not installed: the extra 'remote'")
    with pytest.raises(UserError, match="refuses: "):
        remote.measure(f"file://{tmp_path}/gone", Budget(1), lambda _: None)


@pytest.mark.parametrize("url", ["ftp://host", "redis", "/folder", "file://", "s3://"])
def test_another_kind_of_address_is_refused(url: str):
    with pytest.raises(UserError, match="is no address of a store; write redis://"):
        stores.check(url)


@pytest.mark.parametrize(("url", "package"), [("redis://host", "redis"), ("s3://bucket", "obstore")])
def test_without_its_package_the_extra_is_named(url: str, package: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=r"pip install 'kvcalc\[remote\]'"):
        stores.check(url)


def test_a_redis_that_evicts_is_one_line(redis_port: int):
    import redis

    with stores.store(f"redis://127.0.0.1:{redis_port}", 5) as store:
        store.put("kept", b"1")
        redis.Redis(port=redis_port).flushall()
        with pytest.raises(UserError, match="no longer has a block that was put there: it evicts; raise its maxmemory"):
            store.get("kept")


@pytest.mark.parametrize(
    ("url", "line"),
    [
        (f"redis://{'a' * 80}", "refuses: encoding with 'idna' codec failed"),
        ("redis://127.0.0.1:9/?unknown=1", "is no address of a Redis; check its port and its options"),
        ("s3://bucket", r"\$AWS_ENDPOINT_URL 'http://host:9x' is no address"),
    ],
)
def test_what_a_client_would_trip_over_is_one_line(url: str, line: str, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("redis", reason="redis-py is not installed: the extra 'remote'")
    pytest.importorskip("obstore", reason="obstore is not installed: the extra 'remote'")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://host:9x")
    with pytest.raises(UserError, match=line):
        remote.measure(url, Budget(0), lambda _: None)


def test_an_address_that_no_client_takes_is_one_line_without_its_password():
    pytest.importorskip("redis", reason="redis-py is not installed: the extra 'remote'")
    with pytest.raises(UserError, match="no address of a Redis; check its port") as raised:
        remote.measure("redis://:pa/secret@host:port", Budget(1), lambda _: None)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("scheme", ["redis", "s3"])
def test_a_store_that_hangs_costs_a_request_and_a_removal(scheme: str, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("redis", reason="redis-py is not installed: the extra 'remote'")
    pytest.importorskip("obstore", reason="obstore is not installed: the extra 'remote'")
    monkeypatch.setattr(remote, "SHORTEST_S", 0.3)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(64)
        number = deaf.getsockname()[1]
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{number}")
        url = f"redis://127.0.0.1:{number}" if scheme == "redis" else "s3://bucket"
        began = time.monotonic()
        with pytest.raises(UserError, match="refuses: "):
            remote.measure(url, Budget(0), lambda _: None)
        assert time.monotonic() - began < 5


class Failing:
    """A store that fails to give back, and fails to remove every other block."""

    def __init__(self, gives: bool) -> None:
        self.gives, self.asked = gives, list[str]()

    def put(self, name: str, block: bytes) -> None:
        pass

    def get(self, name: str) -> int:  # noqa: ARG002
        if not self.gives:
            raise UserError("the real one")
        return remote.BLOCK

    def first(self, name: str) -> None:
        pass

    def remove(self, name: str) -> None:
        self.asked.append(name)
        if int(name.rpartition("-")[2]) % 2:
            raise UserError("can't remove")


@pytest.mark.parametrize("gives", [True, False])
def test_the_first_failure_is_told_and_every_block_s_removal_is_tried(monkeypatch: pytest.MonkeyPatch, gives: bool):
    failing = Failing(gives)
    monkeypatch.setattr(stores, "store", lambda *_: nullcontext(failing))
    if gives:
        part = remote.measure("redis://host", Budget(0), lambda _: None)
        assert part.warnings[0].startswith("2 blocks named kvcalc-")
    else:
        with pytest.raises(UserError, match="the real one"):
            remote.measure("redis://host", Budget(0), lambda _: None)
    assert len(failing.asked) == remote.BLOCKS


def test_a_folder_s_page_cache_is_told_of(tmp_path: Path):
    pytest.importorskip("obstore", reason="obstore is not installed: the extra 'remote'")
    tier = remote.measure(f"file://{tmp_path}", Budget(0.1), lambda _: None).tier
    assert tier is not None
    assert "through the page cache" in tier.note


def test_a_store_that_loses_bytes_is_found_out():
    with pytest.raises(UserError, match="gave back 1 of"):
        remote._whole(1)
