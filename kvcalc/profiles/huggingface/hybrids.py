"""Models with layers of attention and layers with a linear state: delta nets, lightning, short convolutions."""

from collections.abc import Callable

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface import grouped, kinds, latent, recurrent
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.grouped import Layers, State

BOTH = (kinds.FULL, kinds.LINEAR)


def by_kind(found: list[str], states: dict[str, Callable[[], list[State]]]) -> Layers:
    """What layers of these kinds keep; a kind that no layer has needs no entries."""
    made = {kind: states[kind]() for kind in dict.fromkeys(found)}
    return [made[kind] for kind in found]


def attention(entries: Entries, *spelled: str) -> list[State]:
    """A layer that keeps keys and values of all tokens; the class reads its head width by these names too."""
    return [grouped.widths(entries, *spelled).state(kinds.FULL)]


def gated_delta(entries: Entries) -> Layers:
    """Qwen3-Next, Qwen3.5: by default every fourth layer has attention, the others a gated delta net."""
    count = entries.layers()
    found = kinds.listed(entries, BOTH, count)
    period = entries.maybe("full_attention_interval") or 4
    if found is None:
        rule = [kinds.FULL if (layer + 1) % period == 0 else kinds.LINEAR for layer in range(count)]
        found = kinds.by_rule(entries, rule)
    return by_kind(found, {
        kinds.FULL: lambda: [grouped.widths(entries).state(kinds.FULL) | {"gated": True}],
        kinds.LINEAR: lambda: [recurrent.gated_delta(entries)],
    })  # fmt: skip


def kimi_delta(entries: Entries) -> Layers:
    """Kimi Linear, Kimi-K3: the lists in linear_attn_config count layers from 1."""
    count = entries.layers()
    inside = entries.within("linear_attn_config")
    found = kinds.listed(entries, BOTH, count)
    if inside is not None:
        shape = inside.count("num_heads"), inside.count("head_dim"), inside.count("short_conv_kernel_size")
        found = found or _by_number(inside, count)
    elif found is not None:  # as transformers 5 writes it
        names = ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
        shape = entries.count(names[0]), entries.count(names[1]), entries.count(names[2])
    else:
        raise entries.missing("linear_attn_config")
    return by_kind(found, {
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
    found = kinds.listed(entries, BOTH, count)
    found = found or [kinds.FULL if layer % 4 == 3 else kinds.LINEAR for layer in range(count)]
    chooses = latent.indexers(entries, count) if entries.has("indexer_types", "index_topk_pattern") else [True] * count
    heads, width = entries.count("linear_num_heads"), entries.count("linear_head_dim")
    delta = recurrent.kimi_delta(entries, heads, width, entries.count("linear_conv_kernel_dim"))
    sparse = latent.state(entries, least_rope=0) | {"top_k": entries.count("index_topk")}
    if entries.maybe("index_kpool") is None:  # null; where it is absent the class has one
        raise entries.missing("index_kpool")
    key = latent.index(entries)
    full = [[sparse, key] if own else [sparse] for own in chooses]
    return [full[at] if kind == kinds.FULL else [delta] for at, kind in enumerate(found)]


def ling(entries: Entries) -> Layers:
    """Bailing hybrid: the last layer of each group is latent; the others are lightning (2.5), Kimi delta (3.0)."""
    named = entries.values("architectures")
    linear = _LING.get(str(named[0])) if named else _ling_delta if entries.has("short_conv_kernel_size") else None
    if linear is None:
        raise entries.refuse("architectures", f"which linear attention it has isn't known; known: {', '.join(_LING)}")
    count, period = entries.layers(), entries.count("layer_group_size")
    found = kinds.listed(entries, BOTH, count)
    if found is None and count % period:
        # vLLM 0.33 bailing_moe_linear.py and transformers 5.24.0 make those layers linear, mlx-lm gives them attention
        raise entries.refuse("layer_group_size", f"{count} layers end in part of a group, which engines read apart")
    found = found or [kinds.FULL if (layer + 1) % period == 0 else kinds.LINEAR for layer in range(count)]
    return by_kind(found, {
        kinds.FULL: lambda: [latent.state(entries)],
        kinds.LINEAR: lambda: [linear(entries)],
    })  # fmt: skip


def _ling_lightning(entries: Entries) -> State:
    """Ling 2.5, 2.6, Ring 2.5: no convolution (vLLM 0.33 bailing_moe_linear.py, linear_attention_state_shape)."""
    return recurrent.lightning(entries, None)


def _ling_delta(entries: Entries) -> State:
    """Ling 3.0 (BailingHybridConfig of transformers 5.24.0)."""
    width = entries.maybe("linear_head_dim") or entries.count("head_dim")  # the class makes head_dim that of the latent
    kernel = entries.count("short_conv_kernel_size", "linear_conv_kernel_dim")
    return recurrent.kimi_delta(entries, entries.maybe("linear_num_heads") or entries.heads(), width, kernel)


_LING: dict[str, Callable[[Entries], State]] = {
    "BailingMoeV2_5ForCausalLM": _ling_lightning,
    "BailingMoeV3ForCausalLM": _ling_delta,
    "BailingHybridForCausalLM": _ling_delta,
}


def lightning(entries: Entries) -> Layers:
    """MiniMax-Text-01, M1: attn_type_list has 1 for attention, 0 for lightning attention."""
    count = entries.layers()
    found = kinds.listed(entries, BOTH, count)
    listed = entries.counts("attn_type_list")
    if found is None and listed is not None:
        if len(listed) != count or not set(listed) <= {0, 1}:
            raise entries.refuse("attn_type_list", f"is not a 0 or 1 for each of {count} layers")
        found = [kinds.FULL if each else kinds.LINEAR for each in listed]
    if found is None:
        raise entries.missing("attn_type_list")
    return by_kind(found, {
        kinds.FULL: lambda: attention(entries),
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
    return by_kind(found, {
        kinds.FULL: lambda: attention(entries),
        kinds.CONV: lambda: [recurrent.short_convolution(entries)],
    })  # fmt: skip
