"""Time on a device."""

from typing import Any

import pytest

from kvcalc.errors import UserError
from kvcalc.measure import blocks, device, link, prefill, restore
from kvcalc.measure.device import Stopwatch
from kvcalc.measure.samples import Budget
from kvcalc.profiles import catalog

MODEL = catalog.model("qwen3-0.6b")


def test_on_the_cpu_a_call_returns_when_it_is_done():
    returned, done = Stopwatch("cpu").both(lambda: None)
    assert returned == done >= 0


def test_on_cuda_events_time_the_device_and_the_clock_the_call(fake_cuda: Any):
    returned, done = Stopwatch("cuda:0").both(lambda: sum(range(10_000)))
    assert fake_cuda.synchronized == 1
    assert 0 < done <= returned


def test_memory_that_the_cpu_does_not_have_is_one_line():
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    with (
        pytest.raises(device.MemoryFull, match="does not fit the memory of cpu; buy some"),
        device.refusals("cpu", "buy some"),
    ):
        torch.empty(10**15, dtype=torch.uint8)


def test_a_device_that_fails_is_one_line_and_a_mistake_of_ours_is_not():
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")
    if hasattr(torch, "AcceleratorError"):
        with pytest.raises(UserError, match="cuda:0 failed: cuda error: an illegal"), device.refusals("cuda:0", ""):
            raise torch.AcceleratorError("CUDA error: an illegal memory access\nCompile with ...")
    with pytest.raises(RuntimeError, match="shape"), device.refusals("cuda:0", ""):
        torch.zeros(3).reshape(2)


@pytest.mark.parametrize("part", ["link", "blocks", "restore", "prefill"])
def test_a_full_device_is_one_line_from_every_part(part: str, monkeypatch: pytest.MonkeyPatch):
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    for name in ("empty", "randint", "randn"):
        monkeypatch.setattr(torch, name, full)
    runs = {
        "link": lambda: link.measure(["cpu"], {}, Budget(0), (4096, 8192)),
        "blocks": lambda: blocks.measure(MODEL, 1, "cpu", Budget(0)),
        "restore": lambda: restore.measure(MODEL, 1, "cpu", Budget(0)),
        "prefill": lambda: prefill.measure(MODEL, 1, "cpu", Budget(0)),
    }
    with pytest.raises(UserError, match="does not fit the memory of cpu; "):
        runs[part]()
