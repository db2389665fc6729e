"""Models with Mamba layers, alone, between layers of attention or beside them."""

from kvcalc.errors import UserError, shown
from kvcalc.profiles.huggingface import grouped, kinds, recurrent
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.grouped import Layers, State
from kvcalc.profiles.huggingface.hybrids import BOTH, attention, by_kind

NOTHING: State = {"kind": "none"}
_PATTERN = {"M": kinds.LINEAR, "*": kinds.FULL, "-": kinds.FEED_FORWARD, "E": kinds.EXPERTS}


def nemotron(entries: Entries) -> Layers:
    """Nemotron-H: a letter or a word for each block; feed-forward blocks keep nothing. vLLM keeps FP32 states."""
    found = blocks(entries)
    return by_kind(found, {
        kinds.FULL: lambda: attention(entries, "attention_head_dim"),
        kinds.LINEAR: lambda: [recurrent.mamba2(entries, default=4)],  # vLLM 0.33 model_executor/models/config.py
        kinds.FEED_FORWARD: lambda: [NOTHING],
        kinds.EXPERTS: lambda: [NOTHING],
    })  # fmt: skip


def blocks(entries: Entries) -> list[str]:
    """The blocks of Nemotron-H. Raises UserError where num_hidden_layers is another number."""
    found = kinds.words(entries, (*BOTH, kinds.FEED_FORWARD, kinds.EXPERTS))
    pattern = entries.word("hybrid_override_pattern")
    if found is None and pattern is not None:
        found = letters(entries, "hybrid_override_pattern", pattern)
    if not found:
        raise entries.missing("layers_block_type")
    count = entries.maybe("num_hidden_layers")
    if count is not None and count != len(found):
        raise UserError(f"{entries.where}: num_hidden_layers is {count}, and {len(found)} blocks are listed")
    entries.read.add("expand")  # the inner width is heads x head width, not expand x hidden
    return found


def letters(entries: Entries, name: str, pattern: str) -> list[str]:
    """The kinds of a pattern of letters. Raises UserError for a letter that isn't known."""
    unknown = next((each for each in pattern if each not in _PATTERN), None)
    if unknown is not None:
        raise UserError(f"{entries.where}: {name}: {shown(unknown)} is none of {', '.join(_PATTERN)}")
    entries.bounded(len(pattern))
    return [_PATTERN[each] for each in pattern]


def jamba(entries: Entries) -> Layers:
    """Jamba: one layer of attn_layer_period has attention, the others Mamba-1."""
    count = entries.layers()
    found = kinds.listed(entries, BOTH, count)
    entries.read.update(("attn_layer_period", "attn_layer_offset"))
    if found is None:
        period, offset = entries.count("attn_layer_period"), entries.or_zero("attn_layer_offset")
        if offset >= period:
            raise entries.refuse("attn_layer_offset", f"is not below attn_layer_period, {period}")
        found = [kinds.FULL if layer % period == offset else kinds.LINEAR for layer in range(count)]
    entries.read.update(("mamba_d_conv", "mamba_dt_rank", "mamba_expand", "mamba_d_state"))
    return by_kind(found, {kinds.FULL: lambda: attention(entries), kinds.LINEAR: lambda: [recurrent.mamba1(entries)]})


def granite(entries: Entries) -> Layers:
    """Granite 4: a list of layers."""
    found = kinds.listed(entries, BOTH, entries.layers())
    if found is None:
        raise entries.missing("layer_types")
    return _with_mamba2(entries, found)


def bamba(entries: Entries) -> Layers:
    """Bamba: attn_layer_indices have attention, the others Mamba-2."""
    chosen = set(entries.counts("attn_layer_indices") or [])
    count = entries.layers()
    if not chosen <= set(range(count)):
        raise entries.refuse("attn_layer_indices", f"are not all below the {count} layers")
    return _with_mamba2(entries, [kinds.FULL if layer in chosen else kinds.LINEAR for layer in range(count)])


def _with_mamba2(entries: Entries, found: list[str]) -> Layers:
    if kinds.LINEAR not in found:  # Granite 4 dense: the entries of Mamba are there all the same
        entries.read.update(each for each in entries.document if each.startswith("mamba_"))
        return by_kind(found, {kinds.FULL: lambda: attention(entries)})
    inner = recurrent.expanded(entries, "mamba_expand")
    return by_kind(found, {
        kinds.FULL: lambda: attention(entries),
        kinds.LINEAR: lambda: [recurrent.mamba2(entries, inner)],
    })  # fmt: skip


def falcon_h1(entries: Entries) -> Layers:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    inner = entries.maybe("mamba_d_ssm") or recurrent.expanded(entries, "mamba_expand")
    entries.read.add("mamba_expand")
    both = [*attention(entries), recurrent.mamba2(entries, inner)]
    return [both for _ in range(entries.layers())]


def zamba2(entries: Entries) -> Layers:
    """Zamba2: Mamba-2 in every layer; the shared block's attention keeps KV of its own wherever it stands."""
    count = entries.layers()
    found = kinds.listed(entries, (kinds.LINEAR, kinds.HYBRID), count)
    chosen = entries.counts("hybrid_layer_ids")
    if found is None and chosen is not None:
        if not set(chosen) <= set(range(count)):
            raise entries.refuse("hybrid_layer_ids", f"are not all below the {count} layers")
        found = [kinds.HYBRID if layer in chosen else kinds.LINEAR for layer in range(count)]
    if found is None:
        raise entries.missing("layers_block_type")
    heads = entries.heads()
    width = entries.maybe("attention_head_dim") or 2 * entries.hidden() // heads  # the block sees two hidden states
    entries.read.update(("kv_channels", "num_query_groups", "attention_hidden_size", "head_dim", "lora_rank"))
    kv_heads = entries.maybe("num_key_value_heads") or heads
    shape = grouped.checked(entries, grouped.Widths(heads, kv_heads, width, width))
    state = recurrent.mamba2(entries, recurrent.expanded(entries, "mamba_expand", "expand"))
    return by_kind(found, {
        kinds.LINEAR: lambda: [state],
        kinds.HYBRID: lambda: [shape.state(kinds.FULL), state],
    })  # fmt: skip


def mamba2(entries: Entries) -> Layers:
    """Mamba-2 alone (Mamba-Codestral)."""
    state = recurrent.plain_mamba2(entries)
    entries.read.add("expand")
    return [[state] for _ in range(entries.layers())]


def mamba1(entries: Entries) -> Layers:
    """Mamba-1 alone."""
    state = recurrent.mamba1(entries)
    return [[state] for _ in range(entries.layers())]
