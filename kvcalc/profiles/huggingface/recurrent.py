"""Layers that keep a state of constant size: Mamba, delta nets, lightning attention, short convolutions.

Shapes as in vLLM 0.33.0 `model_executor/layers/mamba/mamba_utils.py`; the state's own dtype decides twofold.
"""

from kvcalc.errors import UserError, shown
from kvcalc.profiles.huggingface.entries import ABSENT, Entries
from kvcalc.profiles.huggingface.grouped import State, head_width

_BYTES = {"float32": 4, "fp32": 4, "bfloat16": 2, "bf16": 2, "float16": 2, "fp16": 2}
_MODEL = ("dtype", "torch_dtype")


def element_bytes(entries: Entries) -> int:
    """Bytes of an element in the model's own dtype, which convolutions keep; 2 where the file doesn't say."""
    word = entries.word(*_MODEL)
    if word is None:
        return 2
    found = _BYTES.get(word.removeprefix("torch."))
    if found is None:
        raise UserError(f"{entries.where}: dtype: {shown(word)} is not a dtype known here")
    return min(found, 2)  # engines serve FP32 checkpoints in 16 bits


def state_bytes(entries: Entries, default: int | None, *names: str) -> int:
    """Bytes of an element of the state: the file's entry, else the engine's default, else the model's dtype."""
    value = entries.raw(*names) if names else ABSENT
    if value is None or value is ABSENT or value == "auto":
        found = default or element_bytes(entries)
        what = "FP32, vLLM's default" if default else "the model's dtype, vLLM's default; SGLang keeps FP32"
        entries.assume(f"the state's dtype is not in the file: {what}")
        return found
    if not isinstance(value, str) or value not in _BYTES:
        raise UserError(f"{entries.where}: {names[0]}: {shown(value)} is not a dtype known here")
    return _BYTES[value]


SSM_DTYPE = ("mamba_ssm_cache_dtype", "mamba_ssm_dtype")


def mamba2(entries: Entries, inner: int | None = None, default: int | None = None) -> State:
    """Mamba-2 by any of its spellings. The inner width is heads x head width, or what the class computes (`inner`)."""
    heads = entries.count("mamba_num_heads", "mamba_n_heads", "n_mamba_heads")
    width = entries.raw("mamba_head_dim", "mamba_d_head", "mamba_headdim")
    each = _head(entries, width, heads, inner)
    size = entries.count("ssm_state_size", "mamba_d_state", "state_size", "mamba_state_dim")
    groups = entries.count("n_groups", "mamba_n_groups", "mamba_ngroups", "mamba_num_groups")
    kernel = entries.count("conv_kernel", "mamba_d_conv")
    return _mamba2(entries, (heads, each, size, groups, kernel), default)


def _head(entries: Entries, width: object, heads: int, inner: int | None) -> int:
    if width is None or width is ABSENT or width == "auto":
        if inner is None or inner % heads:
            raise entries.missing("mamba_head_dim")
        return inner // heads
    found = entries.whole(width, ("mamba_head_dim", "mamba_d_head", "mamba_headdim"))
    if inner is not None and found * heads != inner:
        raise UserError(f"{entries.where}: {heads} Mamba heads of {found} don't make the inner width {inner}")
    return found


def plain_mamba2(entries: Entries) -> State:
    """Mamba2Config: the plain names num_heads and head_dim are those of the state."""
    heads, each = entries.count("num_heads"), entries.count("head_dim")
    size, groups = entries.count("state_size"), entries.count("n_groups")
    return _mamba2(entries, (heads, each, size, groups, entries.count("conv_kernel")), None)


def _mamba2(entries: Entries, shape: tuple[int, int, int, int, int], default: int | None) -> State:
    heads, each, size, groups, kernel = shape
    _read_details(entries)
    inner = heads * each
    channels = inner + 2 * groups * size
    return {
        "kind": "recurrent",
        "rule": "mamba-2",
        "heads": heads,
        "key_width": size,
        "value_width": each,
        "state_bytes": state_bytes(entries, default, *SSM_DTYPE),
        "conv_channels": channels,
        "conv_kernel": kernel,
        "conv_bytes": element_bytes(entries),
        "input_width": inner + channels + heads,
    }


def _read_details(entries: Entries) -> None:
    """Switches, bounds and names of functions of Mamba layers: what changes the state's size is a whole number."""
    details = (name for name, value in entries.document.items() if type(value) is not int)
    entries.read.update(name for name in details if name.startswith(("mamba_", "ssm_")))
    entries.read.add("chunk_size")  # tokens that a kernel takes at a time


def expanded(entries: Entries, *names: str) -> int:
    """The inner width: expand x hidden. Raises UserError where that is no whole number."""
    factor = entries.raw(*names)
    hidden = entries.hidden()
    if not isinstance(factor, int | float) or isinstance(factor, bool) or not 0 < factor <= 64:
        raise UserError(f"{entries.where}: {names[0]}: {shown(factor)} is not a number from 0 to 64")
    if (factor * hidden) % 1:
        raise UserError(f"{entries.where}: {names[0]}: {shown(factor)} x {hidden} is not a whole number")
    return int(factor * hidden)


def mamba1(entries: Entries) -> State:
    """Mamba-1: each channel has a state of its own; the time step's projections are counted with the inputs."""
    inner, hidden = expanded(entries, "mamba_expand", "expand"), entries.hidden()
    _read_details(entries)
    size = entries.count("mamba_d_state", "state_size")
    rank = entries.raw("mamba_dt_rank", "time_step_rank")
    names = ("mamba_dt_rank", "time_step_rank")
    step = -(-hidden // 16) if rank in (None, ABSENT, "auto") else entries.whole(rank, names)
    return {
        "kind": "recurrent",
        "rule": "mamba-1",
        "heads": inner,
        "key_width": size,
        "value_width": 1,
        "state_bytes": state_bytes(entries, None, *SSM_DTYPE),
        "conv_channels": inner,
        "conv_kernel": entries.count("mamba_d_conv", "conv_kernel"),
        "conv_bytes": element_bytes(entries),
        "input_width": 2 * inner + inner * (2 * step + 2 * size) // hidden,
    }


def gated_delta(entries: Entries) -> State:
    """Gated delta net (Qwen3-Next, Qwen3.5)."""
    keys, values = entries.count("linear_num_key_heads"), entries.count("linear_num_value_heads")
    key, value = entries.count("linear_key_head_dim"), entries.count("linear_value_head_dim")
    channels = 2 * keys * key + values * value
    return {
        "kind": "recurrent",
        "rule": "gated-delta",
        "heads": values,
        "key_width": key,
        "value_width": value,
        "state_bytes": state_bytes(entries, None, *SSM_DTYPE),
        "conv_channels": channels,
        "conv_kernel": entries.count("linear_conv_kernel_dim"),
        "conv_bytes": element_bytes(entries),
        "input_width": channels + values * value + 2 * values,  # queries, keys, values; output gate; decay and step
    }


def kimi_delta(entries: Entries, heads: int, width: int, kernel: int) -> State:
    """Kimi delta attention: vLLM keeps its state in FP32. The gates go through `width` elements each."""
    channels = 3 * heads * width
    return {
        "kind": "recurrent",
        "rule": "kimi-delta",
        "heads": heads,
        "key_width": width,
        "value_width": width,
        "state_bytes": state_bytes(entries, 4),
        "conv_channels": channels,
        "conv_kernel": kernel,
        "conv_bytes": element_bytes(entries),
        "input_width": channels + heads + 2 * width,
    }


def lightning(entries: Entries, default: int | None = 4) -> State:
    """Lightning attention: a square state for each head, no convolution; in FP32 (MiniMax) or the model's dtype."""
    heads, width = entries.heads(), head_width(entries)
    return {
        "kind": "recurrent",
        "rule": "lightning",
        "heads": heads,
        "key_width": width,
        "value_width": width,
        "state_bytes": state_bytes(entries, default),
        "conv_channels": 0,
        "conv_kernel": 0,
        "conv_bytes": 2,
        "input_width": 4 * heads * width,  # queries, keys, values and the output gate
    }


def short_convolution(entries: Entries) -> State:
    """LFM2: a gated convolution that remembers conv_L_cache - 1 tokens, and no other state."""
    width = entries.maybe("conv_dim") or entries.hidden()
    return {
        "kind": "recurrent",
        "rule": "short-conv",
        "heads": width,
        "key_width": 0,
        "value_width": 1,
        "state_bytes": 2,
        "conv_channels": width,
        "conv_kernel": entries.count("conv_L_cache"),
        "conv_bytes": element_bytes(entries),
        "input_width": 3 * width,
    }
