"""Ways to tell how long a prefill takes, apart from the model itself."""

from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.physics import coefficients, recompute, work
from kvcalc.physics.prefill import Prefill
from kvcalc.physics.recompute import Measured, Stated
from kvcalc.profiles import catalog
from kvcalc.profiles.sources import Source

SOURCE = Source("a test", "tests", "measured", date(2026, 11, 29))
POINTS = ((1000, 0.1), (10_000, 2.0), (100_000, 100.0))


def curve(model: Prefill | None = None, points: tuple[tuple[int, float], ...] = POINTS) -> Measured:
    return recompute.measured("measured", points, model, (SOURCE,), live=0.1)


@pytest.fixture(scope="module")
def llama() -> Prefill:
    gpus = coefficients.Gpus(catalog.accelerator("h100-sxm"), catalog.fit("hopper"), "any", 1)
    return coefficients.build(work.shape(catalog.model("llama3.1-8b")), gpus, "bf16", 16)


def test_a_stated_rate_holds_at_every_length_and_whatever_is_cached():
    """The chapter: 20,000 tokens at 50,000 a second are 400 ms."""
    stated = Stated("stated", 50_000, "textbook", (SOURCE,))
    assert stated.seconds(20_000) == stated.seconds(20_000, 80_000) == 0.4
    assert stated.band(20_000) == (0, 0)


def test_a_curve_goes_through_its_points(llama: Prefill):
    for model in (None, llama):
        assert [curve(model).seconds(tokens) for tokens, _ in POINTS] == pytest.approx([s for _, s in POINTS])


def test_between_two_points_a_curve_without_a_model_is_straight_in_logarithms():
    """Half way from 1,000 to 10,000 in log length is 3,162; half way from 0.1 to 2 s is the root of 0.2, 0.447 s."""
    assert curve().seconds(3162) == pytest.approx(0.2**0.5, rel=1e-3)


def test_beyond_its_points_a_curve_without_a_model_grows_with_the_length():
    """100 s at 100,000 tokens: 200 s at 200,000; 0.1 s at 1,000: 0.05 s at 500."""
    assert curve().seconds(200_000) == pytest.approx(200)
    assert curve().seconds(500) == pytest.approx(0.05)


def test_a_curve_with_a_model_bends_as_the_model_does(llama: Prefill):
    """Measured 1.1 times the model at 1,000 tokens and 1.3 times at 100,000: 1.2 times at 10,000, and held beyond."""
    found = curve(llama, ((1000, 1.1 * llama.seconds(1000)), (100_000, 1.3 * llama.seconds(100_000))))
    for tokens, factor in ((1, 1.1), (1000, 1.1), (10_000, 1.2), (100_000, 1.3), (10**6, 1.3)):
        assert found.factor(tokens) == pytest.approx(factor)
        assert found.seconds(tokens) == pytest.approx(factor * llama.seconds(tokens))


def test_tokens_after_a_cached_prefix_are_corrected_as_the_whole_prompt_is(llama: Prefill):
    found = curve(llama, ((1000, 1.1 * llama.seconds(1000)), (100_000, 1.3 * llama.seconds(100_000))))
    assert found.seconds(2000, 8000) == pytest.approx(1.2 * llama.seconds(2000, 8000))


def test_without_a_model_a_cached_prefix_saves_its_own_time():
    """2.0 s for 10,000 tokens, 0.1 s for the first 1,000."""
    assert curve().seconds(9000, 1000) == pytest.approx(1.9)


def test_a_curve_knows_where_it_was_measured():
    found = curve()
    assert [found.covers(tokens) for tokens in (999, 1000, 50_000, 100_000, 100_001)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_a_live_engine_may_take_longer_than_a_curve_and_not_shorter():
    assert curve().band(1000) == (0, 0.1)


@pytest.mark.parametrize("accelerator", ["h100-sxm", "b200-sxm", "a100-80-sxm"])
def test_every_curve_that_ships_rises_with_the_length(accelerator: str):
    """Between its points too, where the measured ratio bends what the model says."""
    gpu, curves = catalog.accelerator(accelerator), catalog.curves(accelerator)
    assert curves is not None
    lengths = [round(10 ** (step / 12)) for step in range(12, 73)]  # 10 to 1,000,000 tokens
    for each in curves.curves:
        gpus = coefficients.Gpus(gpu, catalog.fit(gpu.fit or ""), each.engine or "any", each.tp)
        shape = work.shape(catalog.model(each.models[0]))
        model = coefficients.build(shape, gpus, each.weights, each.kv_bits)
        found = recompute.measured("measured", tuple(each.points.items()), model, (), live=0.0)
        times = [found.seconds(tokens) for tokens in lengths]
        assert times == sorted(times)
        assert [found.seconds(tokens) for tokens in each.points] == pytest.approx(list(each.points.values()))


@given(tokens=st.integers(1, 10**7), more=st.integers(0, 10**6))
def test_a_longer_prompt_never_takes_less(tokens: int, more: int):
    assert curve().seconds(tokens + more) >= curve().seconds(tokens) * (1 - 1e-12) > 0


@given(tokens=st.integers(1, 10**6), rate=st.floats(1, 1e6), factor=st.integers(1, 10))
def test_a_stated_rate_is_proportional(tokens: int, rate: float, factor: int):
    stated = Stated("stated", rate, "given", ())
    assert stated.seconds(factor * tokens) == pytest.approx(factor * stated.seconds(tokens))


@pytest.mark.parametrize("make", [lambda: curve(), lambda: Stated("stated", 5e4, "given", (SOURCE,))])
def test_every_way_says_what_it_is_called_and_where_it_is_from(make: Callable[[], recompute.Way]):
    way = make()
    assert way.title in ("measured", "stated")
    assert way.sources == (SOURCE,)
    assert way.basis in ("measured", "given")
