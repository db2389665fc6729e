"""A configuration as the document of a model profile, with a line for whatever is not in the file and was assumed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface import checkpoint, drafts, language, unread
from kvcalc.profiles.huggingface.entries import ABSENT, LARGEST, Entries
from kvcalc.profiles.huggingface.grouped import State

Document = dict[str, object]  # of a model profile, as YAML holds it

KINDS = ("full", "latent", "indexer", "sliding", "chunked", "compressed", "recurrent", "cross", "shared", "none")
CONTEXT = (
    "max_position_embeddings", "n_positions", "max_position_embedding", "max_seq_len", "seq_length",
    "max_sequence_length", "max_target_positions",
)  # fmt: skip


@dataclass(frozen=True)
class Label:
    """What the profile is called, and where the configuration was read."""

    name: str
    title: str
    address: str
    checked: date
    source: str | None = None  # the source's title
    note: str | None = None  # the source's
    huggingface: str | None = None
    notes: tuple[str, ...] = ()
    same_geometry: tuple[str, ...] = ()


@dataclass(frozen=True)
class Given:
    """What the user says beside the file."""

    quant: Mapping[str, object] | None = None  # hf_quant_config.json
    quant_where: str = "hf_quant_config.json"  # its name in messages
    parameters: int | None = None
    active: int | None = None


@dataclass(frozen=True)
class Imported:
    """The document of a profile, and what was assumed for it."""

    document: Document
    assumed: tuple[str, ...]


def document(config: dict[str, object], label: Label, given: Given, where: str = "config.json") -> Imported:
    """The profile of a configuration. Raises UserError for what isn't known, missing or contradictory.

    `where` names the file in messages.
    """
    family, inner, outer = language.find(config, where)
    for each in (inner, outer):
        unread.refuse_encoder(each)
    layers = family.layers(inner)
    blocks = family.feed_forward(inner, len(layers))
    found: Document = {"name": label.name, "title": label.title}
    found |= {"huggingface": label.huggingface} if label.huggingface else {}
    found |= {"source": "config"} | _sizes(inner, outer)
    found |= _checkpoint(inner, outer, given)
    found |= {"same_geometry": list(label.same_geometry)} if label.same_geometry else {}
    found |= {"notes": list(label.notes)} if label.notes else {}
    found["groups"] = _grouped([state for states in layers for state in states])
    ahead = drafts.layers(inner, outer, layers)
    found |= {"mtp": _grouped([state for states in ahead for state in states])} if ahead else {}
    if blocks is not None:
        found["feed_forward"] = [{"layers": count} | block for block, count in _counted(blocks)]
    found |= _parameters(given)
    unread.refuse(inner)
    found["sources"] = {"config": _source(label)}
    return Imported(found, tuple(outer.assumed))


def _sizes(inner: Entries, outer: Entries) -> Document:
    found: Document = {}
    context = _context(inner)
    found |= {"context": context} if context else {}
    found["hidden"] = inner.hidden()
    vocabulary = inner.maybe("vocab_size", "padded_vocab_size")
    found |= {"vocabulary": vocabulary} if vocabulary else {}
    return found | ({"tied": True} if _tied(inner, outer) else {})


def _context(entries: Entries) -> int | None:
    """Command-R and Kimi Linear: model_max_length is the context where it is the longer one."""
    found = [entries.raw(name) for name in CONTEXT]
    plain = next((each for each in found if each is not None and each is not ABSENT), None)
    longest = entries.raw("model_max_length")
    if type(longest) is int and 0 < longest <= LARGEST and (type(plain) is not int or longest > plain):
        return longest
    return entries.whole(plain, CONTEXT) if plain is not None else None


def _tied(inner: Entries, outer: Entries) -> bool:
    """By the file, else by the default of the class; what stands in neither is two matrices, and that is said."""
    said = [each.flag("tie_word_embeddings") for each in (inner, outer) if each.has("tie_word_embeddings")]
    if said:
        return any(said)
    if inner.raw("tie_word_embeddings") is ABSENT:
        inner.assume("tie_word_embeddings is not in the file, and no class here has a default: false")
    return inner.flag("tie_word_embeddings")


def _checkpoint(inner: Entries, outer: Entries, given: Given) -> Document:
    weights = checkpoint.weights(outer, inner, given.quant)
    cache = checkpoint.kv_cache(outer, inner, given.quant, given.quant_where)
    found: Document = {} if weights == "bf16" else {"checkpoint": weights}
    return found | ({"kv_cache": cache} if cache else {})


def _grouped(states: list[State]) -> list[State]:
    """Equal states as one group with its number of layers."""
    found = sorted(_counted(states), key=lambda each: KINDS.index(str(each[0]["kind"])))
    return [_first(state, layers) for state, layers in found]


def _counted(parts: list[dict[str, object]]) -> list[tuple[dict[str, object], int]]:
    """Each different one once, in the order of the layers, with how often it is there."""
    found = Counter(tuple(each.items()) for each in parts)
    return [(dict(each), count) for each, count in found.items()]


def _first(state: State, layers: int) -> State:
    """The kind and the number of layers before the shape."""
    named = {key: state[key] for key in ("kind", "rule") if key in state}
    return named | {"layers": layers} | {key: value for key, value in state.items() if key not in named}


def _parameters(given: Given) -> Document:
    total, active = given.parameters, given.active
    if total is not None and active is not None and active > total:
        raise UserError(f"--active-params {active:,} is more than --params {total:,}")
    found: Document = {"total_parameters": total} if total else {}
    return found | ({"active_parameters": active or total} if active or total else {})


def _source(label: Label) -> Document:
    title = label.source or f"config.json of {label.huggingface or label.title}"
    found: Document = {"title": title, "address": label.address, "basis": "config", "checked": label.checked}
    return found | ({"note": label.note} if label.note else {})
