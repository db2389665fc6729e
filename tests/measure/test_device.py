"""Time on a device."""

from typing import Any

from kvcalc.measure.device import Stopwatch


def test_on_the_cpu_a_call_returns_when_it_is_done():
    returned, done = Stopwatch("cpu").both(lambda: None)
    assert returned == done >= 0


def test_on_cuda_events_time_the_device_and_the_clock_the_call(fake_cuda: Any):
    returned, done = Stopwatch("cuda:0").both(lambda: sum(range(10_000)))
    assert fake_cuda.synchronized == 1
    assert 0 < done <= returned
