"""A torch.cuda that works on the CPU: the calls are those of a GPU, the copies are real, the clock is the CPU's."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import pytest


class FakeCuda:
    """Streams that do everything at once, and events that note the time."""

    def __init__(self) -> None:
        self.streams: set[str] = set()
        self.synchronized = 0
        self.held_back = False  # do events wait?

    def Event(self, enable_timing: bool = False) -> Any:
        return _Event(self, enable_timing)

    def Stream(self, device: Any) -> Any:
        self.streams.add(str(device))
        return _Stream(self)

    @contextmanager
    def stream(self, stream: Any) -> Iterator[None]:
        assert isinstance(stream, _Stream)
        yield

    @contextmanager
    def device(self, device: str) -> Iterator[None]:
        assert device.startswith("cuda")
        yield

    def current_stream(self, device: Any) -> Any:  # noqa: ARG002
        return _Stream(self)

    def synchronize(self, device: str) -> None:
        assert device.startswith("cuda")
        self.synchronized += 1


class _Event:
    def __init__(self, cuda: FakeCuda, timing: bool) -> None:
        self._cuda, self._timing, self._at = cuda, timing, 0.0

    def record(self, stream: object = None) -> None:  # noqa: ARG002
        self._at = perf_counter()

    def query(self) -> bool:
        return not self._cuda.held_back

    def synchronize(self) -> None:
        self._cuda.held_back = False

    def elapsed_time(self, last: "_Event") -> float:
        assert self._timing
        return max(last._at - self._at, 1e-7) * 1e3


class _Stream:
    def __init__(self, cuda: FakeCuda) -> None:
        self._cuda = cuda

    def synchronize(self) -> None:
        self._cuda.synchronized += 1

    def wait_stream(self, other: object) -> None:
        assert isinstance(other, _Stream)


@pytest.fixture
def fake_cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    fake = FakeCuda()
    for name in ("Event", "Stream", "stream", "device", "current_stream", "synchronize"):
        monkeypatch.setattr(torch.cuda, name, getattr(fake, name))
    to, empty, randn = torch.Tensor.to, torch.empty, torch.randn
    monkeypatch.setattr(torch.accelerator, "empty_host_cache", lambda: None)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, device, **more: to(tensor, "cpu", **more))  # noqa: ARG005
    monkeypatch.setattr(torch, "empty", lambda *size, **more: empty(*size, **_on_cpu(more)))
    monkeypatch.setattr(torch, "randn", lambda *size, **more: randn(*size, **_on_cpu(more)))
    return fake


def _on_cpu(more: dict[str, Any]) -> dict[str, Any]:
    return more | {"device": "cpu"} | ({"pin_memory": False} if "pin_memory" in more else {})
