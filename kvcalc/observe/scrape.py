"""Metrics from a file, stdin or an http(s) address, once or again and again."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kvcalc.errors import UserError, shown
from kvcalc.observe import samples
from kvcalc.observe.samples import Scrape

LIMIT = 32_000_000  # bytes; an engine's metrics take some hundred thousand
TIMEOUT_S = 10.0  # for the whole of one scrape
REDIRECTS = 3
TOKEN = "KVCALC_METRICS_TOKEN"

Clock = Callable[[], float]


def take(source: str, clock: Clock = time.monotonic, timeout_s: float = TIMEOUT_S, at_s: float | None = None) -> Scrape:
    """One scrape of a path, of stdin for `-`, or of an http(s) address.

    An address is scraped now. When a stored file was taken is not known unless `at_s` says it: it is read at another
    time. Of two files only the difference of theirs counts.

    A bearer token for the address comes from $KVCALC_METRICS_TOKEN and from nowhere else. Raises UserError for what
    cannot be read, is too long, takes too long, redirects to another host, or is not metrics.
    """
    if source.startswith(("http://", "https://")):
        text = _fetched(source, timeout_s)
        at_s = clock() if at_s is None else at_s
    elif source == "-":
        text = _text(sys.stdin.buffer.read(LIMIT + 1), "stdin")
    else:
        text = _file(source)
    return samples.parse(text, "stdin" if source == "-" else repr(source), at_s)


def watch(
    source: str,
    duration_s: float,
    every_s: float = 5.0,
    *,
    missed: Callable[[str], None] = lambda _: None,
    clock: Clock = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Scrape]:
    """Scrapes for `duration_s`, one every `every_s`, the first and the last at the ends; fewer after Ctrl-C.

    The first must succeed. A later one that fails is left out, and `missed` is told why.
    """
    end = clock() + duration_s
    yield take(source, clock)
    try:
        while (left := end - clock()) > 0:
            sleep(min(every_s, left))
            try:
                scrape = take(source, clock)
            except UserError as error:
                missed(str(error))
                continue
            yield scrape
    except KeyboardInterrupt:
        return


def _file(source: str) -> str:
    try:
        with Path(source).open("rb") as stream:
            return _text(stream.read(LIMIT + 1), repr(source))
    except OSError as error:
        raise UserError(
            f"{source!r} cannot be read: {error.strerror}; name a file of metrics, an http(s) address, or - for stdin"
        ) from error


def _text(body: bytes, name: str) -> str:
    if len(body) > LIMIT:
        raise UserError(f"{name} is longer than {LIMIT:,} bytes: those are not one engine's metrics; name its /metrics")
    if b"\0" in body[:8192] or body.startswith(b"\x1f\x8b"):
        raise UserError(f"{name} is not text; give what the engine serves at /metrics")
    return body.decode("utf-8-sig", "replace")


def _fetched(address: str, timeout_s: float) -> str:
    _refuse_credentials(address)
    try:
        import httpx
    except ImportError:
        raise UserError(
            f"an address like {shown(address)} is read with httpx, which isn't installed; "
            "pip install 'kvcalc[checklist]', or give a file"
        ) from None
    deadline = time.monotonic() + timeout_s
    token = os.environ.get(TOKEN)
    headers = {"Accept": "text/plain;version=0.0.4"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        # trust_env would take credentials out of ~/.netrc
        with httpx.Client(timeout=timeout_s, headers=headers, trust_env=False) as client:
            return _followed(client, address, deadline)
    except (httpx.TimeoutException, TimeoutError):
        raise UserError(
            f"{shown(address)} has not answered within {timeout_s:g} s; is the engine up, and is that its address?"
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UserError(f"{shown(address)} cannot be read: {_reason(error)}; name the engine's /metrics") from error


def _refuse_credentials(address: str) -> None:
    try:
        parts = urlsplit(address)
        named = parts.username is not None or parts.password is not None
    except ValueError as error:
        raise UserError(
            f"{shown(address)} is not an address: {error}; write one like http://HOST:8000/metrics"
        ) from error
    if named:
        raise UserError(f"an address must not hold a password; set ${TOKEN} to a bearer token instead")


def _followed(client: Any, address: str, deadline: float) -> str:
    """The body, after redirects within the host: another host must not see the token nor choose what is read."""
    host = urlsplit(address).hostname
    here = address
    for _ in range(REDIRECTS + 1):
        with client.stream("GET", here) as response:
            if response.next_request is None:
                return _body(response, address, deadline)
            target = response.next_request.url
            if target.host != host or (target.scheme != "https" and here.startswith("https:")):
                raise UserError(
                    f"{shown(address)} redirects to {shown(str(target))}, which is not followed; name the engine's own "
                    "/metrics"
                )
            here = str(target)
    raise UserError(f"{shown(address)} redirects again and again; name the engine's own /metrics")


def _body(response: Any, address: str, deadline: float) -> str:
    if response.status_code in (401, 403):
        raise UserError(f"{shown(address)} wants credentials ({response.status_code}); set ${TOKEN} to a bearer token")
    if response.status_code != 200:
        raise UserError(f"{shown(address)} answers {response.status_code}; name the engine's /metrics")
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > LIMIT:
            break
        if time.monotonic() > deadline:
            raise TimeoutError
    return _text(bytes(body), shown(address))


def _reason(error: Exception) -> str:
    return str(error).lower().rstrip(".") or type(error).__name__
