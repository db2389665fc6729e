"""DeepSeek-V4: an entry for 4 or 128 tokens, a window on every layer, and the states of the compressors."""

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.grouped import KV_HEADS, Layers, State

SPARSE, HEAVY = 4, 128  # the ratios that vLLM 0.33 models/deepseek_v4 knows; 0 has the window only
_WORDS = {"compressed_sparse_attention": SPARSE, "heavily_compressed_attention": HEAVY, "sliding_attention": 0}


def layers(entries: Entries) -> Layers:
    """What each layer keeps, by compress_ratios or layer_types."""
    return [[state(entries, each)] for each in ratios(entries)[: entries.layers()]]


def ratios(entries: Entries) -> list[int]:
    """The ratio of each layer, then of each draft layer where the file has them."""
    count = entries.layers()
    found = entries.counts("compress_ratios")
    listed = entries.values("layer_types")
    if found is None and listed is not None:
        entries.read.add("compress_rates")
        found = [_WORDS.get(each, -1) if isinstance(each, str) else -1 for each in listed]
    if found is None:
        raise entries.missing("compress_ratios")
    drafts = entries.or_zero("num_nextn_predict_layers")
    if len(found) not in (count, count + drafts) or not set(found) <= {0, SPARSE, HEAVY}:
        raise UserError(
            f"{entries.where}: compress_ratios: {len(found)} entries, {_some(found)}, are not 0, {SPARSE} or {HEAVY} "
            f"for each of {count} layers"
        )
    return found


def _some(found: list[int]) -> str:
    return ", ".join(str(each) for each in sorted(set(found))[:5])


def state(entries: Entries, ratio: int) -> State:
    """A layer of this ratio."""
    entries.read.update(KV_HEADS)
    found: State = {
        "kind": "compressed",
        "heads": entries.heads(),
        "width": entries.count("head_dim"),
        "rope": entries.count("qk_rope_head_dim"),
        "ratio": ratio,
        "window": entries.count("sliding_window"),
        "overlap": ratio == SPARSE,
        "query_rank": entries.count("q_lora_rank"),
        "output_groups": entries.count("o_groups"),
        "output_rank": entries.count("o_lora_rank"),
    }
    index: State = {
        "index_width": entries.count("index_head_dim"),
        "index_heads": entries.count("index_n_heads"),
        "top_k": entries.count("index_topk"),
    }
    return found | (index if ratio == SPARSE else {})
