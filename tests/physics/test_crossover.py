"""Where fetching and recomputing meet, and what both together take."""

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.physics import coefficients, crossover, kv, work
from kvcalc.profiles import catalog


@pytest.mark.parametrize(
    ("margin", "least", "verdict"),
    [
        (6.7, 3, "restore"),
        (3.0, 3, "restore"),
        (2.999, 3, "marginal"),
        (1.0, 3, "marginal"),
        (0.999, 3, "recompute"),
        (0.0, 3, "recompute"),
        (math.inf, 3, "restore"),
        (2.0, 2, "restore"),
        (1.0, 1, "restore"),
        (0.999, 1, "recompute"),
    ],
)
def test_a_verdict_is_restore_from_the_least_margin_and_recompute_below_one(margin: float, least: float, verdict: str):
    assert crossover.verdict(margin, least) == verdict


@given(margin=st.floats(0, 1e6), least=st.floats(1, 1e3), more=st.floats(0, 1e3))
def test_a_greater_margin_never_has_a_worse_verdict(margin: float, least: float, more: float):
    rank = crossover.BEST_FIRST.index
    assert rank(crossover.verdict(margin + more, least)) <= rank(crossover.verdict(margin, least))


def test_lengths_are_even_in_their_logarithm_from_one_to_ten_million():
    grid = crossover.lengths()
    assert (grid[0], grid[-1]) == (1, 10_000_000)
    assert grid == sorted(set(grid))
    assert {10**power for power in range(8)} <= set(grid)
    steps = [after / before for before, after in itertools.pairwise(grid) if before >= 100]
    assert max(steps) == pytest.approx(min(steps), rel=0.01)
    assert max(steps) < 1.5


def changes(gain: Callable[[int], float]) -> list[int]:
    grid = crossover.lengths()
    return crossover.changes([gain(tokens) for tokens in grid], grid, gain)


def test_two_straight_lines_meet_once():
    """Recompute 20 us a token; fetch 10 ms and 3 us a token: 10,000 / 17 = 588.2, so fetching wins from 589."""
    assert changes(lambda tokens: 20e-6 * tokens - (10e-3 + 3e-6 * tokens)) == [589]


def test_what_always_or_never_wins_has_no_crossover():
    assert changes(lambda _: 1.0) == []
    assert changes(lambda _: -1.0) == []
    assert changes(lambda _: 0.0) == []  # as quick is not quicker


def test_a_floor_and_attention_make_fetching_win_lose_and_win_again():
    """Recompute 20 ms + 20 us*S + 1e-10 s*S^2, fetch 1 ms + 82 us*S: 19 ms - 62 us*S + 1e-10 s*S^2 = 0.

    S = (62e-6 -+ sqrt(62e-6^2 - 4 x 1e-10 x 0.019)) / 2e-10 = 306.6 and 619,693.4.
    """
    assert changes(lambda tokens: 0.019 - 62e-6 * tokens + 1e-10 * tokens**2) == [307, 619_694]


GRID = crossover.lengths()
WIDE = [step for step in range(len(GRID) - 1) if GRID[step + 1] > GRID[step] + 1]


@given(
    intervals=st.lists(st.sampled_from(WIDE), unique=True, max_size=8).map(sorted),
    inside=st.lists(st.floats(0, 1), min_size=8, max_size=8),
    first=st.booleans(),
)
def test_every_change_of_sign_is_found_to_the_token(intervals: list[int], inside: list[float], first: bool):
    """One change in each of some intervals of the grid, at any length inside."""
    roots = [
        GRID[step] + 1 + round(share * (GRID[step + 1] - GRID[step] - 1))
        for step, share in zip(intervals, inside, strict=False)
    ]

    def gain(tokens: int) -> float:
        return 1.0 if (sum(tokens >= root for root in roots) % 2 == 0) == first else -1.0

    assert changes(gain) == roots


def test_llama_70b_over_a_slow_store_wins_short_and_long():
    """DESIGN.md, section 4: 8 H100, fp8, 2 GB/s and 1 ms, vLLM constants.

    Fetching wins below about 225 and above about 187,000 tokens. A refit moves both; within a factor of 2.
    """
    model = catalog.model("llama3-70b")
    gpus = coefficients.Gpus(catalog.accelerator("h100-sxm"), catalog.fit("hopper"), "vllm", 8)
    prefill = coefficients.build(work.shape(model), gpus, "fp8", 8)

    def gain(tokens: int) -> float:
        return prefill.seconds(tokens) - (1e-3 + kv.logical(model, tokens, "fp8") / 2e9)

    low, high = changes(gain)
    assert gain(1) > 0 > gain(10_000)
    assert 225 / 2 < low < 225 * 2
    assert 187_000 / 2 < high < 187_000 * 2


# The split


def test_a_split_of_two_straight_lines_by_hand():
    """Recompute 2 s a token, fetch 1 s: of 300 tokens the first 100 are computed while 200 load: 200 s."""
    assert crossover.split(lambda x: 2.0 * x, lambda x: 1.0 * x, 300) == 200


def test_a_split_uses_one_way_alone_where_the_other_is_hopeless():
    """A fixed 100 s before the first byte: recomputing ten tokens takes 10 s."""
    assert crossover.split(lambda x: 1.0 * x, lambda x: 100.0 + x, 10) == 10
    assert crossover.split(lambda x: 100.0 + x, lambda x: 1.0 * x, 10) == 10


def test_a_prefix_of_one_token_takes_the_quicker_way():
    assert crossover.split(lambda _: 3.0, lambda _: 2.0, 1) == 2
    assert crossover.split(lambda _: 2.0, lambda _: 3.0, 1) == 2


FIXED = st.floats(0, 100)
SLOPES = st.floats(1e-6, 10)


@given(lag=FIXED, slope=SLOPES, bend=st.floats(0, 1e-3), wait=FIXED, pace=SLOPES, tokens=st.integers(1, 10_000_000))
def test_a_split_is_never_above_either_way_and_never_below_half(
    lag: float, slope: float, bend: float, wait: float, pace: float, tokens: int
):
    def recompute(x: int) -> float:
        return lag + slope * x + bend * x * x

    def fetch(x: int) -> float:
        return wait + pace * x

    both = crossover.split(recompute, fetch, tokens)
    assert 0 < both <= min(recompute(tokens), fetch(tokens))


@given(lag=FIXED, slope=SLOPES, wait=FIXED, pace=SLOPES, tokens=st.integers(1, 300))
def test_a_split_of_a_short_prefix_is_the_best_there_is(
    lag: float, slope: float, wait: float, pace: float, tokens: int
):
    def recompute(x: int) -> float:
        return lag + slope * x if x else 0.0

    def fetch(x: int) -> float:
        return wait + pace * x if x else 0.0

    best = min(max(recompute(x), fetch(tokens - x)) for x in range(tokens + 1))
    assert crossover.split(recompute, fetch, tokens) == best


@given(slope=SLOPES, pace=SLOPES, tokens=st.integers(4000, 10_000_000))
def test_a_split_of_a_long_prefix_is_as_fine_as_it_is_cut(slope: float, pace: float, tokens: int):
    """Two lines meet where slope*x = pace*(S - x)."""
    best = slope * pace / (slope + pace) * tokens
    found = crossover.split(lambda x: slope * x, lambda x: pace * x, tokens)
    assert best * (1 - 1e-9) <= found <= best + max(slope, pace) * tokens / crossover.FINE


@given(floor=st.floats(1e-5, 1e-1), fetch=st.floats(1e-7, 1e-5), recompute=st.floats(1.1e-5, 1e-3))
def test_two_lines_meet_where_they_do_to_a_fraction_of_a_token(floor: float, fetch: float, recompute: float):
    def gain(tokens: float) -> float:
        return recompute * tokens - (floor + fetch * tokens)

    exact = floor / (recompute - fetch)
    after = math.ceil(exact)
    if after > 1:
        assert crossover.meeting(gain, after) == pytest.approx(exact, rel=1e-6)
