"""What holds for the pool of every engine and every model that ships."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.physics import formats, kv
from kvcalc.physics.engines import rules
from kvcalc.physics.engines.plan import Plan, Segment
from kvcalc.profiles import catalog, places
from kvcalc.profiles.model import Model

ENGINES = ("ideal", "vllm", "sglang", "trtllm", "lmcache")
MODELS = [catalog.model(name) for name in places.names(Model)]


def plans(tp: int, kv_dtype: str = "bf16") -> list[tuple[Model, Plan]]:
    """The plans of every engine for every model that can be cut so."""
    found = []
    for model in MODELS:
        try:
            stored = formats.stored(model, kv_dtype)
        except UserError:
            continue
        if kv.splits(model, tp):
            found += [(model, rules.plan(engine, model, stored, rules.Run(tp, step=2048))) for engine in ENGINES]
    return found


@pytest.mark.parametrize("tp", [1, 2, 8])
@pytest.mark.parametrize("tokens", [1, 1000, 20_000])
def test_a_rank_holds_at_least_its_part(tp: int, tokens: int):
    wrong = [
        (model.name, plan.engine)
        for model, plan in plans(tp)
        if plan.resident(tokens) < kv.logical(model, tokens, "bf16") // tp
    ]
    assert wrong == []


def test_a_running_sequence_holds_no_less_than_one_at_rest():
    for model, plan in plans(1):
        assert plan.resident(5000, running=True) >= plan.resident(5000), (model.name, plan.engine)


@given(st.sampled_from(plans(1)), st.floats(1e8, 1e12), st.floats(1, 4), st.integers(1, 200_000))
def test_more_memory_never_fits_fewer(found: tuple[Model, Plan], pool: float, times: float, tokens: int):
    plan = found[1]
    assert plan.sequences(pool * times, tokens) >= plan.sequences(pool, tokens)
    assert plan.longest(pool * times, 10**6) >= plan.longest(pool, 10**6)


@given(st.sampled_from(plans(1)), st.floats(1e8, 1e12), st.integers(1, 100_000))
def test_longer_sequences_are_never_more(found: tuple[Model, Plan], pool: float, tokens: int):
    plan = found[1]
    assert plan.sequences(pool, tokens + 1) <= plan.sequences(pool, tokens)


@given(st.sampled_from(plans(1)), st.floats(1e9, 1e11))
def test_the_longest_sequence_fits_and_the_next_does_not(found: tuple[Model, Plan], pool: float):
    plan, most = found[1], 10**6
    longest = plan.longest(pool, most)
    assert longest == 0 or plan.sequences(pool, longest, running=True) >= 1
    assert longest == most or plan.sequences(pool, longest + 1, running=True) < 1


def test_fp8_never_takes_more_than_16_bits():
    wide = {(model.name, plan.engine): plan.resident(20_000) for model, plan in plans(1)}
    for model, plan in plans(1, "fp8"):
        assert plan.resident(20_000) <= 1.06 * wide[model.name, plan.engine], (model.name, plan.engine)


def test_blocks_by_hand():
    """Blocks of 16 tokens: 100 tokens take 7; a window of 31 takes 2 and a spare one; with 32 in flight 4 and one."""
    assert Segment("full", 1, 16, 10).blocks(100) == 7
    window = Segment("sliding", 3, 16, 10, tables=3, window=31, spare=1)
    assert window.blocks(100) == 3 * 3
    assert window.blocks(100, in_flight=32) == 3 * 5
    assert Segment("recurrent", 1, 0, 10, constant=2).blocks(10**6) == 2
    assert Segment("entries", 1, 4, 10, entries=True).blocks(7) == 1


@pytest.mark.parametrize(("pp", "layers"), [(1, 32), (2, 16), (3, 11)])
def test_a_pipeline_s_largest_stage_has_the_layers_rounded_up(pp: int, layers: int):
    (segment,) = rules.plan("vllm", catalog.model("llama3.1-8b"), "bf16", rules.Run(pp=pp)).segments
    assert segment.layers == layers
