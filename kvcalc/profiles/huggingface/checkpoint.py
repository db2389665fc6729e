"""What a checkpoint says of its weights' format and of the KV cache's, in config.json or hf_quant_config.json."""

import re
from collections.abc import Mapping

from kvcalc.errors import UserError, printable, shown
from kvcalc.profiles.huggingface.entries import Entries

_KV = {"FP8": "fp8", "NVFP4": "nvfp4", "INT8": "int8"}
_SPEAKS_OF_KV = re.compile(r"(^|_)kv(_|$)|kvcache")
_METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4"}
_METHODS |= {"modelopt_fp4": "nvfp4", "mxfp8": "mxfp8"}
_ALGORITHMS = {"FP8": "fp8", "NVFP4": "nvfp4", "W4A8_AWQ": "int4", "W4A16_AWQ": "int4", "INT8_SQ": "int8"}
_ALGORITHMS |= {"MIXED_PRECISION": "mixed", "FP8_PB_WO": "fp8", "FP8_PER_CHANNEL_PER_TOKEN": "fp8", "MXFP8": "mxfp8"}
_PLAIN = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


def kv_cache(outer: Entries, inner: Entries, quant: Mapping[str, object] | None, where: str) -> str | None:
    """The format that engines take for the KV cache when they are left to choose; None: that of the model.

    `where` names the file that `quant` is. Raises UserError for a format that isn't known, and for two.
    """
    found = {_of(_quantization(quant, where), where)} if quant is not None else set()
    for entries in (outer, inner):
        for name in ("quantization_config", "compression_config"):
            inside = entries.within(name)
            if inside is not None:
                found |= {_of(inside.document, inside.where), _nested(inside)}
    found.discard(None)
    if len(found) > 1:
        raise UserError(
            f"{outer.where}: the KV cache is {' and '.join(sorted(map(str, found)))} by the files; they disagree"
        )
    return found.pop() if found else None


def _quantization(quant: Mapping[str, object], where: str) -> Mapping[str, object]:
    inside = quant.get("quantization")
    if not isinstance(inside, Mapping):
        raise UserError(f"{where}: has no 'quantization'; is it the right file?")
    return inside


def _nested(inside: Entries) -> str | None:
    """ModelOpt's own file inside config.json, and Quark's: what it exported of the KV cache."""
    nested, export = inside.within("quantization"), inside.within("export")
    if export is not None:
        _of(export.document, export.where)
    return _of(nested.document, nested.where) if nested is not None else None


def _of(document: Mapping[str, object], where: str) -> str | None:
    """The KV format that one object states. Raises UserError for anything else that it says of the KV cache."""
    found = set()
    for name, value in document.items():
        if not _SPEAKS_OF_KV.search(name) or name.endswith("_scale") or value in (None, False, 0, "", []):
            continue
        if name not in ("kv_cache_scheme", "kv_cache_quant_algo"):
            raise UserError(
                f"{where}: {printable(name)}: {shown(value)}: what it makes of the KV cache is not known here"
            )
        found.add(_bits(value, where, name) if isinstance(value, Mapping) else _named(value, where, name))
    if len(found) > 1:
        raise UserError(f"{where}: kv_cache_scheme and kv_cache_quant_algo disagree: {' and '.join(sorted(found))}")
    return found.pop() if found else None


def _named(word: object, where: str, name: str) -> str:
    found = _KV.get(word.upper()) if isinstance(word, str) else None
    if found is None:
        raise UserError(f"{where}: {name}: {shown(word)} is not a KV format known here; one of {', '.join(_KV)}")
    return found


def _bits(scheme: Mapping[str, object], where: str, name: str) -> str:
    found = {"8 float": "fp8", "4 float": "nvfp4", "8 int": "int8"}.get(_kind(scheme))
    if found is None:
        raise UserError(f"{where}: {name}: {shown(scheme)} is not a KV format known here")
    return found


def _kind(scheme: Mapping[str, object]) -> str:
    return f"{scheme.get('num_bits')} {scheme.get('type')}"


def weights(outer: Entries, inner: Entries, quant: Mapping[str, object] | None) -> str:
    """The format of the weights: as quantised, else the dtype; "mixed" where it is several or not known."""
    found = quant.get("quantization") if quant else None
    if isinstance(found, Mapping) and found.get("quant_algo"):
        return _ALGORITHMS.get(str(found["quant_algo"]).upper(), "mixed")
    for entries in (outer, inner):
        inside = entries.within("quantization_config")
        if inside is not None:
            return _quantised(inside, inner)
    word = inner.word("dtype", "torch_dtype") or outer.word("dtype", "torch_dtype") or "bfloat16"
    return _PLAIN.get(word.removeprefix("torch."), "bf16")


def _quantised(inside: Entries, inner: Entries) -> str:
    algorithm = inside.raw("quant_algo")
    if isinstance(algorithm, str):
        return _ALGORITHMS.get(algorithm.upper(), "mixed")
    method = inside.raw("quant_method")
    if method == "fp8" and inner.raw("expert_dtype") == "fp4":
        return "fp4-fp8"
    if isinstance(method, str) and method.replace("_", "-") == "compressed-tensors":
        return _compressed(inside)
    if method in ("awq", "gptq"):
        return {4: "int4", 8: "int8"}.get(inside.or_zero("bits", "w_bit"), "mixed")
    return _METHODS.get(method, "mixed") if isinstance(method, str) else "mixed"


def _compressed(inside: Entries) -> str:
    groups = inside.document.get("config_groups")
    found = set()
    for each in groups.values() if isinstance(groups, Mapping) else ():
        weights = each.get("weights") if isinstance(each, Mapping) else None
        text = str(each.get("format") or inside.document.get("format")) if isinstance(each, Mapping) else ""
        four = "mxfp4" if "mxfp4" in text else "nvfp4"
        known = {"8 float": "fp8", "4 float": four, "8 int": "int8", "4 int": "int4"}
        found.add(known.get(_kind(weights), "mixed") if isinstance(weights, Mapping) else "mixed")
    return found.pop() if len(found) == 1 else "mixed"
