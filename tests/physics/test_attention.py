"""Which tokens meet in a prefill: half of a token's own entry and all of those before it that it sees."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.physics.attention import Attention, attentions
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model

ModelOf = Callable[..., Model]

HEADS = {"layers": 1, "heads": 1, "key_width": 1, "value_width": 1}
FULL = {"kind": "full", "kv_heads": 1} | HEADS
SLIDING = {"kind": "sliding", "kv_heads": 1, "window": 4} | HEADS
CHUNKED = {"kind": "chunked", "kv_heads": 1, "window": 4} | HEADS
CROSS = {"kind": "cross", "kv_heads": 1, "encoder_tokens": 1500} | HEADS
SHARED = {"kind": "shared"} | HEADS
LATENT = {"kind": "latent", "layers": 1, "heads": 1, "rank": 512, "rope": 64, "nope": 128, "value_width": 128}
INDEXER = {"kind": "indexer", "layers": 1, "heads": 4, "width": 128, "query_rank": 8, "stored": "scaled-fp8"}
COMPRESSED = {
    "kind": "compressed",
    "layers": 1,
    "heads": 1,
    "width": 512,
    "rope": 64,
    "ratio": 4,
    "window": 4,
    "overlap": False,
    "query_rank": 8,
    "output_groups": 1,
    "output_rank": 8,
}
RECURRENT = {
    "kind": "recurrent",
    "rule": "gated-delta",
    "layers": 1,
    "heads": 2,
    "key_width": 16,
    "value_width": 32,
    "state_bytes": 4,
    "conv_channels": 0,
    "conv_kernel": 0,
    "conv_bytes": 2,
    "input_width": 8,
}


def only(model_of: ModelOf, group: dict[str, Any], absorbed: bool = False) -> Attention:
    (found,) = attentions(model_of(group), absorbed)
    return found


def by_token(new: int, cached: int, sees: Callable[[int], float]) -> float:
    """Add up, token by token, what each sees; `sees` has the tokens before it."""
    return sum(sees(before) for before in range(cached, cached + new))


@pytest.mark.parametrize(
    ("group", "new", "cached", "pairs"),
    [
        (FULL, 1, 0, 0.5),
        (FULL, 4, 0, 8),  # 0.5 + 1.5 + 2.5 + 3.5
        (FULL, 4, 6, 32),  # 4 x 6 cached, and 8 among themselves
        (SLIDING, 4, 0, 8),  # inside the window as full
        (SLIDING, 10, 0, 32),  # 8, then six tokens that see 4 each
        (SLIDING, 4, 6, 16),  # 4 x 4
        (SLIDING, 3, 2, 10),  # 2.5 + 3.5 + 4
        (CHUNKED, 4, 0, 8),
        (CHUNKED, 10, 0, 18),  # two whole chunks of 8, and 0.5 + 1.5
        (CHUNKED, 4, 6, 8),  # 2.5 + 3.5, then 0.5 + 1.5 in the next chunk
        (CROSS, 10, 5, 15_000),  # 10 x 1,500
        (SHARED, 4, 6, 32),
        (SHARED | {"window": 4}, 10, 0, 32),
        (LATENT, 4, 6, 32),
        (LATENT | {"top_k": 4}, 10, 0, 32),  # the 4 picked of those before
        (INDEXER, 4, 6, 32),  # the index is asked about every pair
        (RECURRENT, 10, 5, 10),  # one state, once a token
    ],
)
def test_pairs_worked_by_hand(model_of: ModelOf, group: dict[str, Any], new: int, cached: int, pairs: float):
    assert only(model_of, group).visible(new, cached) == pairs


def test_compressed_attention_sees_a_window_and_an_entry_for_each_ratio_tokens(model_of: ModelOf):
    """Window of 4: 8 + 4 x 4 over 8 tokens. One entry for 4 tokens: 8 x 8 / 2 / 4 = 8, at most 1 of them: 2 + 4 x 1."""
    window, entries = attentions(model_of(COMPRESSED), absorbed=False)
    assert (window.visible(8, 0), entries.visible(8, 0)) == (24, 8)
    _, picked = attentions(model_of(COMPRESSED | {"top_k": 1}), absorbed=False)
    assert picked.visible(8, 0) == 6
    with_index = attentions(model_of(COMPRESSED | {"index_width": 128, "index_heads": 64, "top_k": 1}), absorbed=False)
    assert with_index[2].visible(8, 0) == 8  # the index is asked about every entry
    assert (with_index[2].width, with_index[2].heads) == (128, 64)


@pytest.mark.parametrize(
    ("group", "absorbed", "width"),
    [
        (FULL | {"key_width": 128, "value_width": 96}, False, 224),
        (LATENT, False, 320),  # expanded: 128 + 64 and 128
        (LATENT, True, 1088),  # in the latent space: 512 + 64 and 512
        (LATENT | {"top_k": 4}, False, 1088),  # sparse kernels work there
        (INDEXER, False, 128),
        (RECURRENT, False, 2048),  # 4 x 16 x 32: read and updated, twice in chunks
    ],
)
def test_the_arithmetic_of_a_pair_is_as_wide_as_key_and_value(
    model_of: ModelOf, group: dict[str, Any], absorbed: bool, width: int
):
    assert only(model_of, group, absorbed).width == width


def test_deepseek_v3_is_expanded_and_v3_2_is_sparse_with_an_index():
    """Published: 128 heads of 192 + 128; top-k 2,048 and 64 index heads of 128."""
    (dense,) = attentions(catalog.model("deepseek-v3"), absorbed=False)
    assert (dense.role, dense.layers, dense.heads, dense.width, dense.cap) == ("latent", 61, 128, 320, None)
    sparse, index = attentions(catalog.model("deepseek-v3.2"), absorbed=False)
    assert (sparse.role, sparse.width, sparse.cap) == ("sparse", 1088, 2048)
    assert (index.role, index.heads, index.width, index.cap) == ("index", 64, 128, None)


def test_layers_without_attention_attend_to_nothing(model_of: ModelOf):
    assert attentions(model_of({"kind": "none", "layers": 3}), absorbed=False) == ()


SHORT = st.integers(0, 300)
CAPS = st.integers(1, 64)


@given(new=SHORT, cached=SHORT)
def test_full_attention_sees_all_that_came_before(model_of: ModelOf, new: int, cached: int):
    assert only(model_of, FULL).visible(new, cached) == by_token(new, cached, lambda before: before + 0.5)


@given(new=SHORT, cached=SHORT, window=CAPS)
def test_a_window_sees_at_most_its_own(model_of: ModelOf, new: int, cached: int, window: int):
    found = only(model_of, SLIDING | {"window": window})
    assert found.visible(new, cached) == by_token(new, cached, lambda before: min(before + 0.5, window))


@given(new=SHORT, cached=SHORT, window=CAPS)
def test_a_chunk_begins_anew(model_of: ModelOf, new: int, cached: int, window: int):
    found = only(model_of, CHUNKED | {"window": window})
    assert found.visible(new, cached) == by_token(new, cached, lambda before: before % window + 0.5)


@given(new=SHORT, cached=SHORT, ratio=st.sampled_from([1, 2, 4, 128]), most=CAPS)
def test_compressed_entries_stand_for_several_tokens(model_of: ModelOf, new: int, cached: int, ratio: int, most: int):
    _, found = attentions(model_of(COMPRESSED | {"ratio": ratio, "top_k": most}), absorbed=False)
    expected = by_token(new, cached, lambda before: min((before + 0.5) / ratio, most))
    assert found.visible(new, cached) == pytest.approx(expected)


KINDS = [
    FULL,
    SLIDING,
    CHUNKED,
    CROSS,
    SHARED,
    LATENT,
    LATENT | {"top_k": 16},
    INDEXER,
    COMPRESSED,
    COMPRESSED | {"top_k": 3},
    RECURRENT,
]
LONG = st.integers(0, 1_000_000)


@pytest.mark.parametrize("group", KINDS, ids=lambda group: group["kind"] + ("-top-k" if "top_k" in group else ""))
@given(first=LONG, second=LONG)
def test_a_prompt_in_two_parts_is_the_whole_prompt(model_of: ModelOf, group: dict[str, Any], first: int, second: int):
    for found in attentions(model_of(group), absorbed=False):
        whole = found.visible(first + second, 0)
        assert found.visible(first, 0) + found.visible(second, first) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("group", KINDS, ids=lambda group: group["kind"] + ("-top-k" if "top_k" in group else ""))
@given(new=LONG, cached=LONG)
def test_nothing_sees_more_than_full_attention(model_of: ModelOf, group: dict[str, Any], new: int, cached: int):
    constant = {"cross": 1500, "recurrent": 1}.get(group["kind"], 0)  # the encoder's tokens, or the state
    most = constant * new or only(model_of, FULL).visible(new, cached)
    for found in attentions(model_of(group), absorbed=False):
        assert 0 <= found.visible(new, cached) <= most
