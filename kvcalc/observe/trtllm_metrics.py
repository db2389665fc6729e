"""TensorRT-LLM's metrics: of trtllm-serve (`trtllm_`, with an underscore) and of Triton's backend (`nv_trt_llm_`)."""

from kvcalc.observe.observation import Lookup, Observation, Traffic, Transfer
from kvcalc.observe.rates import fraction
from kvcalc.observe.samples import Window

PREFIXES = ("trtllm_", "nv_trt_llm_")

_BLOCKS = "nv_trt_llm_kv_cache_block_metrics"


def observed(window: Window) -> Observation:
    """What TensorRT-LLM's metrics say."""
    blocks = _whole(window.most("trtllm_kv_cache_max_blocks") or _triton(window, "max"))
    block_tokens = _whole(window.most("trtllm_kv_cache_tokens_per_block") or _triton(window, "tokens_per"))
    return Observation(
        engine="trtllm",
        model=window.label("model_name") or window.label("model"),
        kv_tokens=blocks * block_tokens if blocks and block_tokens else None,
        blocks=blocks,
        block_tokens=block_tokens,
        traffic=_traffic(window),
        notes=tuple(window.notes),
    )


def _whole(value: float | None) -> int | None:
    return int(value) if value else None  # 0 means that nothing was reported yet


def _triton(window: Window, kind: str) -> float | None:
    return window.most(_BLOCKS, kv_cache_block_type=kind)


def _traffic(window: Window) -> Traffic:
    prompt, prompts = window.mean("trtllm_prompt_tokens", "trtllm_request_prompt_tokens")
    first, _ = window.mean("trtllm_time_to_first_token_seconds")
    usage = fraction(window, "trtllm_kv_cache_utilization")
    return Traffic(
        elapsed_s=window.elapsed_s,
        lookups=_lookups(window),
        transfers=_transfers(window),
        pool_usage=_triton(window, "fraction") if usage is None else usage,
        prompt_tokens=window.count("trtllm_prompt_tokens"),
        requests=prompts,
        mean_prompt_tokens=prompt,
        mean_ttft_s=first,
    )


def _lookups(window: Window) -> tuple[Lookup, ...]:
    """Prompt tokens where they are counted, blocks reused and missed, or the rate alone."""
    lookups = []
    asked = window.count("trtllm_prompt_tokens")
    cached = window.count("trtllm_prompt_cached_tokens", "trtllm_prompt_tokens_cached")
    if asked is not None and cached is not None:
        lookups.append(Lookup("all", "tokens", asked=asked, found=cached))
    reused, missed = window.count("trtllm_kv_cache_reused_blocks"), window.count("trtllm_kv_cache_missed_blocks")
    rate = fraction(window, "trtllm_kv_cache_hit_rate")
    if reused is not None and missed is not None:
        lookups.append(Lookup("hbm", "blocks", asked=reused + missed, found=reused, stated_rate=rate))
    elif rate is not None:
        lookups.append(Lookup("hbm", "blocks", stated_rate=rate))
    return tuple(lookups)


def _transfers(window: Window) -> tuple[Transfer, ...]:
    ways = (("dram", "hbm", "trtllm_kv_cache_onboard_bytes"), ("hbm", "dram", "trtllm_kv_cache_offload_bytes"))
    sizes = ((source, target, window.count(name)) for source, target, name in ways)
    return tuple(Transfer(source, target, bytes=size) for source, target, size in sizes if size is not None)
