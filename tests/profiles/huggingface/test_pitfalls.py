"""One test for each way in which a configuration says something else than it seems to."""

from collections.abc import Callable
from typing import Any

import pytest

from kvcalc.errors import UserError
from kvcalc.physics import formats, kv
from kvcalc.profiles.huggingface import reading
from kvcalc.profiles.huggingface.importer import Imported
from kvcalc.profiles.model import Compressed, Full, Indexer, Latent, Model, Recurrent, Shared, Sliding

ModelOf = Callable[..., Model]
Config = Callable[..., dict[str, Any]]
FAR = 10_000_000


def a_token(model: Model) -> float:
    """Bytes that a token adds past every window, at 2-byte elements."""
    return kv.marginal(model, FAR, "bf16")


def first(model: Model, kind: type) -> Any:
    return next(group for group in model.groups if isinstance(group, kind))


def layers(model: Model, kind: type) -> int:
    return sum(group.layers for group in model.groups if isinstance(group, kind))


@pytest.mark.parametrize(
    ("name", "divided", "real"),
    [("Qwen/Qwen3-0.6B", 64, 128), ("Qwen/Qwen3-32B", 80, 128), ("Qwen/Qwen3-30B-A3B", 64, 128),
     ("openai/gpt-oss-120b", 45, 64), ("google/gemma-3-27b-it", 168, 128), ("MiniMaxAI/MiniMax-M2.5", 64, 128),
     ("mistralai/Mistral-Small-Instruct-2409", 128, 128), ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 84, 128)],
)  # fmt: skip
def test_1_an_explicit_head_dim_counts_and_not_hidden_by_heads(
    name: str, divided: int, real: int, model: ModelOf, config: Config
):
    file = config(name)
    assert file["hidden_size"] // file["num_attention_heads"] == divided
    assert first(model(file), Full).key_width == real


@pytest.mark.parametrize("value", ["out", None, 0])
def test_2_an_absent_head_dim_or_none_or_0_means_hidden_by_heads(value: Any, model: ModelOf, config: Config, out: Any):
    file = config("meta-llama/Meta-Llama-3.1-8B", head_dim=out if value == "out" else value)
    assert first(model(file), Full).key_width == 4096 // 32


def test_2_head_dim_has_other_names(model: ModelOf, config: Config):
    assert first(model(config("nvidia/Nemotron-H-8B-Base-8K")), Full).key_width == 128  # attention_head_dim
    hunyuan = config("tencent/Hunyuan-A13B-Instruct", head_dim=None, attention_head_dim=96)
    assert first(model(hunyuan), Full).key_width == 96


@pytest.mark.parametrize("name", ["hidden_size_per_head", "attention_head_dim", "kv_channels"])
def test_2_a_name_of_head_dim_that_the_class_does_not_read_may_only_repeat_it(
    name: str, model: ModelOf, config: Config
):
    """LlamaConfig reads head_dim, else hidden / heads: 4096 / 32 = 128."""
    assert first(model(config("meta-llama/Meta-Llama-3.1-8B", **{name: 128})), Full).key_width == 128
    with pytest.raises(UserError, match=f"{name}: 64: LlamaConfig isn't known to read it; .* heads are 128 wide"):
        model(config("meta-llama/Meta-Llama-3.1-8B", **{name: 64}))


@pytest.mark.parametrize("name", ["moonshotai/Kimi-Linear-48B-A3B-Instruct", "zai-org/GLM-5.2"])
def test_3_the_head_dim_of_a_latent_model_means_nothing(name: str, model: ModelOf, config: Config, out: Any):
    file = config(name)
    assert file["head_dim"] in (72, 192)
    assert model(file).groups == model(config(name, head_dim=out)).groups == model(config(name, head_dim=7)).groups
    assert first(model(file), Latent).rank + first(model(file), Latent).rope == 576


@pytest.mark.parametrize("value", ["out", None])
def test_4_absent_kv_heads_or_none_mean_as_many_as_query_heads(value: Any, model: ModelOf, config: Config, out: Any):
    file = config("meta-llama/Meta-Llama-3.1-8B", num_key_value_heads=out if value == "out" else value)
    assert first(model(file), Full).kv_heads == 32


@pytest.mark.parametrize("spelling", ["num_kv_heads", "n_head_kv", "num_attention_groups", "num_query_groups"])
def test_4_kv_heads_have_other_names(spelling: str, model: ModelOf, config: Config, out: Any):
    file = config("meta-llama/Meta-Llama-3.1-8B", num_key_value_heads=out, **{spelling: 4})
    assert first(model(file), Full).kv_heads == 4


def test_4_two_spellings_that_disagree_are_refused(imported: Callable[..., Imported], config: Config):
    with pytest.raises(UserError, match="num_key_value_heads is 8 and num_kv_heads 4; they mean the same"):
        imported(config("meta-llama/Meta-Llama-3.1-8B", num_kv_heads=4))


def test_4_dbrx_has_its_kv_heads_in_attn_config(model: ModelOf):
    """databricks/dbrx-base: 40 layers x 8 KV heads x 128 x 2 x 2 B = 163,840 B."""
    file = {"architectures": ["DbrxForCausalLM"], "model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40}
    file |= {"attn_config": {"kv_n_heads": 8, "clip_qkv": 8}, "max_seq_len": 32768, "vocab_size": 100352}
    file |= {"ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}}
    assert a_token(model(file)) == 163_840


def test_4_nemotron_nas_counts_query_heads_per_group_and_has_layers_without_attention(model: ModelOf, config: Config):
    found = model(config("nvidia/Llama-3_3-Nemotron-Super-49B-v1"))
    assert (layers(found, Full), first(found, Full).kv_heads) == (49, 8)
    assert sum(group.layers for group in found.groups) == 80


def test_5_falcon_has_one_kv_head_whatever_num_kv_heads_says(model: ModelOf):
    """tiiuae/falcon-7b: 32 layers x 1 x 64 x 2 x 2 B = 8,192 B, and not 71 times that."""
    file = {"architectures": ["FalconForCausalLM"], "model_type": "falcon", "hidden_size": 4544, "vocab_size": 65024}
    file |= {"num_attention_heads": 71, "num_kv_heads": 71, "num_hidden_layers": 32, "multi_query": True}
    assert a_token(model(file | {"new_decoder_architecture": False})) == 8192
    forty = {"num_attention_heads": 128, "num_kv_heads": 8, "num_hidden_layers": 60, "hidden_size": 8192}
    assert a_token(model(file | forty | {"new_decoder_architecture": True})) == 60 * 8 * 64 * 2 * 2


def test_6_the_kv_heads_of_a_latent_model_mean_nothing_and_its_vector_is_one(model: ModelOf, config: Config):
    file = config("deepseek-ai/DeepSeek-V3")
    assert file["num_key_value_heads"] == 128
    assert a_token(model(file)) == 61 * 576 * 2 == 70_272
    assert a_token(model(config("deepseek-ai/DeepSeek-V3", num_key_value_heads=1))) == 70_272


def test_7_the_models_that_calculators_get_wrong(model: ModelOf, config: Config):
    """MODELS that other calculators have 28 times too high, or with another number of heads."""
    assert a_token(model(config("deepseek-ai/DeepSeek-V2-Lite"))) == 27 * 576 * 2
    assert a_token(model(config("moonshotai/Kimi-K2-Instruct"))) == 61 * 576 * 2
    assert layers(model(config("Qwen/Qwen3.5-27B")), Latent) == 0  # a gated delta net hybrid, not MLA
    assert kv.logical(model(config("CohereForAI/c4ai-command-r-v01")), 2048, "bf16") == 2560 * 2**20  # measured


def test_8_two_files_of_the_same_name_keep_their_own_geometry(model: ModelOf, config: Config):
    old, new = (model(config(f"CohereForAI/c4ai-command-r-{each}")) for each in ("v01", "08-2024"))
    assert (first(old, Full).kv_heads, first(new, Full).kv_heads) == (64, 8)
    early = model(config("meta-llama/Meta-Llama-3.1-405B", num_key_value_heads=16))
    assert a_token(early) == 1_032_192  # as first published


def test_9_the_language_model_may_lie_inside_and_its_surroundings_carry_entries_too(model: ModelOf, config: Config):
    inside = config("Qwen/Qwen3-8B")
    outer = {"architectures": ["InternVLChatModel"], "model_type": "internvl_chat", "vision_config": {"hidden_size": 9}}
    expected = model(inside).groups
    for key in ("text_config", "llm_config", "language_config"):
        assert model(outer | {key: inside}).groups == expected
    assert model(outer | {"thinker_config": {"model_type": "thinker", "text_config": inside}}).groups == expected
    draft = model(outer | {"text_config": inside, "num_nextn_predict_layers": 1})
    assert (draft.groups, draft.mtp[0].layers) == (expected, 1)


def test_9_quantisation_may_lie_inside_too(model: ModelOf, config: Config):
    assert model(config("moonshotai/Kimi-K3")).checkpoint == "mxfp4"


def kinds_of(found: Model) -> dict[str, int]:
    return {group.kind: sum(each.layers for each in found.groups if each.kind == group.kind) for group in found.groups}


SMALL = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 6}
MAMBA = {"mamba_num_heads": 4, "mamba_head_dim": 16, "ssm_state_size": 8, "conv_kernel": 4, "n_groups": 1}
BAMBA = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_d_conv": 4, "mamba_n_groups": 1}
BAMBA |= {"mamba_expand": 2}
LATENT = {"kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "q_lora_rank": 16}
KDA = {"full_attn_layers": [3, 6], "kda_layers": [1, 2, 4, 5], "num_heads": 4, "head_dim": 16}
KDA |= {"short_conv_kernel_size": 4}
SWA = {"swa_num_key_value_heads": 4, "swa_head_dim": 16, "swa_v_head_dim": 8, "v_head_dim": 8}
V4 = {"head_dim": 64, "qk_rope_head_dim": 8, "q_lora_rank": 16, "o_lora_rank": 8, "o_groups": 2, "sliding_window": 8}
V4 |= {"index_head_dim": 8, "index_n_heads": 2, "index_topk": 4}
DSA = LATENT | {"index_head_dim": 8, "index_n_heads": 2, "index_topk": 4}
ZAMBA = {"n_mamba_heads": 8, "mamba_headdim": 16, "mamba_d_state": 8, "mamba_d_conv": 4, "mamba_ngroups": 1}
ZAMBA |= {"mamba_expand": 2}
F, S, L = "full_attention", "sliding_attention", "linear_attention"


@pytest.mark.parametrize(
    ("kind", "spelling", "expected"),
    [
        ("gemma2", {"layer_types": [F, S, S, S, S, F], "sliding_window": 8}, {"full": 2, "sliding": 4}),
        ("gemma3_text", {"sliding_window_pattern": 3, "sliding_window": 8}, {"full": 2, "sliding": 4}),
        ("cohere2", {"_sliding_window_pattern": 2, "sliding_window": 8}, {"full": 3, "sliding": 3}),
        ("exaone4", {"sliding_window_pattern": "LLG", "sliding_window": 8}, {"full": 2, "sliding": 4}),
        ("qwen3_next", {"full_attention_interval": 3, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
          "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_conv_kernel_dim": 4},
         {"full": 2, "recurrent": 4}),
        ("nemotron_h", MAMBA | {"hybrid_override_pattern": "M*-ME-"}, {"full": 1, "recurrent": 2, "none": 3}),
        ("nemotron_h", MAMBA | {"layers_block_type": ["mamba", "attention", "mlp", "mamba", "moe", "mlp"]},
         {"full": 1, "recurrent": 2, "none": 3}),
        ("jamba", {"attn_layer_period": 3, "attn_layer_offset": 1, "mamba_d_state": 8, "mamba_d_conv": 4,
          "mamba_expand": 2}, {"full": 2, "recurrent": 4}),
        ("bamba", BAMBA | {"attn_layer_indices": [2]}, {"full": 1, "recurrent": 5}),
        ("granitemoehybrid", BAMBA | {"layer_types": ["mamba", "mamba", "attention"] * 2}, {"full": 2, "recurrent": 4}),
        ("mimo_v2_flash", SWA | {"hybrid_layer_pattern": [0, 1, 1, 1, 1, 0], "sliding_window": 8},
         {"full": 2, "sliding": 4}),
        ("zamba2", ZAMBA | {"hybrid_layer_ids": [1, 4]}, {"full": 2, "recurrent": 6}),
        ("minimax_m1", {"attn_type_list": [0, 0, 1, 0, 0, 1]}, {"full": 2, "recurrent": 4}),
        ("minimax_m2", {"attn_type_list": [1] * 6}, {"full": 6}),
        ("kimi_linear", LATENT | {"linear_attn_config": KDA}, {"latent": 2, "recurrent": 4}),
        ("deepseek_v4", V4 | {"compress_ratios": [0, 4, 128, 4, 128, 4]}, {"compressed": 6}),
        ("glm_moe_dsa", DSA | {"indexer_types": ["full", "shared", "shared"] * 2}, {"latent": 6, "indexer": 2}),
        ("llama4_text", {"layer_types": ["chunked_attention", F] * 3, "attention_chunk_size": 8},
         {"full": 3, "chunked": 3}),
        ("lfm2", {"layer_types": ["conv", "conv", F] * 2, "conv_L_cache": 3}, {"full": 2, "recurrent": 4}),
        ("falcon_h1", BAMBA | {"mamba_d_ssm": 128}, {"full": 6, "recurrent": 6}),
        ("gpt_neo", {"attention_types": [[["global", "local"], 3]], "window_size": 8}, {"full": 3, "sliding": 3}),
    ],
)  # fmt: skip
def test_10_the_kinds_of_layers_have_many_spellings(
    kind: str, spelling: dict[str, Any], expected: dict[str, int], model: ModelOf
):
    assert kinds_of(model(SMALL | spelling | {"model_type": kind})) == expected


def test_10_kimi_counts_layers_from_one(imported: Callable[..., Imported], config: Config):
    """Layer 27 is the last of 27; counted from 0 there would be none."""
    file = config("moonshotai/Kimi-Linear-48B-A3B-Instruct")
    assert max(file["linear_attn_config"]["full_attn_layers"]) == 27
    file["linear_attn_config"]["full_attn_layers"][-1] = 0
    with pytest.raises(UserError, match="don't name each of layers 1 to 27 once"):
        imported(file)


def test_10_a_word_that_a_type_does_not_have_is_refused(imported: Callable[..., Imported], config: Config):
    with pytest.raises(UserError, match="layer_types: 'ring_attention' is no kind of layer that this model type has"):
        imported(config("openai/gpt-oss-120b", layer_types=["ring_attention"] * 36))
    with pytest.raises(UserError, match="layer_types has 35 entries for 36 layers"):
        imported(config("openai/gpt-oss-120b", layer_types=[F] * 35))


def test_11_llama_4_has_a_full_layer_in_four_by_its_class(model: ModelOf, config: Config):
    found = model(config("meta-llama/Llama-4-Scout-17B-16E-Instruct"))
    assert (kinds_of(found), a_token(found)) == ({"full": 12, "chunked": 36}, 49_152)
    listed = model(config("meta-llama/Llama-4-Scout-17B-16E-Instruct", no_rope_layers=[1, 0] * 24))
    assert kinds_of(listed) == {"full": 24, "chunked": 24}


def test_12_gemma_2_and_gpt_oss_alternate_and_begin_with_a_window(model: ModelOf, config: Config, out: Any):
    """27 layers: 14 slide if the first does, 13 if it doesn't."""
    file = config("google/gemma-2-2b", layer_types=out, num_hidden_layers=27)
    assert kinds_of(model(file)) == {"full": 13, "sliding": 14}
    file = config("openai/gpt-oss-120b", layer_types=out, num_hidden_layers=3)
    assert kinds_of(model(file)) == {"full": 1, "sliding": 2}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("google/gemma-3-27b-it", {"full": 10, "sliding": 52}),
        ("google/gemma-3-4b-it", {"full": 5, "sliding": 29}),
        ("google/gemma-3-1b-it", {"full": 4, "sliding": 22}),
    ],
)
def test_12_gemma_3_has_a_full_layer_in_six_counted_from_one(
    name: str, expected: dict[str, int], model: ModelOf, config: Config, out: Any
):  # fmt: skip
    assert kinds_of(model(config(name))) == kinds_of(model(config(name, layer_types=out))) == expected


def test_13_a_window_that_is_switched_off_is_none(model: ModelOf, config: Config):
    assert config("XiaomiMiMo/MiMo-7B-Base")["sliding_window"] == 32768
    assert kinds_of(model(config("XiaomiMiMo/MiMo-7B-Base"))) == {"full": 36}
    qwen = {"sliding_window": 4096, "max_window_layers": 70}
    assert kinds_of(model(config("Qwen/Qwen2.5-72B", use_sliding_window=False, **qwen))) == {"full": 80}
    assert kinds_of(model(config("Qwen/Qwen2.5-72B", use_sliding_window=True, **qwen))) == {"full": 70, "sliding": 10}


def test_13_mistral_slides_everywhere_unless_the_file_says_null(model: ModelOf, config: Config):
    assert kinds_of(model(config("mistralai/Mistral-7B-v0.1"))) == {"sliding": 32}
    assert kinds_of(model(config("mistralai/Mistral-Small-Instruct-2409"))) == {"full": 56}  # null
    assert first(model(config("microsoft/Phi-3-mini-4k-instruct")), Sliding).window == 2047


def test_13_a_window_in_a_class_whose_windows_engines_use_differently_is_refused(imported: Any, config: Config):
    with pytest.raises(UserError, match="which layers of this class slide isn't known"):
        imported(config("Qwen/Qwen3-30B-A3B", use_sliding_window=True, sliding_window=4096))


def test_14_a_window_is_as_long_as_the_file_says_and_bidirectional_gemma_is_no_decoder(imported: Any, config: Config):
    """MiMo-V2-Flash: 128 in the file, 129 in the class of transformers, which adds one to sliding_window_size."""
    file = SMALL | SWA | {"model_type": "mimo_v2_flash", "sliding_window": 128, "sliding_window_size": 128}
    sliding = [group for group in imported(file).document["groups"] if group["kind"] == "sliding"]
    assert {group["window"] for group in sliding} == {128}
    with pytest.raises(UserError, match="use_bidirectional_attention"):
        imported(config("google/gemma-3-27b-it", use_bidirectional_attention=True))


def test_15_sliding_layers_have_heads_of_their_own_and_keys_and_values_widths(model: ModelOf, config: Config):
    """MiMo-V2-Flash: 9 full layers x 4 x (192 + 128), 39 sliding x 8 x (192 + 128)."""
    shape = {"model_type": "mimo_v2_flash", "hidden_size": 4096, "num_hidden_layers": 48, "num_attention_heads": 64}
    shape |= {"num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "sliding_window": 128}
    shape |= {"swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128, "attention_chunk_size": 128}
    found = model(shape)
    assert kv.logical(found, 1000, "bf16") == 9 * 4 * 320 * 2 * 1000 + 39 * 8 * 320 * 2 * 128
    gemma = model(config("google/gemma-4-26B-A4B"))
    assert (first(gemma, Full).key_width, first(gemma, Full).kv_heads) == (512, 2)
    assert (first(gemma, Sliding).key_width, first(gemma, Sliding).kv_heads) == (256, 8)


def test_16_keys_that_equal_values_are_kept_twice(model: ModelOf, config: Config):
    """Gemma 4's attention_k_eq_v: vLLM 0.33 loads K's weights for V and keeps both. 5 x 2 x 512 x 2 x 2 B."""
    assert config("google/gemma-4-26B-A4B")["text_config"]["attention_k_eq_v"] is True
    assert a_token(model(config("google/gemma-4-26B-A4B"))) == 20_480


def test_17_an_index_takes_132_bytes_where_there_is_one(model: ModelOf, config: Config, out: Any):
    found = model(config("deepseek-ai/DeepSeek-V3.2"))
    assert kv.marginal(found, FAR, "bf16") - 70_272 == 61 * 132
    assert kv.marginal(found, FAR, formats.stored(found, "fp8")) == 61 * (656 + 132)
    assert layers(model(config("zai-org/GLM-5.2")), Indexer) == 21
    assert layers(model(config("zai-org/GLM-5.2", indexer_types=out)), Indexer) == 21  # by index_topk_freq, offset 3
    letters = "".join("F" if layer % 3 == 0 else "S" for layer in range(78))
    changed = config("zai-org/GLM-5.2", indexer_types=out, index_topk_pattern=letters)
    assert layers(model(changed), Indexer) == 26


def test_17_index_topk_changes_no_bytes_and_index_kpool_divides_them(model: ModelOf, config: Config):
    pooled = first(model(config("zai-org/GLM-5.3-Flash")), Indexer)
    assert (pooled.layers, pooled.pool) == (11, 4)
    assert kv.group_bytes(pooled, 4096, "bf16") == 11 * 132 * 1024
    wide, narrow = (model(config("deepseek-ai/DeepSeek-V3.2", index_topk=each)) for each in (64, 2048))
    assert a_token(wide) == a_token(narrow)


def test_18_minimax_m3_keeps_everything_and_an_index_vector_too(model: ModelOf):
    """60 layers x 4 x 128 x 2 x 2 B = 122,880, and 57 x 128 x 2 B = 14,592."""
    sparse = {"use_sparse_attention": True, "sparse_index_dim": 128, "sparse_num_index_heads": 4}
    file = {"model_type": "minimax_m3", "hidden_size": 6144, "num_hidden_layers": 60, "num_attention_heads": 64}
    file |= {"num_key_value_heads": 4, "head_dim": 128}
    file |= {"sparse_attention_config": sparse | {"sparse_attention_freq": [0] * 3 + [1] * 57}}
    assert a_token(model(file)) == 122_880 + 14_592


def test_19_deepseek_v4_compresses_and_ratio_0_has_a_window_only(model: ModelOf, config: Config):
    """Flash: 43 layers, the first two with a window only; 21 x (512 + 128) / 4 + 20 x 512 / 128 = 3,440 elements."""
    found = model(config("deepseek-ai/DeepSeek-V4-Pro"))
    assert (sum(group.layers for group in found.groups), found.mtp[0].layers) == (61, 1)  # the last ratio is a draft's
    ratios = [0, 0] + [4, 128] * 20 + [4, 0]
    flash = model(config("deepseek-ai/DeepSeek-V4-Pro", num_hidden_layers=43, compress_ratios=ratios))
    assert a_token(flash) == 3440 * 2
    window = next(group for group in flash.groups if isinstance(group, Compressed) and group.ratio == 0)
    assert kv.group_bytes(window, 10_000, "bf16") == 2 * 512 * 2 * 128
    assert kv.state_bytes(window) == 0


def test_20_mamba_2_has_its_own_width_and_many_spellings(model: ModelOf, config: Config):
    """Nemotron-3-Nano: 64 heads x 64 = 4,096, and not 2 x 2,688 = 5,376; (4,096 + 2 x 8 x 128) x 3, 64 x 64 x 128."""
    state = first(model(config("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")), Recurrent)
    assert (state.heads * state.value_width, state.conv_channels, state.conv_kernel) == (4096, 6144, 4)
    assert kv.state_bytes(state) == 23 * (6144 * 3 * 2 + 64 * 64 * 128 * 4)
    granite = first(model(config("ibm-granite/granite-4.0-h-small")), Recurrent)
    assert kv.state_bytes(granite) == 36 * ((8192 + 2 * 128) * 3 * 2 + 8192 * 128 * 2)


@pytest.mark.parametrize(
    ("name", "bytes_each"),
    [("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 4),  # mamba_ssm_cache_dtype
     ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", 4),  # not in the file: vLLM's default for Nemotron-H
     ("Qwen/Qwen3.5-27B", 4),  # mamba_ssm_dtype
     ("Qwen/Qwen3-Next-80B-A3B-Instruct", 2),  # not in the file: the model's dtype
     ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 4)],  # KDA: FP32
)  # fmt: skip
def test_21_the_dtype_of_the_state_decides_twofold(name: str, bytes_each: int, model: ModelOf, config: Config):
    assert first(model(config(name)), Recurrent).state_bytes == bytes_each


def test_21_a_dtype_that_is_not_in_the_file_is_said(imported: Callable[..., Imported], config: Config):
    said = imported(config("Qwen/Qwen3-Next-80B-A3B-Instruct")).assumed
    assert any("the state's dtype is not in the file" in each and "SGLang keeps FP32" in each for each in said)
    with pytest.raises(UserError, match="mamba_ssm_cache_dtype: 'float13' is not a dtype"):
        imported(config("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", mamba_ssm_cache_dtype="float13"))


def test_22_the_last_layers_share_and_the_kinds_are_counted_among_the_rest(model: ModelOf, config: Config):
    found = model(config("google/gemma-3n-E4B"))
    assert (layers(found, Full), layers(found, Sliding), layers(found, Shared)) == (4, 16, 15)
    assert layers(model(config("google/gemma-4-E2B")), Shared) == 20


def test_23_a_share_factor_shares_nothing_unless_it_is_used(model: ModelOf, config: Config):
    assert config("tencent/Hunyuan-A13B-Instruct")["cla_share_factor"] == 2
    assert kinds_of(model(config("tencent/Hunyuan-A13B-Instruct"))) == {"full": 32}
    assert kinds_of(model(config("tencent/Hunyuan-A13B-Instruct", use_cla=True))) == {"full": 16, "shared": 16}


def test_24_zamba_2_keeps_kv_wherever_its_shared_block_stands_and_a_state_everywhere(model: ModelOf):
    """Zamba2-2.7B: 9 x 32 heads x 160 x 2 x 2 B = 184,320 B a token; 54 states of 80 x 64 x 64."""
    file = {"model_type": "zamba2", "hidden_size": 2560, "num_hidden_layers": 54, "num_attention_heads": 32}
    file |= {
        "num_key_value_heads": 32,
        "attention_head_dim": 160,
        "hybrid_layer_ids": [6, 12, 18, 24, 30, 36, 42, 47, 51],
    }
    file |= {"n_mamba_heads": 80, "mamba_headdim": 64, "mamba_d_state": 64, "mamba_d_conv": 4, "mamba_ngroups": 1}
    found = model(file | {"mamba_expand": 2})
    assert a_token(found) == 184_320
    assert (layers(found, Recurrent), first(found, Recurrent).heads) == (54, 80)


@pytest.mark.parametrize(
    ("name", "entry", "count"),
    [("deepseek-ai/DeepSeek-V3", "num_nextn_predict_layers", 1), ("Qwen/Qwen3.5-27B", "mtp_num_hidden_layers", 1),
     ("MiniMaxAI/MiniMax-M2.5", "num_mtp_modules", 3), ("zai-org/GLM-5.2", "num_nextn_predict_layers", 1),
     ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "mtp_layers_block_type", 1)],
)  # fmt: skip
def test_25_draft_layers_are_kept_apart_whatever_they_are_called(
    name: str, entry: str, count: int, model: ModelOf, config: Config, out: Any
):
    found = model(config(name))
    assert found.mtp[0].layers == count
    without = model(config(name, num_nextn_predict_layers=out, **({} if "next" in entry else {entry: out})))
    assert without.groups == found.groups  # the logical bytes are without them
    assert kv.logical(found, 4096, "bf16") == kv.logical(without, 4096, "bf16")


def test_25_a_draft_of_deepseek_v3_keeps_1152_bytes_a_token(model: ModelOf, config: Config):
    assert kv.token_bytes(model(config("deepseek-ai/DeepSeek-V3")).mtp[0], "bf16") == 1152
    assert kv.token_bytes(model(config("MiniMaxAI/MiniMax-M2.5")).mtp[0], "bf16") == 3 * 4096


@pytest.mark.parametrize(
    ("scheme", "found"),
    [({"num_bits": 8, "type": "float"}, "fp8"), ("FP8", "fp8"), (None, None), ({"num_bits": 8, "type": "int"}, "int8")],
)
def test_26_the_checkpoint_may_say_its_kv_format(scheme: object, found: str | None, model: ModelOf, config: Config):
    quantisation = {"quant_method": "compressed-tensors", "kv_cache_scheme": scheme}
    made = model(config("Qwen/Qwen3-32B", quantization_config=quantisation))
    assert made.kv_cache == found
    assert formats.stored(made, "auto") == (found or "bf16")


def test_26_the_file_beside_it_may_say_it(model: ModelOf, imported: Callable[..., Imported], config: Config):
    quant = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    made = model(config("deepseek-ai/DeepSeek-V3.2"), quant=quant)
    assert (made.kv_cache, made.checkpoint, formats.stored(made, "auto")) == ("fp8", "nvfp4", "fp8_ds_mla")
    quant["quantization"]["kv_cache_quant_algo"] = None  # type: ignore[index]
    assert model(config("Qwen/Qwen3-32B"), quant=quant).kv_cache is None
    quant["quantization"]["kv_cache_quant_algo"] = "FP7"  # type: ignore[index]
    with pytest.raises(UserError, match="kv_cache_quant_algo: 'FP7' is not a KV format known here"):
        imported(config("Qwen/Qwen3-32B"), quant=quant)


def test_26_deepseek_v4_is_kept_in_fp8_when_engines_choose(model: ModelOf, config: Config):
    """vLLM 0.33 deepseek_v4/attention.py."""
    assert formats.stored(model(config("deepseek-ai/DeepSeek-V4-Pro")), "auto") == "fp8_ds_mla"


def test_27_formats_with_scales_inside_hold_for_imported_models_too(model: ModelOf, config: Config):
    found = model(config("meta-llama/Meta-Llama-3-8B"))  # 32 layers x 8 x 2 vectors of 128
    assert kv.marginal(found, FAR, "nvfp4") == 512 * 72
    assert kv.marginal(found, FAR, "fp8_per_token_head") == 512 * 132


def test_28_cross_attention_is_constant_for_a_request(model: ModelOf, config: Config):
    found = model(config("openai/whisper-large-v3"))
    assert kv.logical(found, 2, "bf16") - kv.logical(found, 1, "bf16") == 163_840
    assert kinds_of(found) == {"full": 32, "cross": 32}


def test_29_the_number_of_layers_may_be_missing_and_two_numbers_are_refused(
    model: ModelOf, imported: Callable[..., Imported], config: Config
):
    name = "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"
    assert "num_hidden_layers" not in config(name)
    assert sum(group.layers for group in model(config(name)).groups) == 108
    with pytest.raises(UserError, match="num_hidden_layers is 50, and 108 blocks are listed"):
        imported(config(name, num_hidden_layers=50))


def test_30_a_bare_infinity_is_read_and_a_conflict_marker_is_not(model: ModelOf):
    text = '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,\n'
    found = reading.parsed(text + '"time_step_limit": [0.0, Infinity]}', "config.json")
    assert a_token(model(found)) == 2 * 64 * 2 * 2
    with pytest.raises(UserError, match=r"config.json: line 2: has an unresolved git conflict"):
        reading.parsed(text + "<<<<<<< HEAD\n}", "config.json")


def test_30_experts_and_dense_blocks_hold_nothing(model: ModelOf, config: Config):
    file = config("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    assert len(file["hybrid_override_pattern"]) == 52
    assert kinds_of(model(file)) == {"full": 6, "recurrent": 23, "none": 23}


def test_31_the_context_is_not_always_max_position_embeddings(model: ModelOf, config: Config):
    assert model(config("CohereForAI/c4ai-command-r-v01")).context == 131_072  # model_max_length
    assert model(config("stepfun-ai/step3")).context == 65_536  # max_position_embedding
    assert model(config("EleutherAI/gpt-j-6b")).context == 2048  # n_positions
    assert model(config("Qwen/Qwen3-8B")).context == 40_960  # 32k and 8k; 128k with YaRN, which the user turns on
    assert model(config("mistralai/Mamba-Codestral-7B-v0.1")).context is None


def test_32_sinks_are_no_tokens_unless_they_are(model: ModelOf, imported: Callable[..., Imported], config: Config):
    """gpt-oss and MiMo learn a bias; openPangu keeps real tokens (vLLM's SinkFullAttentionSpec) and is refused."""
    file = config("openai/gpt-oss-120b") | {"add_swa_attention_sink_bias": True}
    assert a_token(model(file)) == 36_864
    with pytest.raises(UserError, match="param_sink_number"):
        imported(config("meta-llama/Meta-Llama-3.1-8B", param_sink_number=128))


def packed(bits: int, kind: str) -> dict[str, Any]:
    return {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": bits, "type": kind}}}}


@pytest.mark.parametrize(
    ("quantisation", "found"),
    [
        (None, "bf16"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "mixed"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_algo": "MIXED_PRECISION"}, "mixed"),
        (packed(8, "float"), "fp8"),
        (packed(4, "int"), "int4"),
        (packed(4, "float"), "nvfp4"),
    ],
)  # fmt: skip
def test_26_the_format_of_the_weights_has_many_spellings(
    quantisation: dict[str, Any] | None, found: str, model: ModelOf, config: Config
):
    assert model(config("Qwen/Qwen3-8B", quantization_config=quantisation)).checkpoint == found


def test_a_file_as_transformers_5_writes_it_is_the_same(model: ModelOf, config: Config, out: Any):
    """Gemma 4's other heads as per_layer_config, Kimi Linear's widths at the top, as transformers 5.24 saves them."""
    gemma = config("google/gemma-4-26B-A4B", global_head_dim=out, num_global_key_value_heads=out)
    full = [at for at, kind in enumerate(gemma["text_config"]["layer_types"]) if kind == F]
    gemma["text_config"]["per_layer_config"] = {f"{at:02}": {"head_dim": 512, "num_key_value_heads": 2} for at in full}
    assert model(gemma).groups == model(config("google/gemma-4-26B-A4B")).groups
    kimi = config("moonshotai/Kimi-Linear-48B-A3B-Instruct")
    inside = kimi.pop("linear_attn_config")
    chosen = set(inside["full_attn_layers"])
    kimi |= {"layer_types": [F if layer in chosen else L for layer in range(1, 28)], "linear_num_heads": 32}
    kimi |= {"linear_head_dim": 128, "linear_conv_kernel_dim": 4}
    assert model(kimi).groups == model(config("moonshotai/Kimi-Linear-48B-A3B-Instruct")).groups


def test_query_heads_of_their_own_keep_the_same_kv(model: ModelOf):
    """Laguna and Step-3.7: 48 and 64 query heads on the same 8 KV heads."""
    file = SMALL | {"model_type": "laguna", "num_hidden_layers": 4, "layer_types": [F, S, S, S], "sliding_window": 8}
    found = model(file | {"num_attention_heads": 4, "num_attention_heads_per_layer": [4, 8, 8, 8]})
    assert [(group.kind, group.heads, group.kv_heads) for group in found.groups] == [("full", 4, 2), ("sliding", 8, 2)]


def test_drafts_at_the_end_of_the_list_of_layers_are_told_apart(model: ModelOf):
    """Step-3.5: layer_types has the draft layers behind the others."""
    file = SMALL | {"model_type": "step3p5", "num_hidden_layers": 2, "num_nextn_predict_layers": 1, "sliding_window": 8}
    found = model(file | {"layer_types": [F, S, S]})
    assert (kinds_of(found), [group.kind for group in found.mtp]) == ({"full": 1, "sliding": 1}, ["sliding"])


def test_a_deepseek_v2_without_latent_widths_is_plain_attention(model: ModelOf):
    """DeepSeek-OCR's language model: 12 layers x 10 heads x 128 x 2 x 2 B = 61,440 B a token (vLLM: use_mha)."""
    file = {"model_type": "deepseek_v2", "hidden_size": 1280, "num_hidden_layers": 12, "num_attention_heads": 10}
    file |= {"num_key_value_heads": 10, "kv_lora_rank": None, "q_lora_rank": None, "v_head_dim": 0, "use_mla": False}
    assert a_token(model(file | {"qk_nope_head_dim": 0, "qk_rope_head_dim": 0})) == 61_440
