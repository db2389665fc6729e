"""KV bytes are a sum over layer groups, exactly, whole and by rank."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.physics import formats, kv
from kvcalc.profiles import catalog, places
from kvcalc.profiles.model import Model

TRUTH: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).resolve().parents[1] / "data" / "kv_truth.yaml").read_text()
)["models"]

ModelOf = Callable[..., Model]


def full(**changes: int) -> dict[str, Any]:
    return {"kind": "full", "layers": 1, "heads": 1, "kv_heads": 1, "key_width": 1, "value_width": 1} | changes


def sliding(window: int, kind: str = "sliding", **changes: int) -> dict[str, Any]:
    return full(**changes) | {"kind": kind, "window": window}


def latent(**changes: int) -> dict[str, Any]:
    usual = {"layers": 1, "heads": 8, "rank": 512, "rope": 64, "nope": 128, "value_width": 128}
    return {"kind": "latent"} | usual | changes


def recurrent(**changes: int) -> dict[str, Any]:
    shape = {"layers": 1, "heads": 8, "key_width": 16, "value_width": 16, "state_bytes": 4}
    memory = {"conv_channels": 10, "conv_kernel": 4, "conv_bytes": 2, "input_width": 64}
    return {"kind": "recurrent", "rule": "mamba-2"} | shape | memory | changes


@pytest.mark.parametrize("tokens", [4096, 32768, 131072])
@pytest.mark.parametrize("name", TRUTH)
def test_the_bytes_of_every_known_model_are_exact(name: str, tokens: int):
    assert kv.logical(catalog.model(name), tokens, "bf16") == TRUTH[name]["bytes_at"][tokens]


@pytest.mark.parametrize("name", TRUTH)
def test_a_known_model_is_the_one_that_is_meant(name: str):
    assert catalog.model(name).huggingface == TRUTH[name]["huggingface"]


def test_every_model_that_ships_is_held_to_known_bytes():
    """Whisper is worked by hand below; it is not in the collection."""
    assert set(places.names(Model)) - set(TRUTH) == {"whisper-large-v3"}


def test_an_encoder_decoder_keeps_the_encoders_output_whatever_the_length():
    """Whisper large-v3: 32 layers x 20 heads x 64 x 2 (K, V) x 2 B = 163,840 B a token, for S and for 1,500 tokens."""
    model = catalog.model("whisper-large-v3")
    assert kv.logical(model, 100, "bf16") == 163_840 * (100 + 1500)
    assert kv.logical(model, 448, "bf16") == 163_840 * (448 + 1500)


@pytest.mark.parametrize(
    ("name", "asked", "a_token"),
    [
        ("llama3-70b", "bf16", 327_680),  # 80 layers x 8 heads x (128 + 128) x 2 B
        ("llama3-70b", "fp8", 163_840),  # 160 KiB, as in the chapter
        ("llama3-70b", "nvfp4", 92_160),  # 80 x 8 x 2 x (64 + 8)
        ("llama3-70b", "q8_0", 174_080),  # 80 x 8 x 2 x 4 blocks x 34
        ("llama3-70b", "q4_0", 92_160),  # 80 x 8 x 2 x 4 x 18
        ("llama3-70b", "mxfp8", 168_960),  # 80 x 8 x 2 x (128 + 4)
        ("llama3-70b", "fp8_per_token_head", 168_960),
        ("llama3-70b", "int4_per_token_head", 87_040),  # 80 x 8 x 2 x (64 + 4)
        ("deepseek-v3", "bf16", 70_272),  # 61 x 576 x 2, one vector and not 128 heads
        ("deepseek-v3", "fp8", 35_136),
        ("deepseek-v3", "nvfp4", 19_764),  # 61 x (288 + 36)
        ("deepseek-v3", "q8_0", 37_332),  # 61 x 18 blocks x 34
        ("deepseek-v3.2", "bf16", 78_324),  # 70,272 and 61 x 132 of index keys
        ("deepseek-v3.2", "fp8", 48_068),  # 61 x (656 + 132)
        ("deepseek-v3.2", "nvfp4", 29_524),  # 61 x (352 + 132)
        ("glm-5.2", "fp8", 53_940),  # 78 x 656 + 21 x 132: the other layers share an index
        ("gpt-oss-120b", "bf16", 36_864),  # beyond the window: 18 of 36 layers x 8 x 128 x 2
        ("gemma3-27b", "bf16", 81_920),  # 10 of 62 layers x 16 x 256 x 2
        ("llama4-scout", "bf16", 49_152),  # 12 of 48 layers x 8 x 256 x 2
        ("qwen3-next-80b-a3b", "bf16", 24_576),  # 12 of 48 layers x 2 x 512 x 2
    ],
)
def test_a_token_past_every_window_takes_so_many_bytes(name: str, asked: str, a_token: int):
    model = catalog.model(name)
    stored = formats.stored(model, asked)
    assert kv.logical(model, 100_001, stored) - kv.logical(model, 100_000, stored) == a_token
    assert kv.marginal(model, 100_000, stored) == a_token


def test_a_token_of_compressed_attention_takes_its_share_of_an_entry():
    """DeepSeek-V4-Pro in vLLM's FP8: 30 x (584 + 132) / 4 + 31 x 584 / 128 = 5,370 + 141.4375."""
    model = catalog.model("deepseek-v4-pro")
    assert kv.marginal(model, 100_000, "fp8_ds_mla") == 5511.4375
    assert kv.marginal(model, 100_000, "bf16") == 9848  # 30 x (1,024 + 256) / 4 + 31 x 1,024 / 128
    over_128_tokens = kv.logical(model, 100_096, "fp8_ds_mla") - kv.logical(model, 99_968, "fp8_ds_mla")
    assert over_128_tokens == 128 * 5511.4375


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("gpt-oss-120b", 4_718_592),  # 18 x 8 x 128 x 2 B x 128 tokens: "at most 4.7 MB"
        ("gemma3-27b", 436_207_616),  # 52 x 16 x 256 x 2 B x 1,024 tokens: "at most 436 MB"
        ("llama4-scout", 1_207_959_552),  # 36 x 8 x 256 x 2 B x 8,192 tokens: "at most 1.21 GB"
    ],
)
def test_windows_hold_so_much_at_most(name: str, most: int):
    groups = [group for group in catalog.model(name).groups if group.kind in ("sliding", "chunked")]
    assert sum(kv.group_bytes(group, 10**6, "bf16") for group in groups) == most


def test_a_recurrent_state_is_as_large_at_one_token_as_at_a_million():
    """Qwen3-Next: 36 layers x (32 heads x 128 x 128 + 8,192 channels x 3 tokens) x 2 B = 39.5 MB."""
    (state,) = (group for group in catalog.model("qwen3-next-80b-a3b").groups if group.kind == "recurrent")
    assert kv.group_bytes(state, 1, "bf16") == kv.group_bytes(state, 10**6, "fp8") == 39_518_208


@pytest.mark.parametrize(
    ("name", "stored", "by_rank"),
    [
        ("llama3-70b", "bf16", {1: 327_680, 2: 163_840, 4: 81_920, 8: 40_960, 16: 40_960}),
        ("llama3-70b", "fp8", {1: 163_840, 8: 20_480, 16: 20_480}),
        ("deepseek-v3", "bf16", {1: 70_272, 2: 70_272, 4: 70_272, 8: 70_272, 16: 70_272}),
        ("deepseek-v3.2", "fp8_ds_mla", {1: 48_068, 8: 48_068}),
        ("qwen3-235b-a22b", "bf16", {1: 192_512, 2: 96_256, 4: 48_128, 8: 48_128}),  # 94 x 4 x 256 x 2
    ],
)
@pytest.mark.parametrize("tokens", [1, 1000, 20_000])
def test_a_rank_holds_its_heads_and_above_the_kv_heads_a_copy(
    name: str, stored: str, by_rank: dict[int, int], tokens: int
):
    model = catalog.model(name)
    assert {tp: kv.resident(model, tokens, stored, tp) for tp in by_rank} == {
        tp: tokens * a_token for tp, a_token in by_rank.items()
    }


@pytest.mark.parametrize("tokens", [100, 128, 129, 20_000])
def test_a_rank_holds_its_part_of_a_window_too(tokens: int):
    """gpt-oss-120b at TP 8: one of 8 KV heads, 18 layers x 128 x 2 B = 4,608 B a token, twice within 128 tokens."""
    model = catalog.model("gpt-oss-120b")
    assert kv.resident(model, tokens, "bf16", 8) == 4608 * tokens + 4608 * min(tokens, 128)


@pytest.mark.parametrize(
    ("name", "tp", "smaller"),
    [
        ("llama3-70b", 3, 2),  # 64 heads
        ("llama3-70b", 12, 8),
        ("llama3-70b", 128, 64),
        ("qwen2.5-7b", 8, 4),  # 28 heads: 8 does not divide them; 7 does, but not the 4 KV heads
        ("llama2-13b", 16, 10),  # 40 heads, each with its own keys and values
        ("llama4-scout", 5, 4),  # 40 heads divide by 5, 8 KV heads don't
        ("deepseek-v3", 6, 4),
    ],
)
def test_a_split_that_engines_refuse_is_refused_with_one_they_take(name: str, tp: int, smaller: int):
    with pytest.raises(UserError, match=f"'{name}' can't be split over {tp} GPUs: .*; use --tp {smaller}$"):
        kv.check_split(catalog.model(name), tp)
    kv.check_split(catalog.model(name), smaller)


@pytest.mark.parametrize(
    ("name", "tp"), [("llama3-70b", 16), ("qwen3-235b-a22b", 8), ("glm-5.2", 8), ("gemma3-27b", 4)]
)
def test_a_split_that_engines_take_is_taken(name: str, tp: int):
    kv.check_split(catalog.model(name), tp)


def test_a_window_stops_growing(model_of: ModelOf):
    """2 vectors of 1 element x 1 B for each of min(S, 4) tokens."""
    for kind in ("sliding", "chunked"):
        model = model_of(sliding(4, kind))
        assert [kv.logical(model, tokens, "fp8") for tokens in (1, 4, 5, 100)] == [2, 8, 8, 8]


def test_layers_that_share_or_have_no_attention_keep_nothing(model_of: ModelOf):
    """Gemma 3n's last layers, a Mamba model's feed-forward layers."""
    shared = {"kind": "shared", "layers": 3, "heads": 2, "key_width": 4, "value_width": 4}
    assert kv.logical(model_of(full(), shared, {"kind": "none", "layers": 5}), 10, "fp8") == 20


def test_keys_and_values_may_differ_in_width(model_of: ModelOf):
    """3 layers x 2 KV heads x (5 + 7) x 2 B x 10 tokens."""
    assert kv.logical(model_of(full(layers=3, heads=4, kv_heads=2, key_width=5, value_width=7)), 10, "bf16") == 1440


def test_a_state_is_its_heads_and_what_the_convolution_remembers(model_of: ModelOf):
    """2 layers x (8 heads x 16 x 16 x 4 B + 10 channels x 3 tokens x 2 B) = 2 x (8,192 + 60)."""
    assert kv.logical(model_of(recurrent(layers=2)), 1, "bf16") == 16_504


def test_a_state_is_cut_by_heads(model_of: ModelOf):
    """8,192 + 60 B over 4 ranks."""
    assert kv.resident(model_of(recurrent()), 1, "bf16", 4) == 2063


LENGTHS = st.integers(1, 2_000_000)
POWERS = st.sampled_from([1, 2, 4, 8, 16])
HEADS = st.tuples(POWERS, POWERS).map(lambda pair: {"kv_heads": pair[0], "heads": pair[0] * pair[1]})
WIDTHS = st.sampled_from([32, 64, 96, 128, 192, 256])
SHAPES = st.builds(
    lambda heads, layers, key, value: heads | {"layers": layers, "key_width": key, "value_width": value},
    HEADS,
    st.integers(1, 100),
    WIDTHS,
    WIDTHS,
)
GROUPS = st.one_of(
    st.builds(lambda shape: full(**shape), SHAPES),
    st.builds(lambda shape, window: sliding(window, **shape), SHAPES, st.integers(1, 10_000)),
    st.builds(lambda shape, window: sliding(window, "chunked", **shape), SHAPES, st.integers(1, 10_000)),
    st.builds(lambda layers: latent(layers=layers), st.integers(1, 100)),
    st.builds(lambda layers: recurrent(layers=layers), st.integers(1, 100)),
)
MIXED = st.lists(GROUPS, min_size=1, max_size=4)
PLAIN = st.sampled_from(["bf16", "fp8", "nvfp4", "q8_0"])


@given(groups=MIXED, tokens=LENGTHS, more=LENGTHS, form=PLAIN)
def test_more_tokens_never_take_less(model_of: ModelOf, groups: list[Any], tokens: int, more: int, form: str):
    model = model_of(*groups)
    assert kv.logical(model, tokens + more, form) >= kv.logical(model, tokens, form) > 0
    assert kv.resident(model, tokens + more, form, 4) >= kv.resident(model, tokens, form, 4) > 0


@given(shape=SHAPES, tokens=LENGTHS, form=PLAIN)
def test_twice_the_tokens_are_twice_the_bytes_of_full_attention(model_of: ModelOf, shape: Any, tokens: int, form: str):
    model = model_of(full(**shape))
    assert kv.logical(model, 2 * tokens, form) == 2 * kv.logical(model, tokens, form)


@given(shape=SHAPES, window=st.integers(1, 10_000), beyond=LENGTHS, form=PLAIN)
def test_past_its_window_a_layer_keeps_no_more(model_of: ModelOf, shape: Any, window: int, beyond: int, form: str):
    model = model_of(sliding(window, **shape))
    assert kv.logical(model, window + beyond, form) == kv.logical(model, window, form)
    assert kv.logical(model, window, form) == kv.logical(model_of(full(**shape)), window, form)
    assert kv.marginal(model, window + beyond, form) == 0


@given(groups=MIXED, tokens=LENGTHS, form=PLAIN)
def test_the_next_token_takes_the_difference(model_of: ModelOf, groups: list[Any], tokens: int, form: str):
    model = model_of(*groups)
    assert kv.marginal(model, tokens, form) == kv.logical(model, tokens + 1, form) - kv.logical(model, tokens, form)


@given(groups=MIXED, tokens=LENGTHS, form=PLAIN, tp=POWERS)
def test_all_ranks_together_hold_at_least_one_copy(
    model_of: ModelOf, groups: list[Any], tokens: int, form: str, tp: int
):
    model = model_of(*groups)
    assert tp * kv.resident(model, tokens, form, tp) >= kv.logical(model, tokens, form)
    assert (
        kv.resident(model, tokens, form, tp) <= kv.resident(model, tokens, form, 1) == kv.logical(model, tokens, form)
    )


@given(groups=MIXED, tokens=LENGTHS)
def test_a_model_is_the_sum_of_its_groups(model_of: ModelOf, groups: list[Any], tokens: int):
    alone = [kv.logical(model_of(group), tokens, "bf16") for group in groups]
    assert kv.logical(model_of(*groups), tokens, "bf16") == sum(alone)


@pytest.mark.parametrize("name", places.names(Model))
@given(tokens=st.integers(1, 10**7), more=st.integers(0, 10**6), tp=st.sampled_from([1, 2, 4, 8]))
def test_every_model_that_ships_grows_and_no_rank_holds_more_than_all(name: str, tokens: int, more: int, tp: int):
    model = catalog.model(name)
    size = kv.logical(model, tokens, "bf16")
    assert kv.logical(model, tokens + more, "bf16") >= size > 0
    assert kv.resident(model, tokens, "bf16", tp) <= size <= tp * kv.resident(model, tokens, "bf16", tp)


def test_an_index_key_that_stands_for_four_tokens_is_kept_once_in_four(model_of: ModelOf):
    """GLM-5.3-Flash: 11 layers x 132 B for 4 tokens."""
    index = {"kind": "indexer", "layers": 11, "heads": 2, "width": 128, "query_rank": 4, "stored": "scaled-fp8"}
    pooled = model_of(index | {"pool": 4})
    assert [kv.logical(pooled, tokens, "bf16") for tokens in (3, 4, 7, 8)] == [0, 1452, 1452, 2904]
    assert kv.marginal(pooled, 1000, "bf16") == 363


def test_a_compressed_layer_of_ratio_0_keeps_its_window_only(model_of: ModelOf):
    """DeepSeek-V4-Flash, layers 0 and 1: 512 elements x 2 B of the last 128 tokens, no compressor."""
    shape = {"kind": "compressed", "layers": 2, "heads": 2, "width": 512, "rope": 64, "ratio": 0, "window": 128}
    model = model_of(shape | {"overlap": False, "query_rank": 4, "output_groups": 1, "output_rank": 4})
    assert [kv.logical(model, tokens, "bf16") for tokens in (1, 128, 10_000)] == [2048, 262_144, 262_144]
    assert kv.marginal(model, 10_000, "bf16") == 0


def test_draft_layers_are_not_in_the_logical_bytes():
    """They keep KV only with speculative decoding on."""
    model = catalog.model("deepseek-v3")
    assert model.mtp[0].layers == 1
    assert kv.marginal(model, 1000, "bf16") == 61 * 1152


def test_a_short_convolution_keeps_its_last_tokens_and_no_other_state(model_of: ModelOf):
    """LFM2: 2,048 channels x (3 - 1) tokens x 2 B."""
    shape = {"kind": "recurrent", "rule": "short-conv", "layers": 1, "heads": 2048, "key_width": 0, "value_width": 1}
    shape |= {"state_bytes": 2, "conv_channels": 2048, "conv_kernel": 3, "conv_bytes": 2, "input_width": 6144}
    assert kv.logical(model_of(shape), 500, "bf16") == 8192
