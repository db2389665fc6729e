"""Stores put to use: a folder, a real Redis, a real S3 server."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
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


@pytest.mark.parametrize("url", ["ftp://host", "redis", "/folder"])
def test_another_kind_of_address_is_refused(url: str):
    with pytest.raises(UserError, match="is no address of a store; write redis://"):
        stores.check(url)


@pytest.mark.parametrize(("url", "package"), [("redis://host", "redis"), ("s3://bucket", "obstore")])
def test_without_its_package_the_extra_is_named(url: str, package: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=r"pip install 'kvcalc\[remote\]'"):
        stores.check(url)


def test_a_store_that_loses_bytes_is_found_out():
    with pytest.raises(UserError, match="gave back 1 of"):
        remote._whole(1)
