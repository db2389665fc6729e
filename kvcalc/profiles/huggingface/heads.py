"""Keys and values of all tokens or of a window, where a class has a way of its own to say how many heads."""

from kvcalc.errors import UserError, shown
from kvcalc.profiles.huggingface import kinds
from kvcalc.profiles.huggingface.entries import ABSENT, Entries
from kvcalc.profiles.huggingface.grouped import (
    KV_HEADS,
    Layers,
    State,
    Widths,
    Windowed,
    checked,
    full,
    head_width,
    width_of_window,
    widths,
)


def stated(entries: Entries) -> Layers:
    """Step-3: a file without KV heads is not multi-head attention; its class (vLLM's) has one."""
    if not entries.has(*KV_HEADS):
        raise entries.missing("num_attention_groups")
    return full(entries)


def channels(entries: Entries) -> Layers:
    """Qwen of 2023: kv_channels is the width of a head."""
    return full(entries, "kv_channels")


def falcon(entries: Entries) -> Layers:
    """Falcon: multi_query has one KV head unless the architecture is the new one, whatever num_kv_heads says."""
    heads, width = entries.heads(), head_width(entries)
    given = entries.maybe(*KV_HEADS)
    single = entries.flag("multi_query") and not entries.flag("new_decoder_architecture")
    kv_heads = 1 if single else given or heads
    shape = checked(entries, Widths(heads, kv_heads, width, width))
    return [[shape.state(kinds.FULL)] for _ in range(entries.layers())]


def single_query(entries: Entries) -> Layers:
    """GPT-BigCode: multi_query has one KV head."""
    heads, width = entries.heads(), head_width(entries)
    shape = Widths(heads, 1 if entries.flag("multi_query") else heads, width, width)
    return [[shape.state(kinds.FULL)] for _ in range(entries.layers())]


def multi_group(entries: Entries) -> Layers:
    """ChatGLM: multi_query_group_num holds with multi_query_attention only."""
    if entries.raw("multi_query_attention") is ABSENT:
        raise entries.missing("multi_query_attention")
    heads, width = entries.heads(), head_width(entries, "kv_channels")
    groups = entries.count("multi_query_group_num") if entries.flag("multi_query_attention") else heads
    entries.read.add("multi_query_group_num")
    shape = checked(entries, Widths(heads, groups, width, width))
    return [[shape.state(kinds.FULL)] for _ in range(entries.layers())]


def in_attn_config(entries: Entries) -> Layers:
    """DBRX and MPT: kv_n_heads lies in attn_config."""
    inside = entries.within("attn_config")
    heads = entries.heads()
    kv_heads = inside.maybe("kv_n_heads") if inside else None
    if inside and inside.word("attn_type") == "multiquery_attention":
        kv_heads = 1
    if inside and inside.or_zero("sliding_window_size") > 1:
        raise inside.refuse("sliding_window_size", "windows of MPT are not known here; give a profile")
    width = head_width(entries)
    shape = checked(entries, Widths(heads, kv_heads or heads, width, width))
    return [[shape.state(kinds.FULL)] for _ in range(entries.layers())]


def hunyuan(entries: Entries) -> Layers:
    """Hunyuan: cla_share_factor shares KV between layers with use_cla only."""
    if entries.flag("use_mla"):
        raise entries.refuse("use_mla", "latent attention of this class is not known here; write a profile")
    layers = full(entries, "attention_head_dim")  # vLLM 0.33 models/hunyuan_v1.py
    factor = entries.maybe("cla_share_factor")
    if not entries.flag("use_cla"):
        return layers
    if not factor:
        raise entries.missing("cla_share_factor")
    # The first of each `factor` layers keeps KV, the others read it (Hunyuan-Large, arXiv:2411.02265 section 2.2).
    own = widths(entries, "attention_head_dim")
    return [layers[at] if at % factor == 0 else [own.state("shared")] for at in range(len(layers))]


def step(entries: Entries) -> Layers:
    """Step-3.5, 3.7: attention_other_setting has the heads of the sliding layers (Step3p7TextConfig: their number)."""
    found = Windowed(kinds.all_full)(entries)
    inside, heads = entries.within("attention_other_setting"), entries.maybe("num_sliding_attention_heads")
    if inside is not None:
        inside.word("attention_type")
        shape = widths(inside)
    elif heads is not None:
        same = widths(entries)
        shape = checked(entries, Widths(heads, same.kv_heads, same.key, same.value))
    else:
        return found
    other = shape.state(kinds.SLIDING)
    other |= {"window": width_of_window(entries)} if _slide(found) else {}
    return [[other if state["kind"] == kinds.SLIDING else state for state in states] for states in found]


def _slide(found: Layers) -> bool:
    return any(state["kind"] == kinds.SLIDING for states in found for state in states)


def laguna(entries: Entries) -> Layers:
    """Laguna: each layer has query heads of its own, on the same KV heads."""
    found = Windowed(kinds.all_full)(entries)
    entries.read.add("sliding_window")
    heads = entries.counts("num_attention_heads_per_layer", least=1)
    if heads is None:
        return found
    if len(heads) != len(found):
        raise entries.refuse("num_attention_heads_per_layer", f"is not a number for each of {len(found)} layers")
    shape = widths(entries)
    for each in set(heads):
        checked(entries, Widths(each, shape.kv_heads, shape.key, shape.value))
    return [[state | {"heads": each} for state in states] for states, each in zip(found, heads, strict=True)]


def blocks(entries: Entries) -> Layers:
    """Nemotron-NAS: each block says how many query heads share a KV head, or that it has no attention."""
    heads, width = entries.heads(), head_width(entries)
    found = entries.values("block_configs") or []
    if len(found) != entries.layers():
        raise entries.refuse("block_configs", f"has {len(found)} blocks for {entries.layers()} layers")
    entries.read.update(KV_HEADS)
    return [[_block(entries, number, each, heads, width)] for number, each in enumerate(found)]


def _block(entries: Entries, number: int, block: object, heads: int, width: int) -> State:
    where = f"{entries.where}: block_configs.{number}"
    attention = Entries(block, where).within("attention") if isinstance(block, dict) else None
    if attention is None:
        raise UserError(f"{where}: {shown(block)} has no 'attention'")
    for name in ("num_sink_tokens", "window_length", "sparsify"):
        if attention.has(name):
            raise attention.refuse(name, "is not known here; give a profile")
    if attention.flag("no_op") or attention.flag("replace_with_linear"):
        return {"kind": "none"}
    group = attention.count("n_heads_in_group")
    if heads % group:
        raise attention.refuse("n_heads_in_group", f"does not divide {heads} query heads")
    return Widths(heads, heads // group, width, width).state(kinds.FULL)
