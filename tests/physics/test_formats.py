"""What engines store for a vector, scales included."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.physics import formats
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("bf16", 256),  # 128 x 2
        ("fp16", 256),
        ("fp8", 128),
        ("int8", 128),
        ("nvfp4", 72),  # 128 / 2 elements, 128 / 16 FP8 scales: 64 + 8
        ("fp4", 72),
        ("mxfp8", 132),  # 128 elements, 128 / 32 scales
        ("q8_0", 136),  # llama.cpp: blocks of 32 bytes and an FP16 scale: 4 x 34
        ("q4_0", 72),  # 4 x (16 + 2)
        ("fp8_per_token_head", 132),  # an FP32 scale for each token and head: 128 + 4
        ("int8_per_token_head", 132),
        ("int4_per_token_head", 68),  # 64 + 4
    ],
)
def test_a_head_of_128_elements_takes_so_many_bytes(name: str, stored: int):
    assert formats.FORMATS[name].vector(128) == stored


@pytest.mark.parametrize(
    ("name", "width", "stored"),
    [
        ("fp8_ds_mla", 656, 656),  # vLLM deepseek_v2.py: 512 + 4 scales of 4 B + 64 x 2
        ("nvfp4_ds_mla", 352, 352),  # 512 / 2 + 512 / 16 + 64
        ("bf16", 1152, 1152),  # 2 x 576
        ("fp8", 576, 576),
    ],
)
def test_a_latent_of_512_and_64_takes_so_many_bytes(name: str, width: int, stored: int):
    assert formats.latent_entry(512, 64, name) == width == stored


def test_a_compressed_entry_of_512_takes_584_bytes_in_fp8():
    """DeepSeek-V4, vLLM 0.33: 448 FP8 elements, 64 rotary ones in 16 bits, 8 B of scales: 448 + 128 + 8."""
    assert formats.compressed_entry(512, 64, "fp8_ds_mla") == 584
    assert formats.compressed_entry(512, 64, "bf16") == 1024


def test_an_index_key_takes_132_bytes_where_it_is_scaled_whatever_the_kv_format():
    assert [formats.index_entry(128, True, name) for name in ("bf16", "fp8_ds_mla", "nvfp4_ds_mla")] == [132] * 3
    assert formats.index_entry(128, False, "bf16") == 256


@pytest.mark.parametrize(("name", "width"), [("nvfp4", 72), ("mxfp8", 80), ("q8_0", 80), ("int4_per_token_head", 65)])
def test_a_vector_that_does_not_fill_its_blocks_is_refused(name: str, width: int):
    with pytest.raises(UserError, match=f"{name} stores blocks of .* a vector of {width} does not divide"):
        formats.FORMATS[name].vector(width)


@given(blocks=st.integers(1, 64), name=st.sampled_from(sorted(formats.FORMATS)))
def test_a_wider_vector_takes_more(blocks: int, name: str):
    known = formats.FORMATS[name]
    assert known.vector(32 * (blocks + 1)) > known.vector(32 * blocks)
    assert known.vector(32 * blocks) <= formats.FORMATS["fp32"].vector(32 * blocks)


@pytest.mark.parametrize(
    ("model", "asked", "stored"),
    [
        ("llama3-70b", "fp8", "fp8"),
        ("llama3-70b", "q8_0", "q8_0"),
        ("deepseek-v3", "fp8", "fp8"),
        ("deepseek-v3", "nvfp4", "nvfp4"),
        ("deepseek-v3.2", "bf16", "bf16"),
        ("deepseek-v3.2", "fp8", "fp8_ds_mla"),
        ("deepseek-v3.2", "nvfp4", "nvfp4_ds_mla"),
        ("glm-5.2", "fp8", "fp8_ds_mla"),
        ("deepseek-v4-pro", "fp8", "fp8_ds_mla"),
    ],
)
def test_sparse_models_keep_fp8_and_nvfp4_in_their_own_layout(model: str, asked: str, stored: str):
    assert formats.stored(catalog.model(model), asked) == stored


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("llama3-70b", "fp8_ds_mla"),
        ("deepseek-v3", "mxfp8"),
        ("deepseek-v3", "fp8_ds_mla"),
        ("deepseek-v3.2", "q8_0"),
        ("deepseek-v4-pro", "nvfp4"),
    ],
)
def test_a_format_that_no_engine_stores_is_refused_with_those_that_one_does(model: str, asked: str):
    with pytest.raises(UserError, match=f"no engine known here stores the KV of '{model}' as {asked}; one of bf16"):
        formats.stored(catalog.model(model), asked)


def test_an_unknown_format_is_refused_with_the_known_ones():
    with pytest.raises(UserError, match="no KV format 'fp7'; one of bf16, fp16, fp8"):
        formats.stored(catalog.model("llama3-70b"), "fp7")


def test_every_format_of_a_model_can_be_asked_for(model_of: Callable[..., Model]):
    full = {"kind": "full", "layers": 1, "heads": 1, "kv_heads": 1, "key_width": 128, "value_width": 128}
    assert [formats.stored(model_of(full), name) for name in formats.FORMATS] == list(formats.FORMATS)


@pytest.mark.parametrize(("model", "stored"), [("llama3-70b", "bf16"), ("deepseek-v3.2", "bf16"),
    ("deepseek-v4-pro", "fp8_ds_mla")])  # fmt: skip
def test_auto_is_the_models_dtype_unless_its_checkpoint_or_engines_say_otherwise(model: str, stored: str):
    """vLLM 0.33 keeps DeepSeek-V4 in FP8 whatever the model's dtype (deepseek_v4/attention.py)."""
    assert formats.stored(catalog.model(model), "auto") == stored


@pytest.mark.parametrize(("kv_cache", "checkpoint", "stored"), [("fp8", "bf16", "fp8"), (None, "fp16", "fp16"),
    ("nvfp4", "nvfp4", "nvfp4"), (None, "fp8", "bf16")])  # fmt: skip
def test_auto_is_what_the_checkpoint_wants(kv_cache: str | None, checkpoint: str, stored: str):
    model = replace(catalog.model("llama3-8b"), kv_cache=kv_cache, checkpoint=checkpoint)
    assert formats.stored(model, "auto") == stored
