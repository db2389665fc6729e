"""Entries that change what is kept: one that is set, and that its family has not read, is refused by name."""

import re
from collections.abc import Mapping

from kvcalc.errors import UserError, printable, shown
from kvcalc.profiles.huggingface.entries import Entries

# Words of names that say what is kept: how many keys and values, of which tokens, by which layers, beside what state.
_WORDS = re.compile(
    r"(^|_)(kv|swa|rswa|mla|cla|kda|ssm|yoco|loops?|ut_steps|dt_rank)(_|$)|window|sliding|mamba|lightning|recurren"
    r"|hybrid|mixer|encoder|decoder|draft|head_dim|lora_rank|state_size|d_state|cross_att|^index(er)?_|compress_rat"
    r"|kv_compress|(^|_)chunk|cache|(^|use_)linear_(att|key|value|num|head|conv|layer)|conv_(kernel|l_cache|size)"
    r"|(^|_)sinks?(_|$)|block_?sparse|sparse_(att|config|block)|(att[a-z]*|layers?)_(type|pattern)|layers?_block_type|block_configs"
    r"|(att|attention|attn|dense|full|local|global)_.*(every|interval|period)|local_att|global_att|layer_group"
    r"|rope_layers|(attn|attention)_layer|full_attn_idxs|share_(factor|layer)|shared_layer|share_kv|latent_(att|dim)"
)
# Names without such a word, of the kinds that are known; and how many experts, since parameters are counted by it.
_NAMES = frozenset((
    "attn_type_list", "linear_attn_config", "index_topk", "sparse_attention_config", "full_attention_interval",
    "num_attention_heads_per_layer", "attention_other_setting", "per_layer_config", "attn_config", "multi_query",
    "multi_query_attention", "new_decoder_architecture", "num_experts", "n_routed_experts", "num_local_experts",
    "moe_num_experts", "global_head_dim", "num_global_key_value_heads", "swa_num_key_value_heads",
))  # fmt: skip
# Names with such a word that say how something is computed, trained or stored elsewhere, in the files of any family.
_HARMLESS = re.compile(
    r"^(use_cache|use_kv_cache|pre_allocate_kv_cache|dual_chunk_attention_config|cache_dir|chunk_size_feed_forward|is_decoder|decoder_start_token_id|tie_encoder_decoder"
    r"|encoder_no_repeat_ngram_size|decoder_sparse_step|max_window_layers|no_rope_layer_interval|moe_layer_types"
    r"|mlp_layer_types|mtp_.*|moe_decoder_.*|activation_sparsity_pattern|index_share_for_mtp_iteration"
    r"|indexer_rope_interleave|index_kpool_always_select_tail|index_block_size|index_local_blocks|index_topk_blocks"
    r"|seconds_per_chunk|use_decoder_only_language_model|mla_use_output_gate|kda_safe_gate|kda_lower_bound|no_kda_lora|compress_rope_theta|ssm_(in|out)_multiplier"
    r"|ssm_multipliers|layernorm_(linear|full)_attention_(alpha|beta)|(linear|full)_attn_(alpha|beta)_factor|mixer_rms_eps|share_encoder_decoder_embeddings"
    r"|use_mamba_?(kernels|py)|mamba_(hidden_act|rms_norm|norm_before_gate|chunk_size|bias)|decoder_bos_token_id"
    r"|tie_word_embeddings_decoder|.*_bias|rope_(local|global)_.*|.*rope_theta|.*rotary.*|.*_rope_parameters|.*layerdrop|.*dropout.*)$"
)
# What transformers' own caches do: engines have theirs. "sliding_window" is refused, since layers would slide.
_CACHES = ("hybrid", "static", "dynamic", "hybrid_chunked", "offloaded", "quantized")
_SWITCHED_OFF = {
    "use_sliding_window": ("sliding_window", "max_window_layers"),
    "use_cla": ("cla_share_factor",),
    "use_mla": (
        "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "qk_head_dim", "v_head_dim",
    ),
}  # fmt: skip


def refuse(entries: Entries) -> None:
    """Raise UserError for an entry that has a meaning for the cache and that nothing read."""
    for name, value in entries.document.items():
        if tells(name, value) and name not in entries.read and not off(name, entries.document):
            known = shown(entries.document.get("model_type"))
            raise UserError(
                f"{entries.where}: {printable(name)}: {shown(value)} changes what is kept, and {known} isn't known to "
                "have it; write a profile (docs/models.md)"
            )


def tells(name: str, value: object) -> bool:
    """Does an entry of this name and value say anything of what is kept?"""
    if value in (None, False, 0, "", [], {}) or (name == "cache_implementation" and value in _CACHES):
        return False
    if name in _NAMES:
        return True
    once = value == 1 and name.endswith(("factor", "ratio", "steps", "loops", "loop", "layer_group_size"))
    return bool(_WORDS.search(name.lower()) and not _HARMLESS.match(name)) and not once


def off(name: str, document: Mapping[str, object]) -> bool:
    """Is it an entry that the file itself switches off?"""
    return any(document.get(switch) is False and name in names for switch, names in _SWITCHED_OFF.items())


def refuse_encoder(entries: Entries) -> None:
    """An embedding model of a decoder's type looks ahead: it keeps nothing. Gemma 4's "vision" is a decoder."""
    if entries.raw("use_bidirectional_attention") in (True, "all"):
        raise entries.refuse("use_bidirectional_attention", "an encoder has no KV cache")
    if entries.document.get("is_causal") is False:
        raise entries.refuse("is_causal", "an encoder has no KV cache")
