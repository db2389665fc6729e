"""What a log's fields count, in words, and between which bounds a figure can be one."""

import re
from typing import Literal

from kvcalc import units
from kvcalc.frozen import frozen

Unit = Literal["bytes", "tokens", "blocks", "requests", "layers", "ranks", "states", "fraction", "percent", "text"]
Value = int | float | str


@frozen
class Field:
    """Words for a page, and a unit. Without words a field is a reader's own and no finding."""

    words: str
    unit: Unit
    signed: bool = False  # engines print it below zero where memory ran out


FIELDS: dict[str, Field] = {
    "version": Field("engine version", "text"),
    "model": Field("model", "text"),
    "weight_dtype": Field("format of the weights", "text"),
    "quantization": Field("quantization of the weights", "text"),
    "kv_dtype": Field("KV format", "text"),
    "k_format": Field("format of the keys", "text"),
    "v_format": Field("format of the values", "text"),
    "refusal": Field("no memory is left for KV", "text"),
    "merged": Field("", "text"),
    "cache_kind": Field("", "text"),
    "tp": Field("tensor-parallel degree", "ranks"),
    "pp": Field("pipeline-parallel degree", "ranks"),
    "dp": Field("data-parallel degree", "ranks"),
    "max_model_len": Field("longest request", "tokens"),
    "fitting_tokens": Field("longest request that fits", "tokens"),
    "kv_tokens": Field("KV cache size", "tokens"),
    "pool_tokens": Field("KV cache size", "tokens"),
    "scheduler_tokens": Field("KV cache size for the scheduler", "tokens"),
    "full_tokens": Field("KV cache size of the full layers", "tokens"),
    "window_tokens": Field("KV cache size of the windowed layers", "tokens"),
    "window": Field("attention window of a pool", "tokens"),
    "kv_size": Field("KV cache size", "tokens"),
    "cells": Field("KV cache size", "tokens"),
    "block_tokens": Field("block size", "tokens"),
    "blocks": Field("blocks in the GPU", "blocks"),
    "override_blocks": Field("blocks in the GPU, as overridden", "blocks"),
    "cpu_blocks": Field("blocks in host memory", "blocks"),
    "max_concurrency": Field("requests of the longest length at once", "requests"),
    "layers": Field("layers with KV", "layers"),
    "kv_layers": Field("layers with KV", "layers"),
    "slots": Field("recurrent states", "states"),
    "memory_utilization": Field("share of the memory that may be used", "fraction"),
    "available_kv_bytes": Field("memory for KV", "bytes", signed=True),
    "used_bytes": Field("memory for KV in use", "bytes", signed=True),
    "k_bytes": Field("size of the keys", "bytes", signed=True),
    "v_bytes": Field("size of the values", "bytes", signed=True),
    "kv_bytes": Field("size of keys and values", "bytes", signed=True),
    "both_bytes": Field("size of the full and the windowed pool", "bytes", signed=True),
    "cache_bytes": Field("size of the KV cache", "bytes"),
    "buffer_bytes": Field("KV buffer of a device", "bytes"),
    "conv_bytes": Field("size of the convolution states", "bytes"),
    "ssm_bytes": Field("size of the recurrent states", "bytes"),
    "state_bytes": Field("size of the recurrent states", "bytes"),
    "needed_bytes": Field("memory that the longest request needs", "bytes"),
    "device_bytes": Field("memory of the device", "bytes"),
    "free_bytes": Field("free memory of the device", "bytes"),
    "requested_bytes": Field("memory that may be used", "bytes"),
    "weights_bytes": Field("size of the weights", "bytes"),
    "model_bytes": Field("size of the weights on a device", "bytes"),
    "consumed_bytes": Field("weights and non-torch memory", "bytes"),
    "non_torch_bytes": Field("non-torch memory", "bytes", signed=True),
    "activation_bytes": Field("peak of the activations", "bytes"),
    "compute_bytes": Field("compute buffer of a device", "bytes"),
    "graphs_bytes": Field("CUDA graphs", "bytes"),
    "offload_bytes": Field("host memory for KV, of all ranks", "bytes"),
    "host_bytes": Field("host memory for KV, allocated by a rank", "bytes"),
    "host_asked_bytes": Field("host memory for KV, asked for a rank", "bytes"),
    "usage_percent": Field("KV cache in use", "percent"),
    "hbm_percent": Field("prefix cache hit rate", "percent"),
    "external_percent": Field("external prefix cache hit rate", "percent"),
    "stored": Field("tokens that LMCache stored, of all lines of a worker", "tokens"),
    "retrieved": Field("tokens that LMCache retrieved, of all lines of a worker", "tokens"),
}

SEPARATORS = ",.'\u2019 \u00a0\u2009\u202f"  # what locales part thousands with
_WHOLE = re.compile(
    rf"\d{{1,15}}|\d{{1,3}}([{SEPARATORS}])\d{{3}}(?:\1\d{{3}}){{0,4}}|\d{{1,2}}(?:,\d{{2}}){{1,4}},\d{{3}}", re.ASCII
)
_DECIMAL = re.compile(r"\d{1,15}(?:\.\d{1,15})?|\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,15})?", re.ASCII)
_COMMA = re.compile(r"\d{1,15},\d{1,2}", re.ASCII)  # three digits behind it would be thousands
_SIZE = re.compile(r"(.*?)\s*([KMGT]?)i?(?:B|bytes)", re.ASCII | re.DOTALL)
_COUNTS = ("tokens", "blocks", "layers", "ranks", "states")


def figure(name: str, text: str, unit: str) -> int | float | None:
    """The value of a field whose text a log gives; None for text that is no such figure or that nothing can have.

    `unit` is that of a size without one; its "i" holds for the text's own unit too, as engines print GB for GiB.
    """
    field = FIELDS[name]
    body, scale = text, 1.0
    if field.unit == "bytes" and (sized := _SIZE.fullmatch(text)):
        binary = "i" if unit.endswith("iB") and sized[2] else ""
        body, scale = sized[1], units.size(f"1 {sized[2]}{binary}B")
    elif field.unit == "bytes":
        scale = units.size(f"1 {unit}")
    value = _number(body, whole=field.unit in _COUNTS)
    if value is None:
        return None
    scaled = value * scale if field.unit == "bytes" else value
    return scaled if _possible(name, scaled) else None


def _number(text: str, *, whole: bool) -> int | float | None:
    bare = text.strip().rstrip(".,")
    negative, bare = bare.startswith("-"), bare.removeprefix("-")
    if whole:
        found = _WHOLE.fullmatch(bare)
        return None if found is None or negative else int(re.sub(r"\D", "", bare))
    if _COMMA.fullmatch(bare):
        bare = bare.replace(",", ".")
    if not _DECIMAL.fullmatch(bare):
        return None
    value = float(bare.replace(",", ""))
    return -value if negative else value


def _possible(name: str, value: int | float) -> bool:
    field = FIELDS[name]
    if value < 0 and not field.signed:
        return False
    match field.unit:
        case "fraction":
            return value <= 1
        case "percent":
            return value <= 100
        case "bytes" | "requests":
            return units.physical(abs(value))
    least = 1 if field.unit == "ranks" or name in ("max_model_len", "block_tokens") else 0
    limit = units.LONGEST_PROMPT if name in ("max_model_len", "fitting_tokens") else units.LARGEST_COUNT
    return least <= value <= limit
