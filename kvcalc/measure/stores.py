"""Stores of blocks at an address: redis:// through redis-py, s3:// and file:// through obstore."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import urlsplit

from kvcalc.errors import UserError, shown
from kvcalc.measure.addresses import masked

SCHEMES = ("redis", "rediss", "s3", "file")


class Store(Protocol):
    """Keeps blocks by name."""

    def put(self, name: str, block: bytes) -> None:
        """Keep a block."""

    def get(self, name: str) -> int:
        """Read a block; its length."""

    def first(self, name: str) -> None:
        """Read the first byte of a block."""

    def remove(self, name: str) -> None:
        """Forget a block."""


class Redis:
    """A Redis server."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address

    def put(self, name: str, block: bytes) -> None:
        """See Store."""
        with self._asked():
            self._client.set(name, block)

    def get(self, name: str) -> int:
        """See Store."""
        with self._asked():
            block = self._client.get(name)
        if block is None:
            raise UserError(
                f"{self._address} no longer has a block that was put there: it evicts; raise its maxmemory, or use a "
                "server with room"
            )
        return len(block)

    def first(self, name: str) -> None:
        """See Store."""
        with self._asked():
            self._client.getrange(name, 0, 0)

    def remove(self, name: str) -> None:
        """See Store."""
        with self._asked():
            self._client.delete(name)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        import redis

        try:
            yield
        except (redis.RedisError, UnicodeError) as error:  # a host's name that no name can be
            raise _refused(self._address, error) from error


class Objects:
    """A bucket, or a folder."""

    def __init__(self, store: Any, address: str) -> None:
        self._store, self._address = store, address

    def put(self, name: str, block: bytes) -> None:
        """See Store."""
        with _objects(self._address):
            self._store.put(name, block)

    def get(self, name: str) -> int:
        """See Store."""
        with _objects(self._address):
            return len(self._store.get(name).bytes())

    def first(self, name: str) -> None:
        """See Store."""
        with _objects(self._address):
            self._store.get_range(name, start=0, end=1)

    def remove(self, name: str) -> None:
        """See Store."""
        with _objects(self._address):
            self._store.delete(name)


@contextmanager
def _objects(address: str) -> Iterator[None]:
    """OSError and ValueError: obstore raises Python's own for a file that is not there and for a bad option."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        raise _refused(address, error) from error


def check(url: str) -> str:
    """The scheme of an address. Raises UserError for another one, or without the package that reads it."""
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES or not rest:
        raise UserError(
            f"--url {shown(masked(url))} is no address of a store; write redis://…, s3://bucket/prefix or "
            "file:///folder"
        )
    try:
        if scheme.startswith("redis"):
            import redis  # noqa: F401
        else:
            import obstore  # noqa: F401
    except ImportError as error:
        raise UserError(f"{scheme}:// needs the extra 'remote'; pip install 'kvcalc[remote]'") from error
    return scheme


@contextmanager
def store(url: str, timeout_s: float) -> Iterator[Store]:
    """The store at an address; what it refuses, or does not answer in time, is a UserError."""
    address = masked(url)
    if check(url).startswith("redis"):
        import redis

        try:
            client = redis.Redis.from_url(url, socket_connect_timeout=timeout_s, socket_timeout=timeout_s)
            client.connection_pool.make_connection()  # connects to nothing, but an unknown option is a TypeError
        except (ValueError, TypeError) as error:  # its words may hold a part of the password
            raise UserError(
                f"--url {shown(address)} is no address of a Redis; check its port and its options"
            ) from error
        try:
            yield Redis(client, address)
        finally:
            client.close()
        return
    from obstore.store import from_url

    options = _options(url, timeout_s)
    with _objects(address):
        found = from_url(url, **options)
    yield Objects(found, address)


def _options(url: str, timeout_s: float) -> dict[str, Any]:
    """Plain HTTP is allowed where the environment names such an endpoint."""
    if url.startswith("file"):
        return {}
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    try:
        parts = urlsplit(endpoint)
        _ = parts.port  # read, and so checked
    except ValueError as error:  # obstore would panic
        raise UserError(f"$AWS_ENDPOINT_URL {shown(masked(endpoint))} is no address; write http://host:9000") from error
    limit = timedelta(seconds=timeout_s)
    client = {"allow_http": parts.scheme == "http", "connect_timeout": limit, "timeout": limit}
    return {"client_options": client, "retry_config": {"max_retries": 1, "retry_timeout": limit}}


def _refused(address: str, error: Exception) -> UserError:
    said = (str(error).splitlines() or [type(error).__name__])[0]
    return UserError(f"{address} refuses: {said.strip()[:200].lower()}")
