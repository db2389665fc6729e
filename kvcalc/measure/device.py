"""Time on a device: by its own events where it has them, else by the clock."""

from collections.abc import Callable
from time import perf_counter


class Stopwatch:
    """Times work on a device: "cuda", "cuda:1" or "cpu"."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.cuda = device.startswith("cuda")

    def __call__(self, work: Callable[[], object]) -> float:
        """Seconds until the device has done the work."""
        return self.both(work)[1]

    def both(self, work: Callable[[], object]) -> tuple[float, float]:
        """Seconds until the calls return, and until the device has done the work."""
        if not self.cuda:
            began = perf_counter()
            work()
            spent = perf_counter() - began
            return spent, spent
        import torch

        with torch.cuda.device(self.device):  # events are recorded on the current device's stream
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize(self.device)
            began = perf_counter()
            first.record()
            work()
            last.record()
            returned = perf_counter() - began
            last.synchronize()
        return returned, first.elapsed_time(last) * 1e-3  # it says milliseconds
