"""Dynamo's metrics: its front end, its workers and its block manager (KVBM), alone or beside an engine's."""

from kvcalc.observe.observation import Lookup, Observation, Traffic, Transfer
from kvcalc.observe.rates import fraction
from kvcalc.observe.samples import Window

PREFIXES = ("dynamo_", "kvbm_")

_WAYS = (  # d is the device or, in "d2d", the disk at its other end; h the host, o an object store
    ("hbm", "dram", "offload_blocks_d2h"),
    ("dram", "nvme", "offload_blocks_h2d"),
    ("hbm", "nvme", "offload_blocks_d2d"),
    ("hbm", "store", "offload_blocks_d2o"),
    ("dram", "hbm", "onboard_blocks_h2d"),
    ("nvme", "hbm", "onboard_blocks_d2d"),
    ("store", "hbm", "onboard_blocks_o2d"),
)


def observed(window: Window) -> Observation:
    """What Dynamo's metrics say."""
    names = ("dynamo_component_kvstats_total_blocks", "dynamo_component_total_blocks")
    blocks = _whole(window.most(*names) or window.most("dynamo_frontend_model_total_kv_blocks"))
    block_tokens = _whole(window.most("dynamo_frontend_model_kv_cache_block_size"))
    return Observation(
        engine="dynamo",
        model=window.label("model") or window.label("model_name"),
        max_model_len=_whole(window.most("dynamo_frontend_model_context_length")),
        kv_tokens=blocks * block_tokens if blocks and block_tokens else None,
        blocks=blocks,
        block_tokens=block_tokens,
        traffic=_traffic(window, block_tokens),
        notes=tuple(window.notes),
    )


def _whole(value: float | None) -> int | None:
    return int(value) if value else None  # the gauges start at 0, which means that no worker has reported


def _traffic(window: Window, block_tokens: int | None) -> Traffic:
    prompt, prompts = window.mean("dynamo_frontend_input_sequence_tokens")
    first, _ = window.mean("dynamo_frontend_time_to_first_token_seconds")
    return Traffic(
        elapsed_s=window.elapsed_s,
        lookups=_lookups(window),
        transfers=_transfers(window, block_tokens),
        pool_usage=fraction(
            window, "dynamo_component_kvstats_gpu_cache_usage_percent", "dynamo_component_gpu_cache_usage_percent"
        ),
        prompt_tokens=window.count("dynamo_frontend_input_sequence_tokens_sum"),
        requests=prompts,
        mean_prompt_tokens=prompt,
        mean_ttft_s=first,
    )


def _lookups(window: Window) -> tuple[Lookup, ...]:
    rates = (
        ("hbm", fraction(window, "dynamo_component_kvstats_gpu_prefix_cache_hit_rate")),
        ("dram", fraction(window, "kvbm_host_cache_hit_rate")),
        ("nvme", fraction(window, "kvbm_disk_cache_hit_rate")),
        ("store", fraction(window, "kvbm_object_cache_hit_rate")),
    )
    lookups = [Lookup(tier, "blocks", stated_rate=rate) for tier, rate in rates if rate is not None]
    matched = window.count("kvbm_matched_tokens")
    return (*lookups, Lookup("external", "tokens", found=matched)) if matched is not None else tuple(lookups)


def _transfers(window: Window, block_tokens: int | None) -> tuple[Transfer, ...]:
    """Blocks, and their tokens where the block size is known."""
    moved = []
    for source, target, name in _WAYS:
        if (blocks := window.count(f"kvbm_{name}")) is not None:
            moved.append(
                Transfer(source, target, blocks=blocks, tokens=blocks * block_tokens if block_tokens else None)
            )
    return tuple(moved)
