"""How much more than what is asked for is taken."""

import pytest

from kvcalc.physics import allocation


@pytest.mark.parametrize(("asked", "pinned"), [
    (20.4, 32), (33, 64), (32, 32), (1, 1),
])  # fmt: skip
def test_a_pinned_buffer_takes_the_next_power_of_two(asked: float, pinned: int):
    """20.4 GiB took 32 (SGLang pull request 36562), 33 GiB took 64 (vLLM pull request 48436)."""
    assert allocation.pinned(asked * 2**30) == pinned * 2**30


def test_large_tensors_are_rounded_up_to_2_mib():
    assert allocation.device(231 * 2**20) == 232 * 2**20
    assert allocation.device(9 * 2**20 + 1) == 9 * 2**20 + 1
