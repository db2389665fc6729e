"""Layers that keep keys and values: of all tokens, of a window, of a chunk, or those of an earlier layer."""

from dataclasses import dataclass

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface import kinds
from kvcalc.profiles.huggingface.entries import Entries

State = dict[str, object]  # a layer group of the profile without its number of layers
Layers = list[list[State]]  # what each layer keeps

KV_HEADS = (
    "num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups", "num_query_groups",
    "multi_query_group_num",
)  # fmt: skip


@dataclass(frozen=True)
class Widths:
    """Heads and their widths."""

    heads: int
    kv_heads: int
    key: int
    value: int

    def state(self, kind: str) -> State:
        """A layer of this kind."""
        heads = {} if kind == "shared" else {"kv_heads": self.kv_heads}
        return {"kind": kind, "heads": self.heads, **heads, "key_width": self.key, "value_width": self.value}


def widths(entries: Entries, *spelled: str) -> Widths:
    """The heads of a layer; `spelled`: other names of head_dim that the class reads.

    Raises UserError for KV heads that don't divide the query heads.
    """
    heads = entries.heads()
    kv_heads = entries.maybe(*KV_HEADS)
    if kv_heads is None:
        entries.assume(f"no KV heads in the file: as many as query heads, {heads}")
        kv_heads = heads
    width = head_width(entries, *spelled)
    return checked(entries, Widths(heads, kv_heads, width, width))


def checked(entries: Entries, found: Widths) -> Widths:
    """The same. Raises UserError for KV heads that don't divide the query heads."""
    if found.heads % found.kv_heads:
        raise UserError(f"{entries.where}: {found.kv_heads} KV heads don't divide {found.heads} query heads")
    return found


def head_width(entries: Entries, *spelled: str) -> int:
    """head_dim, which need not be hidden / heads; absent, null and 0 mean hidden / heads.

    `spelled` are other names that the class reads. Raises UserError for one that it doesn't and that says otherwise.
    """
    found = entries.maybe("head_dim", *spelled, least=0) or _computed(entries)
    for name in OTHER_WIDTHS:
        if name not in spelled and entries.or_zero(name) not in (0, found):
            what = f"{entries.class_name} isn't known to read it; by its own fields heads are {found} wide"
            raise entries.refuse(name, what)
    return found


OTHER_WIDTHS = ("attention_head_dim", "hidden_size_per_head", "kv_channels")


def _computed(entries: Entries) -> int:
    hidden, heads = entries.hidden(), entries.heads()
    if hidden % heads:
        raise UserError(f"{entries.where}: hidden width {hidden} does not divide by {heads} heads; give head_dim")
    entries.assume(f"no head_dim in the file: {hidden} / {heads} = {hidden // heads}")
    return hidden // heads


def full(entries: Entries, *spelled: str) -> Layers:
    """Every layer keeps all tokens; `spelled`: other names of head_dim that the class reads."""
    count, found = entries.layers(), widths(entries, *spelled)
    return [[_of(kinds.FULL, found, entries)] for _ in range(count)]


@dataclass(frozen=True)
class Windowed:
    """Layers of which some slide, by the file's list or by the rule of the class; called with the entries."""

    rule: kinds.Rule

    def __call__(self, entries: Entries) -> Layers:
        """What each layer keeps."""
        count = entries.layers()
        found = kinds.listed(entries, (kinds.FULL, kinds.SLIDING), count)
        if found is None:
            found = kinds.by_rule(entries, self.rule(entries, count))
        else:
            self._refuse_switched_off(entries, found)
            entries.read.update(_RULES)
        shape = widths(entries)
        return [[_of(kind, shape, entries)] for kind in found]

    def _refuse_switched_off(self, entries: Entries, found: list[str]) -> None:
        """Qwen2Config takes the window away without use_sliding_window, and leaves the list as it is."""
        switched = self.rule in (kinds.after_first, kinds.unused) or "use_sliding_window" in entries.document
        if kinds.SLIDING in found and switched and not entries.flag("use_sliding_window"):
            raise entries.refuse("layer_types", "lists sliding layers, and use_sliding_window is false")


# What a rule would read where the file has the list that the rule makes.
_RULES = (
    "sliding_window_pattern", "_sliding_window_pattern", "use_sliding_window", "max_window_layers",
    "sliding_window", "global_attn_every_n_layers", "prefix_dense_sliding_window_pattern", "no_rope_layers",
)  # fmt: skip


def _of(kind: str, found: Widths, entries: Entries) -> State:
    state = found.state(kind)
    if kind == kinds.SLIDING:
        state["window"] = width_of_window(entries)
    if kind == kinds.FULL and entries.flag("attn_output_gate"):
        state["gated"] = True
    return state


def width_of_window(entries: Entries) -> int:
    """The window of layers that slide. Raises UserError where the file has none."""
    found = kinds.window(entries)
    if found is None:
        raise UserError(f"{entries.where}: has sliding layers and no sliding_window")
    return found


def chunked(entries: Entries) -> Layers:
    """Llama 4: chunks of attention_chunk_size tokens, and full layers."""
    count, shape = entries.layers(), widths(entries)
    found = kinds.listed(entries, (kinds.FULL, kinds.CHUNKED), count)
    found = found or kinds.by_rule(entries, kinds.llama4(entries, count))
    entries.read.update(("no_rope_layers", "no_rope_layer_interval"))
    chunk = entries.maybe("attention_chunk_size")
    if chunk is None:  # no chunks at all
        return [[shape.state(kinds.FULL)] for _ in found]
    return [[shape.state(kind) | ({"window": chunk} if kind == kinds.CHUNKED else {})] for kind in found]


@dataclass(frozen=True)
class Sharing:
    """Gemma 3n and 4: global layers may have other heads, and the last layers share the KV of earlier ones."""

    rule: kinds.Rule
    global_heads: bool  # Gemma 4: full layers have heads of their own, and the class makes the last layer full

    def __call__(self, entries: Entries) -> Layers:
        """What each layer keeps."""
        count = entries.layers()
        found = kinds.listed(entries, (kinds.FULL, kinds.SLIDING), count)
        found = found or kinds.by_rule(entries, self.rule(entries, count))
        if self.global_heads:
            found[-1] = kinds.FULL
        sharing = entries.or_zero("num_kv_shared_layers")
        if sharing >= count:
            raise entries.refuse("num_kv_shared_layers", f"is not below the {count} layers")
        own = count - sharing
        if not set(found[own:]) <= set(found[:own]):
            raise entries.refuse("num_kv_shared_layers", "a layer has none of its kind to share with")
        local = widths(entries)
        shapes = {kinds.SLIDING: local, kinds.FULL: _global(entries, local) if self.global_heads else local}
        return [[_gemma_layer(kind, layer >= own, shapes[kind], entries)] for layer, kind in enumerate(found)]


def _gemma_layer(kind: str, shares: bool, shape: Widths, entries: Entries) -> State:
    window = {"window": width_of_window(entries)} if kind == kinds.SLIDING else {}
    return shape.state("shared" if shares else kind) | window


def _global(entries: Entries, local: Widths) -> Widths:
    overridden = _overridden(entries)
    if overridden is not None:
        width, kv_heads = overridden.maybe("head_dim") or local.key, overridden.maybe(*KV_HEADS) or local.kv_heads
        return checked(entries, Widths(local.heads, kv_heads, width, width))
    width = entries.count("global_head_dim")
    # attention_k_eq_v: the weights of K serve as V, and both are kept (vLLM 0.33 gemma4.py)
    other = entries.maybe("num_global_key_value_heads")
    kv_heads = other if other and entries.flag("attention_k_eq_v") else local.kv_heads
    return checked(entries, Widths(local.heads, kv_heads, width, width))


def _overridden(entries: Entries) -> Entries | None:
    """What transformers 5 writes instead: the same other widths for each of the full layers, by number."""
    inside = entries.within("per_layer_config")
    if inside is None:
        return None
    found = [inside.within(name) for name in inside.document]
    full = [at for at, kind in enumerate(entries.values("layer_types") or []) if kind == "full_attention"]
    if (
        None in found
        or {name.lstrip("0") or "0" for name in inside.document} != {str(each) for each in full}
        or len({str(each.document) for each in found if each}) > 1
    ):
        raise entries.refuse("per_layer_config", "is not one and the same for each full layer")
    return found[0] if found else None


def swa(entries: Entries) -> Layers:
    """MiMo-V2: sliding layers have heads and widths of their own; keys are wider than values."""
    count, same = entries.layers(), widths(entries)
    wide = Widths(same.heads, same.kv_heads, same.key, entries.maybe("v_head_dim") or same.value)
    entries.read.update(("attention_chunk_size", "sliding_window_size"))  # set in the files and not used: vLLM 0.33
    # model_arch_config_convertor.py takes attention_chunk_size out
    key = entries.maybe("swa_head_dim") or wide.key
    narrow = Widths(
        heads=entries.maybe("swa_num_attention_heads") or wide.heads,
        kv_heads=entries.maybe("swa_num_key_value_heads") or wide.kv_heads,
        key=key,
        value=entries.maybe("swa_v_head_dim") or wide.value,
    )
    found = kinds.listed(entries, (kinds.FULL, kinds.SLIDING), count) or kinds.hybrid_pattern(entries, count)
    entries.read.add("hybrid_layer_pattern")
    slides = checked(entries, narrow).state(kinds.SLIDING) | {"window": entries.count("sliding_window")}
    return [[slides if kind == kinds.SLIDING else wide.state(kinds.FULL)] for kind in found]
