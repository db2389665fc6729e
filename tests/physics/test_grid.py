"""The equations over arrays are those over numbers: the two agree to 1e-12."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.physics import coefficients, formats, grid, kv, recompute, together, work
from kvcalc.physics.prefill import Prefill
from kvcalc.physics.recompute import Measured, Stated
from kvcalc.physics.transfer import Hop, Loads, Overhead, Pages, Route
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model
from kvcalc.profiles.sources import given as as_option

EXACT = 1e-12
MODELS = [model for model in catalog.every(Model)[0] if kv.logical(model, 1, formats.stored(model, "bf16"))]
LENGTHS = [1, 2, 3, 127, 128, 129, 512, 1000, 4095, 4096, 4097, 8192, 20_000, 131_072, 999_999, 10_000_000]

lengths = st.lists(st.integers(1, 100_000_000), min_size=1, max_size=8)
layouts = st.sampled_from(["contiguous", "cross-layer", "per-layer", "per-layer-kv"])
hops = st.builds(
    Hop,
    bandwidth=st.floats(1e8, 1e12),
    per_copy=st.floats(0, 1e-5),
    ceiling=st.none() | st.floats(1e8, 1e12),
    links=st.integers(1, 8),
    broadcast=st.booleans(),
)
routes = st.builds(
    Route,
    hops=st.lists(hops, min_size=1, max_size=2).map(tuple),
    latency=st.floats(0, 1e-2),
    overhead=st.builds(Overhead, st.floats(0, 1e-2), st.floats(0, 1e-5)),
    pipelined=st.booleans(),
)


def array(tokens: list[int]) -> Any:
    return np.array(tokens, dtype=np.int64)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_bytes_are_the_same_for_every_model_and_length(model: Model):
    for name in ("bf16", "fp8"):
        stored = formats.stored(model, name)
        expected = [kv.logical(model, tokens, stored) for tokens in LENGTHS]
        assert grid.logical(model, array(LENGTHS), stored).tolist() == expected


@given(
    model=st.sampled_from(MODELS),
    tokens=lengths,
    tp=st.sampled_from([1, 2, 4, 8]),
    layout=layouts,
    page=st.sampled_from([1, 16, 64]),
    route=routes,
)
def test_fetch_times_are_the_same(model: Model, tokens: list[int], tp: int, layout: str, page: int, route: Route):
    stored, pages = formats.stored(model, "bf16"), Pages(layout, layout, page)
    one_by_one = Loads(model, stored, tp, pages)
    found = grid.fetch(route, grid.load(model, stored, tp, pages, array(tokens)))
    assert found.tolist() == pytest.approx([route.seconds(one_by_one(each)) for each in tokens], rel=EXACT)


@given(
    model=st.sampled_from(MODELS),
    tokens=lengths,
    tp=st.sampled_from([1, 2, 4, 8]),
    route=routes,
    concurrent=st.integers(1, 100),
    gpus=st.none() | st.just(8),
)
def test_restores_that_begin_together_take_the_same(model, tokens, tp, route, concurrent, gpus):
    stored, pages = formats.stored(model, "bf16"), Pages("per-layer", "per-layer", 16)
    one_by_one, shared = Loads(model, stored, tp, pages), (gpus,) * len(route.hops)
    found = grid.through(route, grid.load(model, stored, tp, pages, array(tokens)), concurrent, shared)
    expected = [together.through(route, one_by_one(each), concurrent, shared) for each in tokens]
    assert found.tolist() == pytest.approx(expected, rel=EXACT)


def prefills() -> list[Prefill]:
    found = []
    for model in MODELS:
        for gpu, tp, engine in (("h100-sxm", 1, "any"), ("h200-sxm", 8, "sglang"), ("b200-sxm", 4, "vllm")):
            profile = catalog.accelerator(gpu)
            gpus = coefficients.Gpus(profile, catalog.fit(profile.fit), engine, tp)
            try:
                found.append(coefficients.build(work.shape(model), gpus, "fp8", 8))
            except UserError:
                continue
    return found


PREFILLS = prefills()


@given(model=st.sampled_from(PREFILLS), tokens=lengths, cached=st.integers(0, 1_000_000))
def test_modelled_prefill_times_and_bands_are_the_same(model: Prefill, tokens: list[int], cached: int):
    new = array(tokens)
    expected = [model.seconds(each, cached) for each in tokens]
    assert grid.seconds(model, new, cached).tolist() == pytest.approx(expected, rel=EXACT)
    bands = [model.band(each) for each in tokens]
    assert [each.tolist() for each in grid.band(model, new)] == [list(each) for each in zip(*bands, strict=True)]


@given(model=st.sampled_from(PREFILLS), tokens=lengths, new=st.integers(1, 100_000))
def test_what_follows_a_cached_prefix_takes_the_same(model: Prefill, tokens: list[int], new: int):
    expected = [model.seconds(new, each) for each in tokens]
    assert grid.seconds(model, new, array(tokens)).tolist() == pytest.approx(expected, rel=EXACT)


points = st.dictionaries(st.integers(10, 1_000_000), st.floats(1e-3, 1e3), min_size=1, max_size=6)


@given(model=st.none() | st.sampled_from(PREFILLS), points=points, tokens=lengths, cached=st.integers(0, 100_000))
def test_measured_curves_are_bent_alike(
    model: Prefill | None, points: dict[int, float], tokens: list[int], cached: int
):
    way = recompute.measured("made", tuple(sorted(points.items())), model, (), 0.1)
    assert isinstance(way, Measured)
    expected = [way.seconds(each, cached) for each in tokens]
    scale = max(way.seconds(each + cached) for each in tokens)  # a difference of two times loses digits
    assert grid.seconds(way, array(tokens), cached).tolist() == pytest.approx(expected, rel=EXACT, abs=EXACT * scale)


def test_rates_of_an_array_are_one_axis():
    rates: Any = np.array([[[25_000.0]], [[50_000.0]]])
    way = Stated("made", rates, "given", (as_option("--prefill"),))
    assert grid.seconds(way, array([1000, 20_000]), 0).tolist() == [[[0.04, 0.8]], [[0.02, 0.4]]]


def test_bandwidths_of_an_array_are_one_axis(model_of):
    """1 layer, 1 head of 64 + 64 elements in bf16: 256 B a token; 1,000 tokens in 256 us at 1 GB/s."""
    layer = {"kind": "full", "layers": 1, "heads": 1, "kv_heads": 1, "key_width": 64, "value_width": 64}
    rates: Any = np.array([[1e9], [2e9]])
    load = grid.load(model_of(layer), "bf16", 1, Pages("contiguous", "contiguous", 1), array([1000, 2000]))
    found = grid.fetch(Route((Hop(rates, 0.0, None, 1, True),), 0.0, Overhead()), load)
    assert found.tolist() == [[pytest.approx(256e-6), pytest.approx(512e-6)], [pytest.approx(128e-6), 256e-6]]
    assert math.isclose(found[1][1], 256e-6)
