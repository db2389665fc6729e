"""How many bytes an engine stores for a vector, by element format.

Sizes of quantised formats include their scales. Sources: vLLM 0.33 `torch_utils.py` and `triton_attn.py` (nvfp4,
per-token-head), SGLang 0.5.23 `pool_configurator.py` (mxfp8, fp4), llama.cpp block sizes (q8_0, q4_0), vLLM
`deepseek_v2.py` and `deepseek_v4/attention.py` (ds_mla).
"""

from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.profiles.model import Compressed, Indexer, Latent, Model


@frozen
class Format:
    """A vector is cut into blocks of `block` elements of `block_bytes` each; a head's vector adds `scale_bytes`."""

    name: str
    block: int
    block_bytes: int
    scale_bytes: int = 0

    def vector(self, width: int) -> int:
        """Bytes of one vector of `width` elements (one head's key, or its value)."""
        if width % self.block:
            raise UserError(f"{self.name} stores blocks of {self.block} elements; a vector of {width} does not divide")
        return width // self.block * self.block_bytes + self.scale_bytes


_ALL = (
    Format("bf16", 1, 2),
    Format("fp16", 1, 2),
    Format("fp8", 1, 1),
    Format("int8", 1, 1),
    Format("nvfp4", 16, 9),  # 16 half-byte elements and an FP8 scale
    Format("fp4", 16, 9),
    Format("mxfp8", 32, 33),
    Format("q8_0", 32, 34),  # 32 bytes and an FP16 scale
    Format("q4_0", 32, 18),
    Format("fp8_per_token_head", 1, 1, scale_bytes=4),
    Format("int8_per_token_head", 1, 1, scale_bytes=4),
    Format("int4_per_token_head", 2, 1, scale_bytes=4),
    Format("fp32", 1, 4),
)
FORMATS = {each.name: each for each in _ALL}
LATENT_ONLY = ("fp8_ds_mla", "nvfp4_ds_mla")
AUTO = "auto"
SPELLINGS = {  # of engines' options and logs, torch and llama.cpp
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "float": "fp32",
    "float8_e4m3fn": "fp8",
    "float8_e4m3fnuz": "fp8",
    "float8_e5m2": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "float4_e2m1fn_x2": "nvfp4",
    "f16": "fp16",
    "f32": "fp32",
}
NAMES = (*FORMATS, *LATENT_ONLY, AUTO)
SIXTEEN_BIT = ("bf16", "fp16")
UNQUANTISED = (*SIXTEEN_BIT, "fp32")


def stored(model: Model, kv_dtype: str) -> str:
    """The format that engines really store for `kv_dtype`: sparse latent models keep FP8 as fp8_ds_mla.

    "auto" is what engines choose when they aren't told: the checkpoint's own format, else that of the model. Engines'
    spellings serve too: fp8_e4m3 is fp8.

    Raises UserError for a format that no engine known here stores for this model.
    """
    kv_dtype = named(kv_dtype)
    if kv_dtype == AUTO:
        kv_dtype = _chosen(model)
    latent = any(isinstance(group, Latent) for group in model.groups)
    compressed = any(isinstance(group, Compressed) for group in model.groups)
    sparse = compressed or (latent and any(isinstance(group, Indexer) for group in model.groups))
    name = f"{kv_dtype}_ds_mla" if sparse and kv_dtype in ("fp8", "nvfp4") else kv_dtype
    allowed = _allowed(latent, sparse, compressed)
    if name not in allowed:
        raise UserError(
            f"no engine known here stores the KV of {model.name!r} as {kv_dtype}; one of {', '.join(allowed)}"
        )
    return name


def named(kv_dtype: str) -> str:
    """A format by the name that it has here. Raises UserError for an unknown one."""
    found = SPELLINGS.get(kv_dtype, kv_dtype)
    if found not in NAMES:
        raise UserError(f"no KV format {shown(kv_dtype)}; one of {', '.join(NAMES)}")
    return found


def _chosen(model: Model) -> str:
    """vLLM 0.33.0 `attention.py` (the checkpoint's scheme), `models/deepseek_v4/attention.py` (always FP8)."""
    if any(isinstance(group, Compressed) for group in model.groups):
        return "fp8"
    return model.kv_cache or ("fp16" if model.checkpoint == "fp16" else "bf16")


def _allowed(latent: bool, sparse: bool, compressed: bool) -> tuple[str, ...]:
    if compressed:
        return (*SIXTEEN_BIT, "fp8_ds_mla")
    if sparse:
        return (*SIXTEEN_BIT, "fp8_ds_mla", "nvfp4_ds_mla")
    if latent:
        return (*SIXTEEN_BIT, "fp8", "nvfp4", "q8_0")  # vLLM, SGLang; SGLang; llama.cpp
    return tuple(FORMATS)


def latent_entry(rank: int, rope: int, name: str) -> int:
    """Bytes of one token's latent in one layer: 656 for fp8_ds_mla, 352 for nvfp4_ds_mla at rank 512 and rope 64."""
    if name == "fp8_ds_mla":
        return rank + rank // 128 * 4 + 2 * rope  # FP8 latent, an FP32 scale for 128 elements, 16-bit rotary part
    if name == "nvfp4_ds_mla":
        return rank // 2 + rank // 16 + rope  # FP4 latent, an FP8 scale for 16 elements, FP8 rotary part
    return FORMATS[name].vector(rank + rope)


def compressed_entry(width: int, rope: int, name: str) -> int:
    """Bytes of one compressed entry in one layer: 584 for fp8_ds_mla at width 512 and rope 64."""
    if name == "fp8_ds_mla":
        return (width - rope) + 2 * rope + 8  # FP8, 16-bit rotary part, seven scales and a byte of padding
    return FORMATS[name].vector(width)


def index_entry(width: int, scaled: bool, name: str) -> int:
    """Bytes of one index key in one layer: 132 for width 128 where it is kept as FP8 with an FP32 scale."""
    return width + 4 if scaled else FORMATS[name].vector(width)
