"""Layers that keep one latent vector a token (MLA), and the index keys of sparse attention (DSA)."""

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface import kinds
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.grouped import KV_HEADS, Layers, State, checked, full, widths

_LETTERS = {"F": "full", "S": "shared"}


def state(entries: Entries, least_rope: int = 1) -> State:
    """A latent layer. num_key_value_heads and head_dim are in the files and mean nothing for the cache."""
    entries.read.update((*KV_HEADS, "head_dim", "qk_head_dim"))
    if entries.has("use_mla") and not entries.flag("use_mla"):
        raise entries.refuse("use_mla", "what it keeps without latent attention is not known here")
    entries.flag("mla_use_nope")  # positions or none: the vector is as wide
    found: State = {
        "kind": "latent",
        "heads": entries.heads(),
        "rank": entries.count("kv_lora_rank"),
        "rope": _rope(entries, least_rope),
        "nope": entries.count("qk_nope_head_dim"),
        "value_width": entries.count("v_head_dim"),
    }
    query = entries.maybe("q_lora_rank")
    return found | ({"query_rank": query} if query else {})


def _rope(entries: Entries, least: int) -> int:
    found = entries.maybe("qk_rope_head_dim", least=least)
    if found is None:
        raise entries.missing("qk_rope_head_dim")
    return found


def layers(entries: Entries) -> Layers:
    """Every layer is latent (DeepSeek-V2, V3, Kimi-K2), unless the latent's widths are 0 (DeepSeek-VL2-Tiny, OCR)."""
    if (entries.document.get("qk_nope_head_dim"), entries.document.get("qk_rope_head_dim")) == (0, 0):
        entries.read.update(("kv_lora_rank", "q_lora_rank", "v_head_dim", "qk_head_dim", "use_mla"))
        entries.read.update(("qk_nope_head_dim", "qk_rope_head_dim"))
        return full(entries)  # vLLM 0.33 deepseek_v2.py: plain multi-head attention
    found, count = state(entries), entries.layers()
    kinds.listed(entries, (kinds.FULL,), count)
    return [[found] for _ in range(count)]


def sparse(entries: Entries) -> Layers:
    """Every layer is latent and attends to a choice of tokens; some choose, with index keys of their own."""
    count = entries.layers()
    kinds.listed(entries, (kinds.FULL,), count)
    chooses = indexers(entries, count)
    found = state(entries) | {"top_k": entries.count("index_topk")}
    return [[found, index(entries)] if own else [found] for own in chooses]


def index(entries: Entries) -> State:
    """The index keys of a layer: FP8 with an FP32 scale whatever the KV format (vLLM 0.33 deepseek_v2.py)."""
    query = entries.maybe("q_lora_rank")
    if query is None:
        raise entries.missing("q_lora_rank")
    found: State = {"kind": "indexer", "heads": entries.count("index_n_heads")}
    found |= {"width": entries.count("index_head_dim"), "query_rank": query, "stored": "scaled-fp8"}
    pool = entries.maybe("index_kpool") or 1
    return found | ({"pool": pool} if pool > 1 else {})


def indexers(entries: Entries, layers: int) -> list[bool]:
    """Does each layer have an indexer of its own? By list, by letters, or by frequency (GlmMoeDsaConfig)."""
    found = _types(entries)
    if found is not None:
        if len(found) != layers or not all(each in ("full", "shared") for each in found):
            raise UserError(f"{entries.where}: indexer_types is not 'full' or 'shared' for each of {layers} layers")
        if found[0] != "full":
            raise entries.refuse("indexer_types", "the first layer has no earlier choice to share")
        return [each == "full" for each in found]
    period = max(entries.or_zero("index_topk_freq"), 1)
    offset = entries.maybe("index_skip_topk_offset", least=0)
    offset = 2 if offset is None else offset
    return [max(layer - offset + 1, 0) % period == 0 for layer in range(layers)]


def _types(entries: Entries) -> list[object] | None:
    found = entries.values("indexer_types")
    pattern = entries.raw("index_topk_pattern")
    entries.read.update(("index_topk_freq", "index_skip_topk_offset"))
    if found is not None or not isinstance(pattern, str | list):
        return found
    return [_LETTERS.get(each, each) if isinstance(each, str) else each for each in pattern]


def indexed_keys(entries: Entries) -> Layers:
    """MiniMax-M3: full keys and values everywhere, and one index vector as wide as a key on the sparse layers.

    vLLM 0.33 models/minimax_m3/common/indexer.py: the index is kept as the KV is.
    """
    count, shape = entries.layers(), checked(entries, widths(entries))
    whole = shape.state(kinds.FULL)
    inside = entries.within("sparse_attention_config")
    if inside is None:
        return _by_word(entries, whole, count)
    if not inside.flag("use_sparse_attention"):
        return [[whole] for _ in range(count)]
    chosen = inside.counts("sparse_attention_freq")
    if chosen is None or len(chosen) != count or not set(chosen) <= {0, 1}:
        raise inside.refuse("sparse_attention_freq", f"is not a 0 or 1 for each of {count} layers")
    key = _key(entries, inside.count("sparse_num_index_heads"), inside.count("sparse_index_dim"))
    return [[whole, key] if each else [whole] for each in chosen]


def _by_word(entries: Entries, whole: State, count: int) -> Layers:
    """The same, as transformers 5 writes it."""
    listed = entries.values("layer_types")
    if listed is None:
        raise entries.missing("sparse_attention_config")
    if len(listed) != count or not all(each in ("full_attention", "minimax_m3_sparse") for each in listed):
        raise entries.refuse(
            "layer_types", f"is not 'full_attention' or 'minimax_m3_sparse' for each of {count} layers"
        )
    key = _key(entries, entries.count("index_n_heads"), entries.count("index_head_dim"))
    return [[whole, key] if each == "minimax_m3_sparse" else [whole] for each in listed]


def _key(entries: Entries, heads: int, width: int) -> State:
    shape: State = {"width": width, "query_rank": entries.hidden(), "stored": "as-kv"}
    return {"kind": "indexer", "heads": heads} | shape
