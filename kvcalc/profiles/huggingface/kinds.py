"""Which kind each layer is: from the list that the file has, else by the rule of the class.

Rules as in the classes of transformers 5.24.0, `transformers/models/*/configuration_*.py`; layers count from 0 there.
"""

from collections.abc import Callable

from kvcalc.errors import UserError, shown
from kvcalc.profiles.huggingface.entries import Entries

FULL, SLIDING, CHUNKED, LINEAR, CONV, HYBRID = "full", "sliding", "chunked", "linear", "conv", "hybrid"
FEED_FORWARD, EXPERTS = "mlp", "moe"

# The spellings of layer_types and layers_block_type.
_WORDS = {
    "full_attention": FULL,
    "attention": FULL,
    "global_attention": FULL,
    "indexed_attention": FULL,
    "deepseek_sparse_attention": FULL,
    "sliding_attention": SLIDING,
    "sliding_window_attention": SLIDING,
    "chunked_attention": CHUNKED,
    "linear_attention": LINEAR,
    "mamba": LINEAR,
    "mamba2": LINEAR,
    "kda": LINEAR,
    "conv": CONV,
    "hybrid": HYBRID,
    "mlp": FEED_FORWARD,
    "moe": EXPERTS,
}
Rule = Callable[[Entries, int], list[str]]


def listed(entries: Entries, allowed: tuple[str, ...], layers: int) -> list[str] | None:
    """The kinds that the file lists, layer by layer, or None. More than `layers` are those of drafts, and are cut."""
    names = ("layer_types", "layers_block_type")
    found = entries.values(*names)
    if found is None:
        return None
    drafts = entries.or_zero("num_nextn_predict_layers")
    if len(found) not in (layers, layers + drafts):
        raise UserError(f"{entries.where}: layer_types has {len(found)} entries for {layers} layers")
    return [_kind(entries, each, allowed) for each in found[:layers]]


def words(entries: Entries, allowed: tuple[str, ...]) -> list[str] | None:
    """The kinds that the file lists where the list itself says how many layers there are, or None."""
    found = entries.values("layers_block_type", "layer_types")
    return None if found is None else [_kind(entries, each, allowed) for each in found]


def _kind(entries: Entries, word: object, allowed: tuple[str, ...]) -> str:
    kind = _WORDS.get(word) if isinstance(word, str) else None
    if kind not in allowed:
        raise UserError(f"{entries.where}: layer_types: {shown(word)} is no kind of layer that this model type has")
    return kind


def by_rule(entries: Entries, found: list[str]) -> list[str]:
    """The kinds that a class's rule gave; where they differ, that is said."""
    if len(set(found)) > 1:
        entries.assume(f"the kinds of layers are not listed in the file: by the rule of {entries.class_name}")
    return found


def only_listed(entries: Entries, _: int) -> list[str]:
    """A class whose rule isn't repeated here: the file has to have the list."""
    raise entries.missing("layer_types")


def all_full(_: Entries, layers: int) -> list[str]:
    """No layer forgets."""
    return [FULL] * layers


def all_sliding(entries: Entries, layers: int) -> list[str]:
    """Every layer has the window, if there is one (Mistral, Phi-3, Starcoder2)."""
    return [SLIDING if window(entries) else FULL] * layers


def every(period: int, *names: str, first: bool = False) -> Rule:
    """All layers slide but the last of each `period`, or the first; a file may have another period by these names."""

    def rule(entries: Entries, layers: int) -> list[str]:
        length = (entries.maybe(*names) if names else None) or period
        place = 0 if first else length - 1
        return [FULL if layer % length == place else SLIDING for layer in range(layers)]

    return rule


def pattern(entries: Entries, layers: int) -> list[str]:
    """EXAONE 4: a period, or letters that repeat, L local and G global; no window at all: all layers are full."""
    if not window(entries):
        entries.read.add("sliding_window_pattern")
        return [FULL] * layers
    found = entries.raw("sliding_window_pattern")
    if isinstance(found, str) and found and set(found) <= {"L", "G"}:
        return [SLIDING if found[layer % len(found)] == "L" else FULL for layer in range(layers)]
    return every(4, "sliding_window_pattern")(entries, layers)


def after_first(entries: Entries, layers: int) -> list[str]:
    """Qwen2, Qwen3: the window holds only with use_sliding_window, from layer max_window_layers on."""
    if not entries.flag("use_sliding_window"):
        entries.read.update(("sliding_window", "max_window_layers"))
        return [FULL] * layers
    limit = entries.maybe("max_window_layers", least=0)
    if limit is None:
        raise entries.missing("max_window_layers")
    slides = window(entries) is not None
    return [SLIDING if slides and layer >= limit else FULL for layer in range(layers)]


def unused(entries: Entries, layers: int) -> list[str]:
    """Classes whose window engines don't use alike: fine while it is switched off."""
    entries.read.update(("sliding_window", "max_window_layers", "no_rope_layers"))  # SmolLM3: those keep what all keep
    if entries.flag("use_sliding_window"):
        raise entries.refuse("use_sliding_window", "which layers of this class slide isn't known; give a profile")
    return [FULL] * layers


def hybrid_pattern(entries: Entries, layers: int) -> list[str]:
    """MiMo-V2: hybrid_layer_pattern has 1 for a window, 0 for none."""
    found = entries.counts("hybrid_layer_pattern")
    if found is None:
        return [FULL if layer == 0 or (layer + 1) % 6 == 0 else SLIDING for layer in range(layers)]
    if len(found) != layers or not set(found) <= {0, 1}:
        raise entries.refuse("hybrid_layer_pattern", f"is not a 0 or 1 for each of {layers} layers")
    return [SLIDING if each else FULL for each in found]


def neo(entries: Entries, layers: int) -> list[str]:
    """GPT-Neo: attention_types has lists of kinds, each with how often it repeats."""
    found: list[object] = []
    for each in entries.values("attention_types") or []:
        if not isinstance(each, list) or len(each) != 2 or not isinstance(each[0], list) or type(each[1]) is not int:
            raise entries.refuse("attention_types", "is not a list of kinds and repeats")
        found += each[0][:layers] * min(max(each[1], 0), layers)
        if len(found) > layers:
            break
    if len(found) != layers or not all(each in ("global", "local") for each in found):
        raise entries.refuse("attention_types", f"is not 'global' or 'local' for each of {layers} layers")
    if entries.values("attention_layers") not in (None, found):  # the same, written out
        raise entries.refuse("attention_layers", "is not what attention_types says")
    return [FULL if each == "global" else SLIDING for each in found]


def llama4(entries: Entries, layers: int) -> list[str]:
    """Llama 4: layers without rotary positions are full, by default every fourth; the others see a chunk."""
    found = entries.counts("no_rope_layers")
    if not found:
        period = entries.maybe("no_rope_layer_interval") or 4
        return [FULL if (layer + 1) % period == 0 else CHUNKED for layer in range(layers)]
    if len(found) != layers or not set(found) <= {0, 1}:
        raise entries.refuse("no_rope_layers", f"is not a 0 or 1 for each of {layers} layers")
    return [CHUNKED if each else FULL for each in found]


def window(entries: Entries) -> int | None:
    """The window of sliding layers, or None."""
    return entries.maybe("sliding_window", "sliding_window_size", "window_size")
