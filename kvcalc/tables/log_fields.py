"""What the figures of a log are called, for people."""

from kvcalc import units
from kvcalc.observe.observation import Finding

# Field of a finding: what it is, and the unit of what isn't bytes.
FIELDS = {
    "activation_bytes": ("activations at their peak", ""),
    "available_kv_bytes": ("KV pool of a rank", ""),
    "block_tokens": ("block", "tokens"),
    "blocks": ("blocks on the GPU", "blocks"),
    "both_bytes": ("pools of full and windowed layers together", ""),
    "buffer_bytes": ("KV buffer", ""),
    "cache_bytes": ("KV cache", ""),
    "cache_kind": ("kind of cache", ""),
    "cells": ("cells of the cache", "tokens"),
    "compute_bytes": ("compute buffer", ""),
    "consumed_bytes": ("weights and memory outside PyTorch", ""),
    "conv_bytes": ("convolution states", ""),
    "cpu_blocks": ("blocks in host memory", "blocks"),
    "device_bytes": ("device memory", ""),
    "dp": ("data-parallel replicas", ""),
    "external_percent": ("prefix-cache hits outside HBM", "%"),
    "fitting_tokens": ("longest request that fits", "tokens"),
    "free_bytes": ("free memory", ""),
    "full_tokens": ("pool of full layers", "tokens"),
    "graphs_bytes": ("CUDA graphs", ""),
    "hbm_percent": ("prefix-cache hits in HBM", "%"),
    "host_asked_bytes": ("host pool asked for, a rank", ""),
    "host_bytes": ("host pool allocated, a rank", ""),
    "k_bytes": ("keys", ""),
    "k_format": ("format of keys", ""),
    "kv_bytes": ("keys and values", ""),
    "kv_dtype": ("KV format", ""),
    "kv_layers": ("layers with KV cache", ""),
    "kv_size": ("cells of the cache", "tokens"),
    "kv_tokens": ("KV cache", "tokens"),
    "layers": ("layers", ""),
    "max_concurrency": ("requests of the longest length", "requests"),
    "max_model_len": ("longest length", "tokens"),
    "memory_utilization": ("share of the memory", ""),
    "model": ("model", ""),
    "model_bytes": ("weights", ""),
    "needed_bytes": ("KV cache for the longest request", ""),
    "non_torch_bytes": ("memory outside PyTorch", ""),
    "offload_bytes": ("host pool asked for, all ranks", ""),
    "pool_tokens": ("a pool", "tokens"),
    "pp": ("pipeline stages", ""),
    "quantization": ("format of weights", ""),
    "requested_bytes": ("what the engine may use", ""),
    "retrieved": ("retrieved from LMCache", "tokens"),
    "scheduler_tokens": ("tokens that the scheduler may use", "tokens"),
    "slots": ("pool of states", "states"),
    "ssm_bytes": ("recurrent states", ""),
    "state_bytes": ("states", ""),
    "stored": ("stored in LMCache", "tokens"),
    "tp": ("tensor-parallel degree", ""),
    "usage_percent": ("KV cache in use", "%"),
    "used_bytes": ("KV cache in use", ""),
    "v_bytes": ("values", ""),
    "v_format": ("format of values", ""),
    "version": ("version", ""),
    "weight_dtype": ("format of weights", ""),
    "weights_bytes": ("weights on a GPU", ""),
    "window": ("window", "tokens"),
    "window_tokens": ("pool of windowed layers", "tokens"),
}
INTERNAL = ("merged",)  # marks a form of a line, and is no figure


def title(finding: Finding) -> str:
    """What a figure is."""
    return FIELDS.get(finding.field, (finding.field.replace("_", " "), ""))[0]


def text(finding: Finding) -> str:
    """Its value with its unit, whole where it is whole."""
    value, (_, unit) = finding.value, FIELDS.get(finding.field, ("", ""))
    if isinstance(value, str):
        return value
    if finding.field.endswith("_bytes"):
        return f"-{units.both(-value)}" if value < 0 else units.both(value)
    number = units.count(value) if value == int(value) else f"{value:,.10g}"
    return f"{number} {unit}".rstrip()
