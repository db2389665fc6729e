"""The part of a configuration that describes the language model, and the family it belongs to."""

import re

from kvcalc.errors import UserError, printable, shown
from kvcalc.profiles.huggingface import defaults, reading, wrappers
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.families import ARCHITECTURES, ENCODER_DECODER, KNOWN, REFUSED, Family

# Text configurations without a model_type of their own, by the model type around them.
_WITHIN = {
    "llava": "llama",
    "llava_next": "llama",
    "step3_vl": "step3_text",
    "step3p7": "step3p7",
    "kimi_vl": "deepseek_v3",
    "kimi_k3": "kimi_linear",
    "deepseek_vl_v2": "deepseek_v2",
}
# Text-only files of composite types: the defaults are those of the class inside.
_NAMED_ALIKE = {"qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text", "glm5_next": "glm5_next_text"}
_BY_ARCHITECTURE = {("mamba", "mamba2")}  # Mamba-Codestral's file, which engines read by its architecture
_HEADS = r"(WithLMHead|LMHead|Chat)?(ForCausalLM|ForConditionalGeneration|LMHeadModel|Model|MultiModalityCausalLM)$"
_NO_GENERATION = re.compile(
    r"For(SequenceClassification|TokenClassification|MaskedLM|QuestionAnswering|ImageClassification|MultipleChoice"
    r"|ProcessRewardModel|RewardModel|Embedding|Retrieval|ImageFeatureExtraction|ObjectDetection|CTC|AudioClassification)"
)
_BARE = re.compile(r"^(?!ChatGLM|GLM|Bart|T5|MT5|MBart|Marian|.*LMHead|.*Chat).*[A-Za-z0-9]Model$")
HOW = "CONTRIBUTING.md says how"
_DRAFTS = re.compile(r"Eagle|Medusa|MTP|Speculator|DFlash", re.IGNORECASE)
_OF_DRAFTS = ("draft_vocab_size", "eagle_config", "speculators_config", "speculators_model_type")
_ENCODERS = ("bert", "roberta", "electra", "vit", "clip", "siglip", "dinov", "swin", "resnet", "wav2vec", "hubert")


def find(document: dict[str, object], where: str) -> tuple[Family, Entries, Entries]:
    """The family, the entries of the language model, and those of the whole file (the same where it is not nested).

    Raises UserError for what is not a configuration, is no generating model, or is not known.
    """
    reading.refuse_others(document, where)
    outer = Entries(document, where)
    architecture = _architecture(outer)
    name = outer.word("model_type")
    inner = wrappers.inside(document, where)
    if inner is not None and not _flat(document, name):
        path, nested = inner
        if name not in wrappers.KNOWN:
            raise _unknown_wrapper(outer, name, architecture, nested)
        kind = _nested_type(nested, name, where)
        entries = Entries(nested, f"{where}: {path}", defaults.of(kind), nested=True, assumed=outer.assumed)
        return _family(kind, entries), entries, outer
    kind = _type(outer, name, architecture)
    entries = Entries(document, where, defaults.of(kind), assumed=outer.assumed)
    return _family(kind, entries), entries, entries


def _flat(document: dict[str, object], name: str | None) -> bool:
    """Does the file itself describe layers, beside a nested configuration?"""
    return name in KNOWN and "hidden_size" in document and "num_hidden_layers" in document


def _nested_type(nested: dict[str, object], outer: str | None, where: str) -> str:
    name = nested.get("model_type")
    if not nested:
        raise UserError(f"{where}: the text model's configuration is empty; is this the whole config.json?")
    if name is None or name == "":
        name = _WITHIN.get(outer or "") or (f"{outer}_text" if f"{outer}_text" in KNOWN else None)
    if not isinstance(name, str):
        raise UserError(
            f"{where}: model_type {shown(outer)} has a text model whose kind it doesn't name; {_saw(nested)}"
        )
    name = _NAMED_ALIKE.get(name, name)
    if name in ENCODER_DECODER:
        raise UserError(f"{where}: an encoder-decoder model inside {shown(outer)} is not known here; write a profile")
    return name


def _architecture(outer: Entries) -> str | None:
    """The architecture's name without its ending. Raises UserError for one that generates nothing, or drafts."""
    found = outer.values("architectures")
    draft = next((each for each in _OF_DRAFTS if outer.document.get(each)), None)
    if draft:
        raise UserError(f"{outer.where}: {draft} is that of a draft model (EAGLE); give the main model's file")
    if not found:
        return None
    if not isinstance(found[0], str):
        raise outer.refuse("architectures", "is not a list of names")
    name = printable(found[0])
    if _NO_GENERATION.search(name) or _BARE.search(name):
        raise UserError(
            f"{outer.where}: {name} generates no text (an embedding, a classifier or vision model): no KV cache"
        )
    if _DRAFTS.search(name):
        raise UserError(f"{outer.where}: {name} is a draft model for speculative decoding; give the main model's file")
    return name


def _type(outer: Entries, name: str | None, architecture: str | None) -> str:
    """The model type, by its name, else by the architecture. Raises UserError where the two disagree."""
    name = _NAMED_ALIKE.get(name or "", name)
    named = _by_architecture(architecture) if architecture else None
    if name in REFUSED:
        return name or ""
    if name not in KNOWN:
        if named is None:
            raise _unknown(outer, name, architecture)
        outer.assume(f"model_type {shown(name)} is not known; {architecture} is")
        return named
    if (name, named) in _BY_ARCHITECTURE:
        return named or ""
    if named and KNOWN[named] is not KNOWN[name]:
        raise UserError(f"{outer.where}: model_type {shown(name)} and architecture {shown(architecture)} disagree")
    if architecture and named is None and not _alike(name, architecture):
        raise _unknown(outer, name, architecture)
    return name


def _alike(name: str, architecture: str) -> bool:
    return _plain(re.sub(_HEADS, "", architecture)) == _plain(name.removesuffix("_text"))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _by_architecture(architecture: str) -> str | None:
    """The model type that an architecture belongs to, or None."""
    base = re.sub(_HEADS, "", architecture)
    plain = {_plain(each): each for each in KNOWN}
    found = ARCHITECTURES.get(architecture) or ARCHITECTURES.get(base)
    return found or plain.get(_plain(base)) or plain.get(f"{_plain(base)}text")


def _family(kind: str, entries: Entries) -> Family:
    if kind in REFUSED:
        raise UserError(f"{entries.where}: model type {kind!r}: {REFUSED[kind]}; write a profile (docs/models.md)")
    if kind not in KNOWN:
        raise _unknown(entries, kind, None)
    return KNOWN[kind]


def _unknown(entries: Entries, name: str | None, architecture: str | None) -> UserError:
    if name and name.startswith(_ENCODERS):
        return UserError(
            f"{entries.where}: model type {shown(name)} is an encoder or a vision model: it has no KV cache"
        )
    what = f"model type {shown(name)}" if name else "a file without model_type"
    also = f" ({architecture})" if architecture else ""
    return UserError(
        f"{entries.where}: {what}{also} is not known here; {_saw(entries.document)}; write a profile ({HOW})"
    )


def _unknown_wrapper(outer: Entries, name: str | None, architecture: str | None, inner: dict[str, object]) -> UserError:
    if (name or "").startswith(_ENCODERS) or "model_type" not in inner:
        return _unknown(outer, name, architecture)
    return UserError(
        f"{outer.where}: model type {shown(name)} around {shown(inner['model_type'])} is not known here: whether it "
        f"keeps more than the language model does; write a profile ({HOW})"
    )


def _saw(document: object) -> str:
    """The fields that would say what is kept."""
    names = [name for name in document if isinstance(name, str)] if isinstance(document, dict) else []
    telling = [each for each in names if re.search(r"layer|head|kv|window|att|state|ssm|mamba|hidden_size|rank", each)]
    shownames = ", ".join(printable(each) for each in (telling or names)[:40])
    return f"it has {shownames}" if shownames else "it has no fields"
