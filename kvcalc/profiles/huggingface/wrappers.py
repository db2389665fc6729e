"""Files around that of a language model: which types keep its KV and nothing else, and whether the levels agree."""

from kvcalc.errors import UserError, printable, shown
from kvcalc.profiles.huggingface import defaults, unread

Document = dict[str, object]

INSIDE = ("text_config", "llm_config", "language_config", "thinker_config", "language_model_config")
# Images, sound and video become tokens of the language model: only it keeps keys and values.
_NAMES = """
Llama_Nemotron_Nano_VL Llama_Nemotron_VL NemotronH_Nano_VL NemotronH_Nano_VL_V2 audioflamingo3 aya_vision blip-2
cohere2_vision deepseek_vl deepseek_vl_hybrid deepseek_vl_v2 ernie4_5_vl_moe exaone4_5 fast_vlm fun_asr_nano
fuyu gemma3 gemma3n gemma4 glm46v glm4v glm4v_moe glm5_next glmasr got_ocr2 granite_speech granite_speech_plus
h2ovl_chat hyperclovax_vision_v2 hyperclovax_vlm idefics2 idefics3 instructblip instructblipvideo interns1
internvl internvl_chat janus kimi_k25 kimi_k3 kimi_vl lfm2_vl lighton_ocr llama4 llava llava_next
llava_next_video llava_onevision minicpm_ocr minicpmv4_6 minicpmv4_7 minimax_m3_vl minimax_vl_01 mistral3
moss_transcribe_diarize multi_modality musicflamingo nemo_speechlm nemotron_h_omni ovis ovis2 paligemma
perception_lm pp_chart2table qianfan_ocr qwen2_5_omni qwen2_5_omni_thinker qwen2_5_vl qwen2_audio qwen2_vl
qwen3_5 qwen3_5_moe qwen3_asr qwen3_omni_moe qwen3_omni_moe_thinker qwen3_vl qwen3_vl_moe shieldgemma2
skywork_chat smolvlm step3_vl step3p7 ultravox vibevoice_asr video_llama_3 video_llava vipllava voxtral
"""
KNOWN = frozenset(_NAMES.split())
_SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
_OTHER_MODELS = ("vision", "audio", "image", "video", "mm_", "projector", "media", "acoustic", "use_unified_vision")
# Entries of these types that are those of another part: a projector, an encoder.
_ELSEWHERE = {("granite_speech", "window_size"), ("granite_speech_plus", "window_size"), ("ovis2", "hidden_size")}
_ELSEWHERE |= {("musicflamingo", "head_dim")}


def inside(document: Document, where: str) -> tuple[str, Document] | None:
    """The language model's configuration with the path to it, or None.

    Raises UserError for two of them, and for levels that disagree.
    """
    found = [key for key in INSIDE if isinstance(document.get(key), dict) and document[key]]
    if len(found) > 1:
        raise UserError(f"{where}: has {found[0]} and {found[1]}; which of them generates isn't known here")
    empty = [key for key in INSIDE if document.get(key) == {}]
    if not found:
        return (empty[0], {}) if empty else None
    value = document[found[0]]
    assert isinstance(value, dict)
    agree(document, value, found[0], where)
    deeper = inside(value, f"{where}: {found[0]}")
    return (f"{found[0]}: {deeper[0]}", deeper[1]) if deeper and deeper[1] else (found[0], value)


def agree(outer: Document, inner: Document, path: str, where: str) -> None:
    """Raise UserError for a field of the language model that the file around it has with another value."""
    usual = defaults.of(str(inner.get("model_type")))
    for name, value in outer.items():
        if name in INSIDE or isinstance(value, dict) or name.startswith(_OTHER_MODELS):
            continue
        matters = name in _SIZES or unread.tells(name, value)
        if not matters or unread.off(name, outer) or (outer.get("model_type"), name) in _ELSEWHERE:
            continue
        found = inner.get(name, usual.get(name))
        if found != value:
            said = f"{shown(found)} in {path}" if found is not None else f"it is not in {path}"
            raise UserError(
                f"{where}: {printable(name)}: {shown(value)} around the language model, {said}; they disagree"
            )
