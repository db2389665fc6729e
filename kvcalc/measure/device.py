"""A device's time, by its own events where it has them, else by the clock; and what it refuses."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from kvcalc.errors import UserError

# CUDA's allocator, CUDA itself for pinned memory, and the CPU's two (torch 2.13: c10/core/impl/alloc_cpu.cpp)
FULL = ("out of memory", "can't allocate memory", "not enough memory")


class MemoryFull(UserError):
    """A device, or the host for its pinned memory, has too little memory."""


@contextmanager
def refusals(device: str, remedy: str) -> Iterator[None]:
    """What torch says of a full or a failed device, in one line. Raises MemoryFull, or UserError."""
    import torch

    try:
        yield
    except RuntimeError as error:
        said = (str(error).splitlines() or [""])[0]
        if isinstance(error, torch.OutOfMemoryError) or any(sign in said.lower() for sign in FULL):
            raise MemoryFull(f"it does not fit the memory of {device}; {remedy}") from error
        if isinstance(error, getattr(torch, "AcceleratorError", ())):  # since torch 2.8
            raise UserError(f"{device} failed: {said[:200].lower()}; look at its driver's log") from error
        raise


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
