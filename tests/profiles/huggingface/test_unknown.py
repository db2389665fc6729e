"""What is not known is refused by the names of its fields: unread entries, wrappers, levels and formats."""

from collections.abc import Callable
from typing import Any

import pytest

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface.importer import Imported
from kvcalc.profiles.model import Full, Indexer, Latent, Model, Recurrent

ModelOf = Callable[..., Model]
Import = Callable[..., Imported]
Config = Callable[..., dict[str, Any]]

LLAMA = "meta-llama/Meta-Llama-3.1-8B"


def latest(model: Model, kind: type) -> Any:
    return next(group for group in model.groups if isinstance(group, kind))


@pytest.mark.parametrize("entry", [
    {"cla_share_factor": 2}, {"interleaved_sliding_window": 4096}, {"sliding_window_layers": [0, 1]},
    {"global_attn_every_n_layers": 4}, {"dense_attention_every_n_layers": 2}, {"local_attention_window": 512},
    {"attention_window": [512]}, {"use_mla": True}, {"qk_rope_head_dim": 64}, {"q_lora_rank": 512},
    {"mamba_n_heads": 32}, {"mamba_num_heads": 16}, {"linear_key_head_dim": 128}, {"num_kv_layers": 16},
    {"kv_share_layers": [1]}, {"num_self_decoder_layers": 16}, {"total_ut_steps": 4}, {"encoder_layers": 4},
    {"decoder_layers": 8}, {"kv_cache_dtype": "fp8"}, {"mixer_types": ["lightning-attn"]}, {"yoco": True},
    {"chunk_size": 512}, {"conv_kernel": 4}, {"attention_sink_size": 64}, {"sparse_config": {"topk": 64}},
    {"attention_type": "mla"}, {"layer_pattern": "LG"}, {"cache_implementation": "sliding_window"},
])  # fmt: skip
def test_an_entry_whose_words_tell_of_the_cache_is_refused(entry: dict[str, Any], imported: Import, config: Config):
    """None of them is in a list of names: the words in them say it."""
    (name,) = entry
    with pytest.raises(UserError, match=f"{name}: .* changes what is kept, and 'llama' isn't known to have it"):
        imported(config(LLAMA, **entry))


@pytest.mark.parametrize("entry", [
    {"kv_cache_dtype": None}, {"sliding_window_size": 0}, {"use_mla": False}, {"mixer_types": []},
    {"encoder_layers": 0}, {"cla_share_factor": 1}, {"total_ut_steps": 1}, {"use_cache": True},
    {"cache_implementation": "hybrid"}, {"decoder_start_token_id": 2}, {"max_window_layers": 28},
    {"sliding_window": 4096, "use_sliding_window": False}, {"cla_share_factor": 2, "use_cla": False},
    {"attn_implementation": "eager"}, {"qkv_bias": True}, {"num_nextn_predict_layers": 0},
])  # fmt: skip
def test_neutral_values_and_names_pass(entry: dict[str, Any], imported: Import, config: Config):
    assert imported(config(LLAMA, **entry)).document == imported(config(LLAMA)).document


@pytest.mark.parametrize(("name", "entries"), [
    ("google/gemma-3-27b-it", {"rope_local_base_freq": 10000.0, "cache_implementation": "hybrid"}),
    ("ai21labs/AI21-Jamba-1.5-Large", {"mamba_inner_layernorms": True, "use_mamba_kernels": True}),
    ("tencent/Hunyuan-A13B-Instruct", {"use_mla": False, "kv_lora_rank": 512, "q_lora_rank": 1536,
                                       "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}),
    ("Qwen/Qwen2.5-7B", {"dual_chunk_attention_config": {"chunk_size": 262144}}),
    ("meta-llama/Meta-Llama-3.1-8B", {"pre_allocate_kv_cache": True, "pad_key_length": True}),
    ("MiniMaxAI/MiniMax-M1-80k", {"linear_attn_alpha_factor": 3.55, "layernorm_linear_attention_alpha": 3.55}),
])  # fmt: skip
def test_entries_of_published_files_that_change_nothing_pass(
    name: str, entries: dict[str, Any], imported: Import, config: Config
):
    assert imported(config(name, **entries)).document["groups"] == imported(config(name)).document["groups"]


@pytest.mark.parametrize("outer", [
    {"model_type": "flamingo", "cross_attn_every_n_layers": 4}, {"model_type": "our_own_vlm"}, {"model_type": None},
])  # fmt: skip
def test_an_unknown_wrapper_is_refused(outer: dict[str, Any], imported: Import, config: Config):
    with pytest.raises(UserError, match=r"around 'llama' is not known here: whether it keeps more|cross_attn_every"):
        imported(outer | {"text_config": config(LLAMA)})
    assert imported({"model_type": "llava", "text_config": config(LLAMA)})


@pytest.mark.parametrize(("entry", "value"), [("is_encoder_decoder", True), ("add_cross_attention", True),
    ("cross_attn_every_n_layers", 4), ("is_causal", False), ("use_bidirectional_attention", True),
    ("sliding_window", 1024), ("kv_lora_rank", 512)])  # fmt: skip
def test_a_wrapper_that_says_more_of_the_cache_is_refused(entry: str, value: object, imported: Import, config: Config):
    with pytest.raises(UserError, match=f"{entry}: {value}"):
        imported({"model_type": "llava", entry: value, "text_config": config(LLAMA)})


def test_levels_that_disagree_are_refused_with_both(imported: Import, config: Config):
    inner = config(LLAMA) | {"model_type": "qwen2_vl_text"}
    file = inner | {"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"]}
    assert imported(file | {"text_config": inner})
    off = {"use_sliding_window": False}
    assert imported(file | off | {"sliding_window": 32768, "text_config": inner | off | {"sliding_window": None}})
    with pytest.raises(UserError, match="num_hidden_layers: 32 around the language model, 64 in text_config; they dis"):
        imported(file | {"text_config": inner | {"num_hidden_layers": 64}})
    left_out = {"model_type": "gemma2", "num_hidden_layers": 26, "num_attention_heads": 8}  # Gemma2Config: 2,304 wide
    assert imported({"model_type": "paligemma", "hidden_size": 2304, "text_config": left_out})
    with pytest.raises(UserError, match="hidden_size: 2048 around the language model, 2304 in text_config"):
        imported({"model_type": "paligemma", "hidden_size": 2048, "text_config": left_out})
    deep = {"text_config": config(LLAMA) | {"text_config": config(LLAMA, num_hidden_layers=3)}}
    with pytest.raises(UserError, match="text_config: num_hidden_layers: 32 around the language model, 3 in text"):
        imported({"model_type": "llava"} | deep)


def test_two_language_models_are_refused_with_both(imported: Import, config: Config):
    with pytest.raises(UserError, match="has text_config and llm_config; which of them generates isn't known"):
        imported({"model_type": "llava", "text_config": config(LLAMA), "llm_config": config(LLAMA)})


@pytest.mark.parametrize(("quantised", "found"), [
    ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}, "kv_cache_quant_algo": "FP8"}, "fp8"),
    ({"quant_method": "modelopt", "quantization": {"kv_cache_quant_algo": "FP8"}}, "fp8"),
    ({"quant_method": "quark", "export": {"kv_cache_group": [], "min_kv_scale": 1.0}}, None),
    ({"kv_cache_scheme": None}, None), ({"kv_cache_scheme": []}, None),
])  # fmt: skip
def test_the_kv_format_is_read_wherever_it_stands(
    quantised: dict[str, Any], found: str | None, imported: Import, config: Config
):
    assert imported(config(LLAMA, quantization_config=quantised)).document.get("kv_cache") == found


@pytest.mark.parametrize("quantised", [{"kv_cache_scheme": 8}, {"kv_cache_scheme": True}, {"kv_cache_scheme": {}},
    {"kv_cache_scheme": [{"num_bits": 8, "type": "float"}]}, {"kv_cache_quant_algo": ["FP8"]},
    {"quant_method": "quark", "export": {"kv_cache_group": ["*k_proj"]}}, {"kv_cache_quant_config": {"*k_proj": {}}},
    {"kv_cache_scheme": {"num_bits": 8, "type": "int"}, "kv_cache_quant_algo": "FP8"}])  # fmt: skip
def test_a_kv_format_that_is_not_known_is_never_taken_for_none(
    quantised: dict[str, Any], imported: Import, config: Config
):
    with pytest.raises(UserError, match="kv_cache"):
        imported(config(LLAMA, quantization_config=quantised))


def test_a_compression_config_beside_another_is_read(imported: Import, config: Config):
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    file = config(LLAMA, quantization_config={"quant_method": "fp8"}, compression_config=scheme)
    assert imported(file).document["kv_cache"] == "fp8"


@pytest.mark.parametrize("entry", [{"draft_vocab_size": 32000}, {"eagle_config": {"x": 1}}])
def test_the_head_of_a_draft_is_refused(entry: dict[str, Any], imported: Import, config: Config):
    with pytest.raises(UserError, match="is that of a draft model"):
        imported(config(LLAMA, num_hidden_layers=1, **entry))


def test_a_window_that_is_switched_off_and_listed_is_refused(imported: Import, config: Config):
    """Qwen2Config makes the window None and leaves layer_types as they are."""
    file = config("Qwen/Qwen3-8B", sliding_window=4096, layer_types=["sliding_attention"] * 36)
    for switch in ({"use_sliding_window": False}, {}):
        with pytest.raises(UserError, match="lists sliding layers, and use_sliding_window is false"):
            imported(file | switch)
    assert imported(file | {"use_sliding_window": True}).document["groups"][0]["kind"] == "sliding"


@pytest.mark.parametrize("entry", ["num_mtp_modules", "mtp_transformer_layers"])
def test_numbers_of_layers_are_bounded_before_a_list_is_made(entry: str, imported: Import, config: Config):
    with pytest.raises(UserError, match="000,000,000 layers are more than any model has"):
        imported(config("MiniMaxAI/MiniMax-M2.5", **{entry: 10**9}))


def test_a_block_without_attention_is_named_by_its_number(imported: Import, config: Config):
    file = config("nvidia/Llama-3_3-Nemotron-Super-49B-v1")
    blocks = [*file["block_configs"][:-1], {"attention": [1]}]
    with pytest.raises(UserError, match=f"block_configs.{len(blocks) - 1}: attention: .1. is not an object"):
        imported(file | {"block_configs": blocks})


LING: dict[str, Any] = {
    "model_type": "bailing_hybrid", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
    "head_dim": 128, "layer_group_size": 8, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 157184, "intermediate_size": 18432,
}  # fmt: skip


def test_ling_2_5_is_lightning_and_ling_3_kimi_delta(model: ModelOf, imported: Import):
    """vLLM 0.33 bailing_moe_linear.py: linear_attention_state_shape, in the model's dtype; 7 of 8 layers of 80."""
    file = LING | {"architectures": ["BailingMoeV2_5ForCausalLM"]}
    found = latest(model(file), Recurrent)
    assert (found.rule, found.layers, found.heads, found.key_width, found.value_width) == (
        "lightning",
        70,
        64,
        128,
        128,
    )
    assert (found.conv_kernel, found.state_bytes, latest(model(file), Latent).layers) == (0, 2, 10)
    assert "the state's dtype is not in the file: the model's dtype, vLLM's default; SGLang keeps FP32" in (
        imported(file).assumed
    )
    three = LING | {"architectures": ["BailingMoeV3ForCausalLM"], "short_conv_kernel_size": 4}
    found = latest(model(three), Recurrent)
    assert (found.rule, found.conv_kernel, found.state_bytes) == ("kimi-delta", 4, 4)


def test_ling_without_an_architecture_or_with_part_of_a_group_is_refused(imported: Import):
    """vLLM makes the layers after the last whole group linear, mlx-lm gives them attention."""
    with pytest.raises(UserError, match="which linear attention it has isn't known"):
        imported(LING)
    with pytest.raises(UserError, match="layer_group_size: 8: 83 layers end in part of a group"):
        imported(LING | {"architectures": ["BailingMoeV2_5ForCausalLM"], "num_hidden_layers": 83})


def test_glm_5_next_pools_by_its_text_class_whatever_it_is_called(
    model: ModelOf, imported: Import, config: Config, out: Any
):
    """Glm5NextTextConfig: index_kpool 16."""
    file = config("zai-org/GLM-5.3-Flash", index_kpool=out)
    for name in ("glm5_next", "glm5_next_text"):
        assert latest(model(file | {"model_type": name}), Indexer).pool == 16
    assert "index_kpool is not in the file: 16, the default of Glm5NextTextConfig" in imported(file).assumed
    with pytest.raises(UserError, match="index_kpool is missing"):
        imported(config("zai-org/GLM-5.3-Flash", index_kpool=None))


def test_a_latent_model_without_latent_attention_is_refused(imported: Import, config: Config, model: ModelOf):
    with pytest.raises(UserError, match="use_mla: False"):
        imported(config("deepseek-ai/DeepSeek-V3", use_mla=False))
    assert latest(model(config("deepseek-ai/DeepSeek-V3", use_mla=True)), Latent).rank == 512
    assert latest(model(config(LLAMA)), Full).layers == 32
