"""Stores of blocks at an address: redis:// through redis-py, s3:// and file:// through obstore."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from kvcalc.errors import UserError, shown

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

    def __init__(self, client: Any) -> None:
        self._client = client

    def put(self, name: str, block: bytes) -> None:
        """See Store."""
        self._client.set(name, block)

    def get(self, name: str) -> int:
        """See Store."""
        return len(self._client.get(name))

    def first(self, name: str) -> None:
        """See Store."""
        self._client.getrange(name, 0, 0)

    def remove(self, name: str) -> None:
        """See Store."""
        self._client.delete(name)


class Objects:
    """A bucket, or a folder."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def put(self, name: str, block: bytes) -> None:
        """See Store."""
        self._store.put(name, block)

    def get(self, name: str) -> int:
        """See Store."""
        return len(self._store.get(name).bytes())

    def first(self, name: str) -> None:
        """See Store."""
        self._store.get_range(name, start=0, end=1)

    def remove(self, name: str) -> None:
        """See Store."""
        self._store.delete(name)


def check(url: str) -> str:
    """The scheme of an address. Raises UserError for another one, or without the package that reads it."""
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES or "://" not in url:
        raise UserError(
            f"--url {shown(url)} is no address of a store; write redis://…, s3://bucket/prefix or file:///folder"
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
def store(url: str) -> Iterator[Store]:
    """The store at an address; whatever it refuses while it is used becomes a UserError."""
    if check(url).startswith("redis"):
        import redis

        client = redis.Redis.from_url(url, socket_connect_timeout=5)
        try:
            yield Redis(client)
        except redis.RedisError as error:
            raise _refused(url, error) from error
        finally:
            client.close()
        return
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    try:
        yield Objects(from_url(url, **_options(url)))
    except (BaseError, OSError) as error:
        raise _refused(url, error) from error


def _options(url: str) -> dict[str, Any]:
    """Plain HTTP is allowed where the environment names such an endpoint."""
    if url.startswith("file"):
        return {}
    plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
    return {"client_options": {"allow_http": plain, "connect_timeout": "5s"}, "retry_config": {"max_retries": 1}}


def _refused(url: str, error: Exception) -> UserError:
    return UserError(f"{url} refuses: {str(error).splitlines()[0].strip()[:200].lower()}")
