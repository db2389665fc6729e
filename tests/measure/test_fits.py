"""Laws from points that follow them, and from points that don't quite."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.measure import fits

SIZES = (4096, 65536, 1_048_576, 16_777_216)


@given(st.floats(1e-7, 1e-3), st.floats(1e8, 1e12))
def test_a_line_is_found_again(fixed: float, rate: float):
    found = fits.line([(size, fixed + size / rate) for size in SIZES])
    assert found.bytes_per_s == pytest.approx(rate, rel=1e-3)
    assert found.fixed_s == pytest.approx(fixed, rel=1e-3, abs=1e-6 * SIZES[-1] / rate)
    assert found.worst_error < 1e-6


def test_published_copies_give_the_published_law():
    """vLLM's DMA curve on an H100: 3.5 us a copy + bytes / 52.5 GB/s (docs/accuracy.md); 2 MiB take 43.45 us."""
    found = fits.line([(size, 3.5e-6 + size / 52.5e9) for size in SIZES])
    assert found.seconds(2 * 1024 * 1024) == pytest.approx(43.45e-6, rel=1e-3)


@given(st.floats(0, 1), st.floats(1e-6, 1e-3), st.floats(0, 1e-8))
def test_a_curve_is_found_again(fixed: float, slope: float, square: float):
    lengths = (512, 2048, 8192, 32768, 131072)
    found = fits.curve([(n, fixed + slope * n + square * n * n) for n in lengths])
    for n in (1000, 100_000):
        assert found.seconds(n) == pytest.approx(fixed + slope * n + square * n * n, rel=1e-3)


def test_llama_8b_on_an_h100_is_linear_and_quadratic():
    """22.2 us and 4.68e-10 s, residual at most 1.6 %, from vLLM's 10k and 100k: 0.265 s, 6.85 s; 50k in between."""
    points = [(n, 22.2e-6 * n + 4.68e-10 * n * n) for n in (10_000, 20_000, 50_000, 100_000)]
    found = fits.curve(points)
    assert (found.fixed_s, found.per_token_s) == (pytest.approx(0, abs=1e-6), pytest.approx(22.2e-6, rel=1e-4))
    assert found.per_square_s == pytest.approx(4.68e-10, rel=1e-4)
    assert found.seconds(100_000) == pytest.approx(6.9, rel=0.01)


def test_no_coefficient_is_negative():
    """Times that bend downwards would want a negative square."""
    found = fits.curve([(1, 1.0), (2, 1.9), (4, 3.4), (8, 6.0)])
    assert min(found.fixed_s, found.per_token_s, found.per_square_s) >= 0


def test_the_errors_are_those_of_the_residuals():
    """At x = 1 the times 1 and 3, at x = 2 twice them: t = a*x has the least relative squares at
    a = (1 + 1/3) / (1 + 1/9) = 1.2, so +20 % of 1 and -60 % of 3; a constant would be worse."""
    found = fits.curve([(1, 1.0), (1, 3.0), (2, 2.0), (2, 6.0)], square=False)
    assert found.per_token_s == pytest.approx(1.2)
    assert (found.mean_error, found.worst_error) == (pytest.approx(0.4), pytest.approx(0.6))


def test_too_few_sizes_are_refused():
    with pytest.raises(UserError, match="measure more sizes"):
        fits.line([(4096, 1e-6), (4096, 1.1e-6)])


def test_times_that_do_not_grow_are_refused():
    with pytest.raises(UserError, match="give no bandwidth"):
        fits.line([(1, 1.0), (2, 0.5), (3, 0.25)])
