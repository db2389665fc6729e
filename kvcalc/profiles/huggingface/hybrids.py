"""Models whose layers keep different states: attention here, a recurrent state there, or both."""

from collections.abc import Callable

from kvcalc.errors import UserError, shown
from kvcalc.profiles.huggingface import grouped, kinds, latent, recurrent
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.grouped import Layers, State

NOTHING: State = {"kind": "none"}
_PATTERN = {"M": kinds.LINEAR, "*": kinds.FULL, "-": kinds.FEED_FORWARD, "E": kinds.EXPERTS}
_BOTH = (kinds.FULL, kinds.LINEAR)


def _layers(found: list[str], states: dict[str, Callable[[], list[State]]]) -> Layers:
    made = {kind: states[kind]() for kind in dict.fromkeys(found)}  # only what is there must be described
    return [made[kind] for kind in found]


def _attention(entries: Entries) -> list[State]:
    return [grouped.widths(entries).state(kinds.FULL)]


def nemotron(entries: Entries) -> Layers:
    """Nemotron-H: a letter or a word for each block; feed-forward blocks keep nothing. vLLM keeps FP32 states."""
    found = blocks(entries)
    return _layers(found, {
        kinds.FULL: lambda: _attention(entries),
        kinds.LINEAR: lambda: [recurrent.mamba2(entries, default=4)],  # vLLM 0.33 model_executor/models/config.py
        kinds.FEED_FORWARD: lambda: [NOTHING],
        kinds.EXPERTS: lambda: [NOTHING],
    })  # fmt: skip


def blocks(entries: Entries) -> list[str]:
    """The blocks of Nemotron-H. Raises UserError where num_hidden_layers is another number."""
    found = kinds.words(entries, (*_BOTH, kinds.FEED_FORWARD, kinds.EXPERTS))
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
    found = kinds.listed(entries, _BOTH, count)
    entries.read.update(("attn_layer_period", "attn_layer_offset"))
    if found is None:
        period, offset = entries.count("attn_layer_period"), entries.or_zero("attn_layer_offset")
        if offset >= period:
            raise entries.refuse("attn_layer_offset", f"is not below attn_layer_period, {period}")
        found = [kinds.FULL if layer % period == offset else kinds.LINEAR for layer in range(count)]
    entries.read.update(("mamba_d_conv", "mamba_dt_rank", "mamba_expand", "mamba_d_state"))
    return _layers(found, {kinds.FULL: lambda: _attention(entries), kinds.LINEAR: lambda: [recurrent.mamba1(entries)]})


def granite(entries: Entries) -> Layers:
    """Granite 4: a list of layers."""
    found = kinds.listed(entries, _BOTH, entries.layers())
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
        return _layers(found, {kinds.FULL: lambda: _attention(entries)})
    inner = recurrent.expanded(entries, "mamba_expand")
    return _layers(found, {
        kinds.FULL: lambda: _attention(entries),
        kinds.LINEAR: lambda: [recurrent.mamba2(entries, inner)],
    })  # fmt: skip


def falcon_h1(entries: Entries) -> Layers:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    inner = entries.maybe("mamba_d_ssm") or recurrent.expanded(entries, "mamba_expand")
    entries.read.add("mamba_expand")
    both = [*_attention(entries), recurrent.mamba2(entries, inner)]
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
    entries.read.update(("kv_channels", "num_query_groups", "attention_hidden_size", "head_dim"))
    kv_heads = entries.maybe("num_key_value_heads") or heads
    shape = grouped.checked(entries, grouped.Widths(heads, kv_heads, width, width))
    state = recurrent.mamba2(entries, recurrent.expanded(entries, "mamba_expand", "expand"))
    return _layers(found, {
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


def gated_delta(entries: Entries) -> Layers:
    """Qwen3-Next, Qwen3.5: by default every fourth layer has attention, the others a gated delta net."""
    count = entries.layers()
    found = kinds.listed(entries, _BOTH, count)
    period = entries.maybe("full_attention_interval") or 4
    if found is None:
        rule = [kinds.FULL if (layer + 1) % period == 0 else kinds.LINEAR for layer in range(count)]
        found = kinds.by_rule(entries, rule)
    return _layers(found, {
        kinds.FULL: lambda: [grouped.widths(entries).state(kinds.FULL) | {"gated": True}],
        kinds.LINEAR: lambda: [recurrent.gated_delta(entries)],
    })  # fmt: skip


def kimi_delta(entries: Entries) -> Layers:
    """Kimi Linear, Kimi-K3: the lists in linear_attn_config count layers from 1."""
    count = entries.layers()
    inside = entries.within("linear_attn_config")
    found = kinds.listed(entries, _BOTH, count)
    if inside is not None:
        shape = inside.count("num_heads"), inside.count("head_dim"), inside.count("short_conv_kernel_size")
        found = found or _by_number(inside, count)
    elif found is not None:  # as transformers 5 writes it
        names = ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
        shape = entries.count(names[0]), entries.count(names[1]), entries.count(names[2])
    else:
        raise entries.missing("linear_attn_config")
    return _layers(found, {
        kinds.FULL: lambda: [latent.state(entries)],
        kinds.LINEAR: lambda: [recurrent.kimi_delta(entries, *shape)],
    })  # fmt: skip


def _by_number(inside: Entries, count: int) -> list[str]:
    full, linear = inside.counts("full_attn_layers") or [], inside.counts("kda_layers") or []
    if sorted(full + linear) != list(range(1, count + 1)):
        raise UserError(f"{inside.where}: full_attn_layers and kda_layers don't name each of layers 1 to {count} once")
    return [kinds.FULL if layer in set(full) else kinds.LINEAR for layer in range(1, count + 1)]


def sparse_kimi_delta(entries: Entries) -> Layers:
    """GLM-5.3-Flash: every fourth layer is sparse latent attention, the others Kimi delta attention."""
    count = entries.layers()
    found = kinds.listed(entries, _BOTH, count)
    found = found or [kinds.FULL if layer % 4 == 3 else kinds.LINEAR for layer in range(count)]
    chooses = latent.indexers(entries, count) if entries.has("indexer_types", "index_topk_pattern") else [True] * count
    heads, width = entries.count("linear_num_heads"), entries.count("linear_head_dim")
    delta = recurrent.kimi_delta(entries, heads, width, entries.count("linear_conv_kernel_dim"))
    sparse = latent.state(entries, least_rope=0) | {"top_k": entries.count("index_topk")}
    key = latent.index(entries)
    full = [[sparse, key] if own else [sparse] for own in chooses]
    return [full[at] if kind == kinds.FULL else [delta] for at, kind in enumerate(found)]


def ling(entries: Entries) -> Layers:
    """Bailing hybrid (Ling): the last layer of each group is latent, the others Kimi delta attention."""
    count, period = entries.layers(), entries.count("layer_group_size")
    found = kinds.listed(entries, _BOTH, count)
    found = found or [kinds.FULL if (layer + 1) % period == 0 else kinds.LINEAR for layer in range(count)]
    width = entries.count("head_dim")
    return _layers(found, {
        kinds.FULL: lambda: [latent.state(entries)],
        kinds.LINEAR: lambda: [
            recurrent.kimi_delta(entries, entries.heads(), width, entries.count("short_conv_kernel_size"))
        ],
    })  # fmt: skip


def lightning(entries: Entries) -> Layers:
    """MiniMax-Text-01, M1: attn_type_list has 1 for attention, 0 for lightning attention."""
    count = entries.layers()
    found = kinds.listed(entries, _BOTH, count)
    listed = entries.counts("attn_type_list")
    if found is None and listed is not None:
        if len(listed) != count or not set(listed) <= {0, 1}:
            raise entries.refuse("attn_type_list", f"is not a 0 or 1 for each of {count} layers")
        found = [kinds.FULL if each else kinds.LINEAR for each in listed]
    if found is None:
        raise entries.missing("attn_type_list")
    return _layers(found, {
        kinds.FULL: lambda: _attention(entries),
        kinds.LINEAR: lambda: [recurrent.lightning(entries)],
    })  # fmt: skip


def minimax_m2(entries: Entries) -> Layers:
    """MiniMax-M2: attn_type_list is all 1, plain attention."""
    listed = entries.counts("attn_type_list")
    if listed is not None and set(listed) != {1}:
        raise entries.refuse("attn_type_list", "only full attention (1) is known for this model type")
    return grouped.full(entries)


def short_convolutions(entries: Entries) -> Layers:
    """LFM2: some layers have attention, the others a short convolution."""
    count = entries.layers()
    found = kinds.listed(entries, (kinds.FULL, kinds.CONV), count)
    chosen = entries.counts("full_attn_idxs")
    if found is None:
        if chosen is None or not set(chosen) <= set(range(count)):
            raise entries.missing("layer_types")
        found = [kinds.FULL if layer in chosen else kinds.CONV for layer in range(count)]
    entries.read.update(("conv_L_cache", "conv_dim"))
    return _layers(found, {
        kinds.FULL: lambda: _attention(entries),
        kinds.CONV: lambda: [recurrent.short_convolution(entries)],
    })  # fmt: skip
