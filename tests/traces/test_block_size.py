"""Block sizes held against the lengths of prompts."""

import numpy as np
import pytest

from kvcalc.errors import UserError
from kvcalc.traces.block_size import block_size, fitting


def prompts(size, up):
    """Prompts of 100 to 9,999 tokens and their blocks, rounded up as Mooncake does or down as WEKA does."""
    inputs = np.arange(100, 10_000, 7, dtype=np.int32)
    return inputs, (-(-inputs // size) if up else inputs // size).astype(np.int32)


@pytest.mark.parametrize("up", [True, False])
def test_usual_size_is_taken_where_it_fits(up):
    found = block_size(*prompts(512, up), 512, None, None)
    assert (found.tokens, found.fitting, found.notes) == (512, 1, ())


def test_another_size_is_found_where_the_usual_one_does_not_fit():
    """A file of 16-token blocks that looks like Mooncake."""
    found = block_size(*prompts(16, True), 512, None, None)
    assert found.tokens == 16
    assert "so blocks of 16 were read; --block-size 512 overrides" in found.notes[0]


def test_a_wrong_size_that_is_asked_for_is_used_and_doubted():
    found = block_size(*prompts(512, True), 512, None, 16)
    assert found.tokens == 16
    assert found.notes == ("blocks of 16 tokens fit 0 % of the prompts; blocks of 512 would fit 100 %",)


def test_lengths_that_fit_nothing_are_refused():
    inputs, _ = prompts(512, True)
    with pytest.raises(UserError, match=r"fit no block size .* give it with --block-size"):
        block_size(inputs, inputs % 13, 512, None, None)


def test_a_prompt_fits_rounded_up_and_down():
    inputs = np.array([1000, 1000, 1000, 1024], np.int32)
    assert fitting(inputs, np.array([1, 2, 3, 2], np.int32), 512) == 0.75


def test_a_block_size_beyond_any_request_is_refused(trace_of, row):
    with pytest.raises(UserError, match=r"--block-size: 2147483648 is not a number of tokens"):
        trace_of(row(), block_size=2**31)
