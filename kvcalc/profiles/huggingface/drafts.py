"""Layers that predict further tokens (MTP): they keep KV of their own where speculative decoding is on."""

from kvcalc.profiles.huggingface import compressed, kinds, mambas
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.grouped import Layers, State

COUNTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers")


def layers(entries: Entries, outer: Entries, main: Layers) -> Layers:
    """What each draft layer keeps: as a last layer of the model that has attention, or as the file says."""
    count = _count(entries) or _count(outer)  # a file around the language model's may say it instead
    if not count:
        return []
    if entries.document.get("compress_ratios") is not None:
        ratios = compressed.ratios(entries)[entries.layers() :]
        if not ratios:
            entries.assume(f"{count} draft layers (MTP) are left out: compress_ratios doesn't have theirs")
        return [[compressed.state(entries, each)] for each in ratios]
    attention = [states for states in main if any(_keeps_tokens(state) for state in states)]
    if not attention:
        return []
    listed = entries.document.get("layer_types")
    if isinstance(listed, list) and len(listed) == len(main) + count:  # those of the drafts stand at the end
        return [attention[listed.index(each)] for each in listed[len(main) :] if each in listed[: len(main)]]
    widest = max(reversed(attention), key=lambda states: (any(_full(each) for each in states), len(states)))
    if any(_slides(state) for states in attention for state in states):
        entries.assume(f"{count} draft layers (MTP) are counted without a window: the file doesn't say")
    return [[state for state in widest if _keeps_tokens(state)]] * entries.bounded(count * _blocks(entries))


def _count(entries: Entries) -> int:
    """How many; num_mtp_modules counts modules of mtp_transformer_layers layers each."""
    given = {name: entries.or_zero(name) for name in COUNTS if entries.has(name)}
    if given.get("num_mtp_modules") and "use_mtp" in entries.document and not entries.flag("use_mtp"):
        return 0
    modules = given.get("num_mtp_modules", 0) * (entries.maybe("mtp_transformer_layers") or 1)
    return entries.bounded(modules or max(given.values(), default=0))


def _blocks(entries: Entries) -> int:
    """Attention blocks of one draft layer (Nemotron-H lists its blocks)."""
    listed = kinds_of(entries)
    return listed.count(kinds.FULL) if listed is not None else 1


def kinds_of(entries: Entries) -> list[str] | None:
    """The blocks of a draft layer, or None where the file doesn't list them."""
    pattern = entries.word("mtp_hybrid_override_pattern")
    if pattern:
        return mambas.letters(entries, "mtp_hybrid_override_pattern", pattern)
    found = entries.values("mtp_layers_block_type")
    return None if found is None else [kinds.FULL if "attention" in str(each) else kinds.EXPERTS for each in found]


def _keeps_tokens(state: State) -> bool:
    return state["kind"] in ("full", "sliding", "chunked", "latent", "indexer")


def _slides(state: State) -> bool:
    return state["kind"] in ("sliding", "chunked")


def _full(state: State) -> bool:
    return state["kind"] in ("full", "latent")
