"""Feed-forward blocks: dense ones, and routers with experts; None where the file's fields don't suffice."""

from dataclasses import dataclass, replace

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface import kinds, mambas
from kvcalc.profiles.huggingface.entries import MOST_LAYERS, Entries

Block = dict[str, object]  # a feed-forward block of the profile without its number of layers

EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
TOP_K = (
    "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_top_k", "top_k_experts",
    "moe_k",
)  # fmt: skip
EXPERT_WIDTH = ("moe_intermediate_size",)
SHARED_COUNT = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert")
SHARED_WIDTH = (
    "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim",
    "shared_intermediate_size",
)  # fmt: skip
LATENT_WIDTH = ("moe_latent_size", "routed_expert_hidden_size")
DENSE_WIDTH = ("intermediate_size", "ffn_dim", "d_ff", "n_inner", "ffn_hidden_size", "decoder_ffn_dim")
WHERE = (
    "mlp_layer_types", "moe_layer_freq", "moe_layers_enum", "mlp_only_layers", "decoder_sparse_step",
    "interleave_moe_layer_step", "moe_layers", "first_k_dense_replace", "num_dense_layers", "expert_layer_period",
    "expert_layer_offset", "moe_layer_start_index", "moe_layer_end_index", "moe_layer_interval",
)  # fmt: skip
ALL = (*EXPERTS, *TOP_K, *EXPERT_WIDTH, *SHARED_COUNT, *SHARED_WIDTH, *LATENT_WIDTH, *WHERE)


@dataclass(frozen=True)
class Shape:
    """How a class shapes its blocks; called with the entries and the number of layers."""

    gated: bool = True  # three matrices (SwiGLU) instead of two
    dense: tuple[str, ...] = DENSE_WIDTH
    expert: tuple[str, ...] = EXPERT_WIDTH
    shared: tuple[str, ...] = SHARED_WIDTH
    four: bool = False  # without a width the dense block is four times the hidden width
    always_shared: bool = False  # the shared expert is as wide as a routed one (Llama 4)

    def __call__(self, entries: Entries, layers: int) -> list[Block] | None:
        """The block of each layer, or None."""
        entries.read.update((*ALL, *self.expert, *self.shared))
        sparse = where(entries, layers) if (_one(entries, *EXPERTS) or 0) > 1 else [False] * layers
        blocks = {each: self._block(entries, each) for each in set(sparse)}
        return None if None in blocks.values() else [blocks[each] or {} for each in sparse]

    def _block(self, entries: Entries, sparse: bool) -> Block | None:
        return self.experts(entries) if sparse else self.plain(entries)

    def plain(self, entries: Entries) -> Block | None:
        """A dense block."""
        width = _one(entries, *self.dense)
        if width is None and self.four:
            width = 4 * entries.hidden()
        return self._with_gate({"width": width}) if width else None

    def experts(self, entries: Entries) -> Block | None:
        """A router with its experts."""
        experts, top_k, width = _one(entries, *EXPERTS), _one(entries, *TOP_K), _one(entries, *self.expert)
        if not (experts and top_k and width):
            return None
        if top_k > experts:
            raise UserError(f"{entries.where}: a token can't pass {top_k} of {experts} experts")
        block: Block = {"width": width, "experts": experts, "top_k": top_k}
        shared = width if self.always_shared else self._shared(entries, width)
        latent = _one(entries, *LATENT_WIDTH)
        block |= {"shared_width": shared} if shared else {}
        return self._with_gate(block | ({"latent_width": latent} if latent else {}))

    def _shared(self, entries: Entries, width: int) -> int:
        given, count = _one(entries, *self.shared), _one(entries, *SHARED_COUNT)
        if given:
            return given * (count or 1) if entries.has("moe_shared_expert_intermediate_size") else given
        return width * (count or 0)

    def _with_gate(self, block: Block) -> Block:
        return block if self.gated else block | {"gated": False}


def _one(entries: Entries, *names: str) -> int | None:
    """The first of these that is there: a number, or the one number that a list of one for each layer repeats.

    None for none, 0 or different ones.
    """
    name = next((each for each in names if entries.has(each)), names[0])
    value = entries.raw(name)
    if isinstance(value, list):
        found = set(map(str, value))
        if len(found) != 1 or len(value) > MOST_LAYERS:
            return None
        return entries.whole(value[0], (name,), 0) or None
    return entries.maybe(name, least=0) or None


def where(entries: Entries, layers: int) -> list[bool]:
    """Which layers have experts, by any of the spellings; all of them where the file says nothing."""
    listed = entries.values("mlp_layer_types")
    if listed is not None and len(listed) >= layers:
        return [each != "dense" for each in listed[:layers]]
    frequency = entries.raw("moe_layer_freq")
    if isinstance(frequency, list):
        return _flags(entries, frequency, layers)
    found = _by_number(entries, layers)
    dense = set(entries.counts("mlp_only_layers") or [])
    return [each and layer not in dense for layer, each in enumerate(found)]


def _flags(entries: Entries, frequency: list[object], layers: int) -> list[bool]:
    if len(frequency) < layers or not all(each in (0, 1) for each in frequency):
        raise entries.refuse("moe_layer_freq", f"is not a 0 or 1 for each of {layers} layers")
    return [bool(each) for each in frequency[:layers]]


def _by_number(entries: Entries, layers: int) -> list[bool]:
    named = entries.raw("moe_layers_enum")
    if isinstance(named, str):
        chosen = {each.strip() for each in named.split(",")}
        return [str(layer) in chosen for layer in range(layers)]
    if entries.has("expert_layer_period"):
        period, offset = entries.count("expert_layer_period"), entries.or_zero("expert_layer_offset")
        return [layer % period == offset for layer in range(layers)]
    step = entries.maybe("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval") or 1
    dense = entries.or_zero("first_k_dense_replace") or entries.or_zero("num_dense_layers")
    first = entries.or_zero("moe_layer_start_index") or dense
    last = entries.raw("moe_layer_end_index")
    end = last if type(last) is int and last >= 0 else layers - 1
    return [first <= layer <= end and (layer + 1) % step == 0 for layer in range(layers)]


def nemotron(entries: Entries, _: int) -> list[Block] | None:
    """Nemotron-H: only some of the blocks are feed-forward ones, without gates."""
    shape = Shape(gated=False)
    entries.read.update(ALL)
    found = mambas.blocks(entries)
    made: list[Block | None] = []
    for kind in (kinds.FEED_FORWARD, kinds.EXPERTS):
        block = shape.plain(entries) if kind == kinds.FEED_FORWARD else shape.experts(entries)
        made += [block] * found.count(kind)
    return None if None in made else [each for each in made if each]


def nemotron_nas(entries: Entries, _: int) -> list[Block] | None:
    """Nemotron-NAS: int(2 x ffn_mult x hidden / 3), rounded up to 256 (vLLM 0.33.0 models/nemotron_nas.py)."""
    found: list[Block] = []
    for each in entries.values("block_configs") or []:
        inside = each.get("ffn") if isinstance(each, dict) else None
        if not isinstance(inside, dict) or inside.get("replace_with_linear"):
            return None
        factor = inside.get("ffn_mult")
        if inside.get("no_op"):
            continue
        if not isinstance(factor, int | float) or not 0 < factor < 100:
            return None
        width = int(2 * factor * entries.hidden() / 3)
        found.append({"width": -(-width // 256) * 256})
    entries.read.update(("intermediate_size", *ALL))
    return found


def dbrx(entries: Entries, layers: int) -> list[Block] | None:
    """DBRX: the sizes lie in ffn_config."""
    inside = entries.within("ffn_config")
    entries.read.update(ALL)
    block = replace(Shape(), expert=("ffn_hidden_size",)).experts(inside) if inside else None
    return None if block is None else [block] * layers


def mpt(entries: Entries, layers: int) -> list[Block] | None:
    """MPT: expansion_ratio x hidden, without gates."""
    ratio = entries.maybe("expansion_ratio") or 4
    return [{"width": ratio * entries.hidden(), "gated": False}] * layers


def adjusted(entries: Entries, layers: int) -> list[Block] | None:
    """LFM2: two thirds of the width, rounded up, as its class adjusts it."""
    width = entries.maybe("block_ff_dim", "intermediate_size")
    entries.read.update(ALL)
    if width is None:
        return None
    if entries.flag("block_auto_adjust_ff_dim"):
        multiplier = entries.raw("block_ffn_dim_multiplier")
        factor = multiplier if isinstance(multiplier, int | float) and 0 < multiplier < 100 else 1
        step = entries.maybe("block_multiple_of") or 1
        width = -(-int(factor * int(2 * width / 3)) // step) * step
    return [{"width": width}] * layers


def gemma4(entries: Entries, layers: int) -> list[Block] | None:
    """Gemma 4: a dense block in every layer, beside the experts where there are any."""
    entries.read.update(ALL)
    dense = entries.maybe("intermediate_size")
    if dense is None or entries.or_zero("hidden_size_per_layer_input") or entries.flag("use_double_wide_mlp"):
        return None  # embeddings of each layer aren't counted here
    if not entries.flag("enable_moe_block"):
        return [{"width": dense}] * layers
    block = Shape(shared=("intermediate_size",)).experts(entries)
    return None if block is None else [block] * layers


def unknown(entries: Entries, _: int) -> list[Block] | None:
    """Classes whose weights this count doesn't know."""
    entries.read.update((*ALL, *DENSE_WIDTH))
    return None
