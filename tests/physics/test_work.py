"""Parameters and shape are counted from a profile."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.physics import work
from kvcalc.profiles import catalog, places
from kvcalc.profiles.model import Model

TRUTH: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).resolve().parents[1] / "data" / "kv_truth.yaml").read_text()
)["models"]
WITHOUT_BLOCKS = {
    "gemma3n-e4b", "gemma4-e2b", "granite-4.0-h-small", "hunyuan-a13b", "jamba-1.5-large", "minimax-m1", "opt-6.7b",
    "opt-66b", "step3-321b", "whisper-large-v3",
}  # fmt: skip
UNNAMED = {"kimi-k3"}  # neither its name nor a card says how many
WITH_VISION = {"gemma3-4b", "qwen3.5-27b"}  # their names count the vision model and the draft layer too
COMPUTED = [name for name in TRUTH if "total_b" in TRUTH[name]]
NOMINAL = [name for name in TRUTH if "total_b" not in TRUTH[name] and name not in WITHOUT_BLOCKS | UNNAMED]

ModelOf = Callable[..., Model]

FULL = {"kind": "full", "layers": 2, "heads": 2, "kv_heads": 1, "key_width": 3, "value_width": 5}


@pytest.mark.parametrize("name", [name for name in COMPUTED if name != "glm-5.2"])
def test_the_parameters_of_a_known_model_are_counted_to_ten_million(name: str):
    found = work.parameters(catalog.model(name))
    assert found.total / 1e9 == pytest.approx(TRUTH[name]["total_b"], abs=0.01)
    assert (found.active + found.embedding) / 1e9 == pytest.approx(TRUTH[name]["active_b"], abs=0.01)


def test_an_index_counts_in_the_layers_that_have_one():
    """GLM-5.2: the collection counts an index in all 78 layers, the profile in the 21 that have one of their own.

    An index is 2,048 x 32 x 128 weights for queries and 6,144 x (128 + 32) for keys and head weights: 9,371,648; the
    57 that are not there are 0.534e9.
    """
    found, known = work.parameters(catalog.model("glm-5.2")), TRUTH["glm-5.2"]
    assert found.total / 1e9 == pytest.approx(known["total_b"], rel=0.001)
    assert (found.total + 57 * 9_371_648) / 1e9 == pytest.approx(known["total_b"], abs=0.01)
    assert (found.active + found.embedding + 57 * 9_371_648) / 1e9 == pytest.approx(known["active_b"], abs=0.01)


@pytest.mark.parametrize("name", sorted(set(NOMINAL) - WITH_VISION))
def test_the_parameters_of_other_models_are_within_four_percent_of_their_names(name: str):
    assert work.parameters(catalog.model(name)).total / 1e9 == pytest.approx(TRUTH[name]["nominal_b"], rel=0.04)


@pytest.mark.parametrize("name", sorted(WITH_VISION))
def test_a_model_whose_name_counts_its_vision_too_is_a_little_smaller(name: str):
    """Gemma 3 4B: 0.42e9 of SigLIP in its 4.3e9; Qwen3.5-27B: 0.46e9 of vision and a draft layer in its 27.8e9."""
    counted, named = work.parameters(catalog.model(name)).total / 1e9, TRUTH[name]["nominal_b"]
    assert 0.2 < named - counted < 1


def test_every_model_with_blocks_is_held_to_a_known_total():
    assert set(COMPUTED) | set(NOMINAL) | WITHOUT_BLOCKS | UNNAMED == set(places.names(Model))


@pytest.mark.parametrize("name", sorted(WITHOUT_BLOCKS))
def test_a_model_without_feed_forward_fields_is_refused_with_the_way_out(name: str):
    model = catalog.model(name)
    for count in (work.parameters, work.shape):
        with pytest.raises(
            UserError, match=f"'{re.escape(name)}' has no feed-forward fields.*; give a measured rate with --pre"
        ):
            count(model)


def test_weights_of_full_attention_and_a_gated_block_by_hand(model_of: ModelOf):
    """Hidden 4. Queries 2 x 3 x 4, keys and values (3 + 5) x 4, output 2 x 5 x 4: 24 + 32 + 40 = 96 a layer.

    Gated block of 7: 3 x 4 x 7 = 84 a layer. Embedding and LM head 2 x 10 x 4 = 80.
    """
    found = work.parameters(model_of(FULL, hidden=4, vocabulary=10, feed_forward=({"layers": 2, "width": 7},)))
    assert (found.linear, found.routed, found.experts, found.embedding) == (2 * (96 + 84), 0, 0, 80)
    assert (found.active, found.total) == (360, 440)


def test_an_ungated_block_has_two_matrices_and_tied_weights_count_once(model_of: ModelOf):
    block = {"layers": 2, "width": 7, "gated": False}
    found = work.parameters(model_of(FULL, hidden=4, vocabulary=10, tied=True, feed_forward=(block,)))
    assert (found.linear, found.embedding) == (2 * (96 + 56), 40)


def test_weights_of_experts_by_hand(model_of: ModelOf):
    """Each of 4 experts 3 x 4 x 7 = 84, two of them routed; router 4 x 4, shared expert 3 x 4 x 3 = 36."""
    block = {"layers": 2, "width": 7, "experts": 4, "top_k": 2, "shared_width": 3}
    found = work.parameters(model_of(FULL, hidden=4, vocabulary=10, feed_forward=(block,)))
    assert (found.linear, found.routed, found.experts) == (2 * (96 + 16 + 36), 2 * 168, 2 * 336)
    assert found.active == found.linear + 336
    assert found.total == found.linear + 672 + 80


def test_gated_attention_has_a_second_query_projection(model_of: ModelOf):
    """Qwen3-Next: 24 more a layer."""
    blocks = ({"layers": 2, "width": 7},)
    gated, plain = (
        work.parameters(model_of(FULL | {"gated": gate}, hidden=4, feed_forward=blocks)) for gate in (True, False)
    )
    assert gated.linear - plain.linear == 2 * 24


def test_weights_of_latent_attention_by_hand(model_of: ModelOf):
    """Hidden 10, 2 heads, rank 4, rope 1, nope 2, value 3.

    Queries through rank 5: 5 x (10 + 2 x 3) = 80, or straight: 10 x 6 = 60. Keys and values down: 10 x 5 = 50, up:
    4 x 2 x (2 + 3) = 40. Output 2 x 3 x 10 = 60.
    """
    latent = {"kind": "latent", "layers": 1, "heads": 2, "rank": 4, "rope": 1, "nope": 2, "value_width": 3}
    blocks = ({"layers": 1, "width": 1},)  # 30
    through = work.parameters(model_of(latent | {"query_rank": 5}, hidden=10, feed_forward=blocks))
    straight = work.parameters(model_of(latent, hidden=10, feed_forward=blocks))
    assert through.linear == 80 + 50 + 40 + 60 + 30
    assert straight.linear == 60 + 50 + 40 + 60 + 30


def test_deepseek_v3_has_its_published_671_and_37_billion():
    """DeepSeek-V3 technical report: 671B total, 37B activated (here with embedding and LM head: 37.55)."""
    found = work.parameters(catalog.model("deepseek-v3"))
    assert found.total / 1e9 == pytest.approx(671, rel=0.001)
    assert (found.active + found.embedding) / 1e9 == pytest.approx(37, rel=0.02)


def test_llama3_70b_computes_with_68_5_billion():
    """80 x (8,192 x (8,192 x 2 + 2 x 1,024) + 3 x 8,192 x 28,672) = 80 x 855,638,016; embeddings 2.1e9 apart."""
    found = work.parameters(catalog.model("llama3-70b"))
    assert found.active == 80 * 855_638_016
    assert found.embedding == 2 * 128_256 * 8192


@given(top_k=st.integers(1, 8), experts=st.integers(8, 64), layers=st.integers(1, 20))
def test_more_experts_add_weights_and_no_work(model_of: ModelOf, top_k: int, experts: int, layers: int):
    def count(number: int) -> work.Parameters:
        block = {"layers": layers, "width": 8, "experts": number, "top_k": top_k}
        return work.parameters(model_of(FULL, feed_forward=(block,)))

    few, many = count(experts), count(2 * experts)
    assert few.routed == many.routed
    assert many.experts == 2 * few.experts
    assert few.routed * experts == few.experts * top_k


def test_the_shape_of_deepseek_v3_2():
    """3 dense layers of 18,432, 58 of experts with a shared one of 2,048; 128 value heads of 128; an index in all 61.

    The mean width of what every token passes is (3 x 18,432 + 58 x 2,048) / 61.
    """
    found = work.shape(catalog.model("deepseek-v3.2"))
    assert (found.hidden, found.layers, found.expert_layers, found.sparse_layers) == (7168, 61, 58, 61)
    assert found.dense_width == pytest.approx((3 * 18_432 + 58 * 2_048) / 61)
    assert found.value_width == 128 * 128


def test_the_shape_of_a_dense_model():
    found = work.shape(catalog.model("llama3-70b"))
    assert (found.hidden, found.layers, found.expert_layers, found.sparse_layers) == (8192, 80, 0, 0)
    assert (found.dense_width, found.value_width) == (28_672, 64 * 128)
    assert found.tested


@pytest.mark.parametrize("name", ["qwen3-next-80b-a3b", "deepseek-v4-pro", "llama4-scout", "nemotron3-nano-30b-a3b"])
def test_a_kind_of_layer_that_the_fit_has_not_seen_is_said(name: str):
    assert not work.shape(catalog.model(name)).tested


@pytest.mark.parametrize("name", sorted(set(TRUTH) - WITHOUT_BLOCKS))
def test_every_layer_has_a_block_or_is_one(name: str):
    """A block a layer, except where attention-free layers are counted apart (Nemotron)."""
    model = catalog.model(name)
    assert model.feed_forward is not None
    assert sum(block.layers for block in model.feed_forward) <= work.shape(model).layers
    for block in model.feed_forward:
        assert (block.experts is None) == (block.top_k is None)
        assert block.experts is None or block.top_k <= block.experts


def test_experts_that_work_in_a_narrower_width_have_projections_there_and_back(model_of: ModelOf):
    """Nemotron 3 Ultra's way. Hidden 4, latent 2: an expert of 7 has 2 x 2 x 7 = 28 weights, of 5 experts 2 active.

    Router 4 x 5 = 20, shared expert of 3: 2 x 4 x 3 = 24, projections 2 x 4 x 2 = 16.
    """
    block = {"layers": 1, "width": 7, "experts": 5, "top_k": 2, "shared_width": 3, "latent_width": 2, "gated": False}
    found = work.parameters(model_of({"kind": "none", "layers": 1}, hidden=4, vocabulary=10, feed_forward=(block,)))
    assert (found.linear, found.routed, found.experts) == (20 + 24 + 16, 2 * 28, 5 * 28)


def test_parameters_without_a_vocabulary_are_not_counted(model_of: ModelOf):
    model = model_of(FULL, vocabulary=None, feed_forward=({"layers": 2, "width": 7},))
    with pytest.raises(UserError, match="has no vocabulary, so its parameters can't be counted"):
        work.parameters(model)
