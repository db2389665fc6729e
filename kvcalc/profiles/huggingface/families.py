"""The model types that are known, each with how its layers and its feed-forward blocks are read.

What is not in this table is refused. A class of transformers 5.24.0 or vLLM 0.33.0 stands behind every row.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvcalc.profiles.huggingface import compressed, crossed, experts, grouped, heads, hybrids, kinds, latent, mambas
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.experts import Block, Shape
from kvcalc.profiles.huggingface.grouped import Layers, Sharing, Windowed


@dataclass(frozen=True)
class Family:
    """Model types that keep the same kinds of states."""

    layers: Callable[[Entries], Layers]
    feed_forward: Callable[[Entries, int], list[Block] | None]


GATED = Shape()
PLAIN = Shape(gated=False)
FOUR = Shape(gated=False, four=True)  # null or absent: four times the hidden width
AS_DENSE = Shape(expert=("intermediate_size",))  # an expert's width is intermediate_size
GRANITE = Shape(dense=("shared_intermediate_size", "intermediate_size"), expert=("intermediate_size",))
LLAMA4 = Shape(dense=("intermediate_size_mlp",), expert=("intermediate_size",), always_shared=True)
JAMBA = Shape(dense=("intermediate_size",), expert=("intermediate_size",))
MINIMAX_M3 = Shape(dense=("dense_intermediate_size",), expert=("intermediate_size",))

FULL = Family(grouped.full, GATED)
FULL_PLAIN = Family(grouped.full, PLAIN)
FULL_FOUR = Family(grouped.full, FOUR)
WINDOW = Family(Windowed(kinds.all_sliding), GATED)
WINDOW_EXPERTS = Family(Windowed(kinds.all_sliding), AS_DENSE)
LATENT = Family(latent.layers, GATED)
SPARSE = Family(latent.sparse, GATED)
QWEN = Family(Windowed(kinds.after_first), GATED)
ALTERNATE = Family(Windowed(kinds.every(2)), GATED)
EVERY_4 = Family(Windowed(kinds.every(4, "sliding_window_pattern", "_sliding_window_pattern")), GATED)
EVERY_6 = Family(Windowed(kinds.every(6, "sliding_window_pattern", "_sliding_window_pattern")), GATED)
FIRST_OF_4 = Family(Windowed(kinds.every(4, first=True)), GATED)
UNUSED = Family(Windowed(kinds.unused), GATED)
GATED_DELTA = Family(hybrids.gated_delta, GATED)
KIMI_DELTA = Family(hybrids.kimi_delta, GATED)
FALCON = Family(heads.falcon, FOUR)
CHATGLM = Family(heads.multi_group, GATED)
HUNYUAN = Family(heads.hunyuan, Shape(expert=("moe_intermediate_size", "intermediate_size")))
ENCODED = Family(crossed.bart, experts.unknown)
T5 = Family(crossed.t5, experts.unknown)
V4 = Family(compressed.layers, GATED)
LIGHTNING = Family(hybrids.lightning, AS_DENSE)
M3 = Family(latent.indexed_keys, MINIMAX_M3)
MAMBA1 = Family(mambas.mamba1, lambda *_: [])

_ROWS: dict[str, Family] = {
    # keys and values of all tokens, gated feed-forward blocks
    "llama Yi yi aquila internlm internlm2 internlm3 baichuan orion xverse seed_oss glm glm4 hyperclovax": FULL,
    "stablelm stablelm_epoch granite cohere olmo olmo2 minicpm gemma helium ernie4_5 exaone ernie4_5_moe": FULL,
    "glm4_moe glm4v_moe_text glm4v_text bailing_moe hy_v3 deepseek qwen3_vl_text qwen3_vl_moe_text": FULL,
    "qwen3_omni_moe_text ernie4_5_vl_moe_text iquestcoder bailing_moe_v2 sarvam_moe": FULL,
    "olmoe granitemoe granitemoeshared": Family(grouped.full, GRANITE),
    "dbrx": Family(heads.in_attn_config, experts.dbrx),
    "mpt": Family(heads.in_attn_config, experts.mpt),
    "qwen": Family(heads.channels, experts.unknown),
    "gpt_bigcode": Family(heads.single_query, FOUR),
    "chatglm": CHATGLM,
    "hunyuan hunyuan_v1_dense hunyuan_v1_moe hunyuan_moe": HUNYUAN,
    # the same, with two matrices
    "opt gpt_neox phi persimmon nemotron xglm biogpt arcee apertus": FULL_PLAIN,
    "gptj gpt2 bloom codegen falcon_lg": FULL_FOUR,
    "gpt_neo": Family(Windowed(kinds.neo), FOUR),
    "falcon RefinedWeb RefinedWebModel": FALCON,
    "starcoder2": Family(Windowed(kinds.all_sliding), PLAIN),
    # windows
    "mistral phi3 phi3_v phi4mm ministral ministral3": WINDOW,
    "mixtral phimoe": WINDOW_EXPERTS,
    "qwen2 qwen3 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text dots1 mimo": QWEN,
    "qwen2_moe qwen3_moe smollm3": UNUSED,
    "gemma2 vaultgemma": ALTERNATE,
    "gpt_oss": Family(Windowed(kinds.every(2)), AS_DENSE),
    "gemma3_text": EVERY_6,
    "cohere2 olmo3": EVERY_4,
    "cwm granite_swa": FIRST_OF_4,
    "granitemoe_swa": Family(Windowed(kinds.every(4, first=True)), GRANITE),
    "cohere2_moe": Family(Windowed(kinds.only_listed), AS_DENSE),
    "exaone4 exaone_moe": Family(Windowed(kinds.pattern), GATED),
    "afmoe": Family(Windowed(kinds.every(4, "global_attn_every_n_layers")), GATED),
    "step3p5 step3p7 step3p5_text step3p7_text": Family(heads.step, GATED),
    "laguna": Family(heads.laguna, GATED),
    "mimo_v2_flash mimo_v2": Family(grouped.swa, GATED),
    "gemma3n_text": Family(Sharing(kinds.every(5), global_heads=False), experts.unknown),
    "gemma4_text": Family(Sharing(kinds.every(6), global_heads=True), experts.gemma4),
    "llama4_text": Family(grouped.chunked, LLAMA4),
    "step3_text": Family(heads.stated, experts.unknown),  # queries through share_q_dim elements: not counted here
    "nemotron-nas": Family(heads.blocks, experts.nemotron_nas),
    # one latent vector
    "deepseek_v2 deepseek_v3 kimi_k2 glm4_moe_lite mistral4 sarvam_mla pangu_ultra_moe axk1": LATENT,
    "deepseek_v32 glm_moe_dsa": SPARSE,
    "deepseek_v4 deepseek_ref": V4,
    "minimax_m3 minimax_m3_text minimax_m3_vl_text": M3,
    "minimax_m2": Family(hybrids.minimax_m2, AS_DENSE),
    # states of constant size
    "nemotron_h": Family(mambas.nemotron, experts.nemotron),
    "jamba": Family(mambas.jamba, JAMBA),
    "bamba": Family(mambas.bamba, GATED),
    "granitemoehybrid": Family(mambas.granite, GRANITE),
    "falcon_h1": Family(mambas.falcon_h1, GATED),
    "zamba2": Family(mambas.zamba2, experts.unknown),
    "mamba2": Family(mambas.mamba2, lambda *_: []),
    "mamba falcon_mamba": MAMBA1,
    "qwen3_next qwen3_5_text qwen3_5_moe_text": GATED_DELTA,
    "kimi_linear": KIMI_DELTA,
    "glm5_next glm5_next_text": Family(hybrids.sparse_kimi_delta, GATED),
    "bailing_hybrid": Family(hybrids.ling, GATED),
    "minimax_m1 minimax_text_01 minimax": LIGHTNING,
    "lfm2": Family(hybrids.short_convolutions, experts.adjusted),
    "lfm2_moe": Family(hybrids.short_convolutions, GATED),
    # an encoder's output
    "whisper": Family(crossed.whisper, experts.unknown),
    "bart mbart pegasus marian blenderbot blenderbot-small m2m_100 plbart": ENCODED,
    "t5 mt5 umt5": T5,
}
KNOWN = {name: family for names, family in _ROWS.items() for name in names.split()}
ENCODER_DECODER = frozenset(name for name, family in KNOWN.items() if family in (ENCODED, T5)) | {"whisper"}

# Architectures whose name is not that of their model type with an ending.
ARCHITECTURES = {
    "ChatGLM": "chatglm",
    "GPTNeoX": "gpt_neox",
    "GPTJ": "gptj",
    "MarianMT": "marian",
    "BailingMoeV2_5": "bailing_hybrid",
    "BailingMoeV3": "bailing_hybrid",
    "LLaMA": "llama",
    "DeciLM": "nemotron-nas",
    "RW": "falcon",
    "QWen": "qwen",
    "YiForCausalLM": "Yi",
    "MiniMaxText01": "minimax_text_01",
    "MiniMaxM1": "minimax_m1",
    "MiniMaxM3Sparse": "minimax_m3_text",
    "HunYuan": "hunyuan",
    "HunYuanMoEV1": "hunyuan_v1_moe",
    "HunYuanDenseV1": "hunyuan_v1_dense",
    "Step3p7Flash": "step3p7",
    "Step3p5": "step3p5",
    "MiMoV2Flash": "mimo_v2_flash",
    "GptOss": "gpt_oss",
    "BaiChuan": "baichuan",
    "Ernie4_5_Moe": "ernie4_5_moe",
}

# Known, and refused: why, and what engines do.
REFUSED = {
    "longcat_flash": "each of its layers has two attentions, which nobody has verified here",
    "minicpm3": "engines keep its latent attention expanded and padded, which is not known here",
    "mllama": "its cross attention keeps image tokens, whose number the file doesn't say",
    "mllama_text_model": "its cross attention keeps image tokens, whose number the file doesn't say",
    "zamba": "the states of its shared Mamba-1 heads are not known here; Zamba2 is",
    "plamo2": "its states are not known here",
    "recurrent_gemma": "its recurrent states are not known here",
    "rwkv": "its recurrent states are not known here",
    "xlstm": "its recurrent states are not known here",
    "olmo_hybrid": "its recurrent states are not known here",
    "openpangu": "its sinks are real tokens in the cache (vLLM's SinkFullAttentionSpec), not known here",
}
