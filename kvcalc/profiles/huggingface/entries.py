"""The entries of a configuration: read by kind, remembered, and taken from the class where a file leaves them out.

What is absent and what is null are different things: MistralConfig has a window of 4,096 tokens unless the file says
null. transformers writes every entry of a configuration but those of nested ones that equal their class's default.
"""

from collections.abc import Mapping

from kvcalc import units
from kvcalc.errors import UserError, shown

LARGEST = units.LARGEST_COUNT // 1000  # no width, count or window of a model is larger
MOST_LAYERS = 10_000
ABSENT = object()
FACTS = "_facts_from"  # marks facts under the names of Hugging Face, where an absent window means none

# Rules of a class, which hold for a whole file too; sizes are taken from the class in nested configurations only.
RULES = frozenset((
    "num_key_value_heads", "num_kv_heads", "head_dim", "sliding_window", "use_sliding_window", "max_window_layers",
    "sliding_window_pattern", "global_attn_every_n_layers", "no_rope_layer_interval", "tie_word_embeddings",
    "multi_query", "new_decoder_architecture", "mamba_ssm_cache_dtype", "mamba_expand", "mamba_d_conv", "conv_kernel",
    "expand", "linear_conv_kernel_dim", "short_conv_kernel_size", "conv_L_cache", "use_mla", "decoder_sparse_step",
    "block_auto_adjust_ff_dim", "block_multiple_of", "mamba_dt_rank", "time_step_rank", "attn_output_gate",
    "index_kpool", "mamba_ngroups", "mamba_n_groups", "n_groups",
))  # fmt: skip


def _as_json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Entries:
    """One object of a configuration; every name that is asked for counts as read."""

    def __init__(
        self,
        document: Mapping[str, object],
        where: str,
        defaults: Mapping[str, object] | None = None,
        nested: bool = False,
        assumed: list[str] | None = None,
    ) -> None:
        self.document, self.where, self.nested = document, where, nested
        self.defaults = defaults or {}
        self.assumed = assumed if assumed is not None else []
        self.read: set[str] = set()

    def raw(self, *names: str) -> object:
        """The value of the first of some spellings; None for null, the class's default or ABSENT for what isn't there.

        Raises UserError where two spellings disagree.
        """
        self.read.update(names)
        given = {name: self.document[name] for name in names if self.document.get(name) is not None}
        if given:
            first, *others = given
            wrong = next((name for name in others if given[name] != given[first]), None)
            if wrong:
                values = f"{first} is {shown(given[first])} and {wrong} {shown(given[wrong])}"
                raise UserError(f"{self.where}: {values}; they mean the same")
            return given[first]
        if any(name in self.document for name in names):
            return None
        return self._from_class(names)

    def _from_class(self, names: tuple[str, ...]) -> object:
        for name in names:
            value = self.defaults.get(name)
            if name == "sliding_window" and FACTS in self.document:
                continue
            if value is not None and (self.nested or name in RULES):
                self.assume(f"{name} is not in the file: {_as_json(value)}, the default of {self.defaults['class']}")
                return value
        return ABSENT

    def assume(self, line: str) -> None:
        """Remember what was not in the file, once."""
        if line not in self.assumed:
            self.assumed.append(line)

    @property
    def class_name(self) -> str:
        """The class of transformers, else the model type."""
        return str(self.defaults.get("class") or self.document.get("model_type"))

    def has(self, *names: str) -> bool:
        """Does the file itself have one of these, not null?"""
        self.read.update(names)
        return any(self.document.get(name) is not None for name in names)

    def count(self, *names: str) -> int:
        """A whole number above zero. Raises UserError without one."""
        found = self.maybe(*names)
        if found is None:
            raise self.missing(*names)
        return found

    def maybe(self, *names: str, least: int = 1) -> int | None:
        """A whole number of at least `least`, or None where there is none."""
        value = self.raw(*names)
        return None if value is None or value is ABSENT else self.whole(value, names, least)

    def or_zero(self, *names: str) -> int:
        """A whole number, 0 where there is none."""
        return self.maybe(*names, least=0) or 0

    def whole(self, value: object, names: tuple[str, ...], least: int = 1) -> int:
        """The value as a whole number in bounds. Raises UserError for anything else."""
        name = next((each for each in names if each in self.document), names[0])
        if type(value) is not int:
            raise UserError(f"{self.where}: {name}: {shown(value)} is not a whole number")
        if not least <= value <= LARGEST:
            raise UserError(f"{self.where}: {name}: {shown(value)} is not between {least} and {LARGEST:,}")
        return value

    def flag(self, name: str) -> bool:
        """true or false; false where there is none."""
        value = self.raw(name)
        if value is None or value is ABSENT:
            return False
        if not isinstance(value, bool):
            raise UserError(f"{self.where}: {name}: {shown(value)} is not true or false")
        return value

    def word(self, *names: str) -> str | None:
        """A text, or None where there is none."""
        value = self.raw(*names)
        if value is None or value is ABSENT:
            return None
        if not isinstance(value, str):
            raise UserError(f"{self.where}: {names[0]}: {shown(value)} is not a text")
        return value

    def values(self, *names: str) -> list[object] | None:
        """A list, or None where there is none."""
        value = self.raw(*names)
        if value is None or value is ABSENT:
            return None
        if not isinstance(value, list) or len(value) > MOST_LAYERS:
            raise UserError(f"{self.where}: {names[0]}: {shown(value)} is not a list, or too long a one")
        return value

    def counts(self, *names: str, least: int = 0) -> list[int] | None:
        """A list of whole numbers, or None where there is none."""
        found = self.values(*names)
        return None if found is None else [self.whole(each, names, least) for each in found]

    def within(self, name: str) -> "Entries | None":
        """The entries of an object inside this one, or None where there is none."""
        value = self.raw(name)
        if value is None or value is ABSENT:
            return None
        if not isinstance(value, Mapping):
            raise UserError(f"{self.where}: {name}: {shown(value)} is not an object")
        return Entries(value, f"{self.where}: {name}", assumed=self.assumed, nested=True)

    def missing(self, *names: str) -> UserError:
        """What to raise for an entry that is needed and not there."""
        return UserError(f"{self.where}: {names[0]} is missing; is this the whole config.json?")

    def refuse(self, name: str, why: str) -> UserError:
        """What to raise for an entry whose meaning isn't known here."""
        return UserError(f"{self.where}: {name}: {shown(self.document.get(name))}: {why}")

    def layers(self) -> int:
        """How many layers the decoder has."""
        return self.bounded(self.count("num_hidden_layers", "n_layer", "n_layers", "num_layers"))

    def bounded(self, layers: int) -> int:
        """A number of layers. Raises UserError for more than any model has."""
        if layers > MOST_LAYERS:
            raise UserError(f"{self.where}: {layers:,} layers are more than any model has")
        return layers

    def hidden(self) -> int:
        """The width of what passes from layer to layer."""
        return self.count("hidden_size", "n_embd", "d_model", "n_embed")

    def heads(self) -> int:
        """Query heads of a layer."""
        return self.count("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads")
