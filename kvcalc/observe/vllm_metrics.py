"""vLLM's metrics: V0, V1, its CPU and tiered offload, and what it asks of a KV connector."""

from kvcalc.observe.fields import figure
from kvcalc.observe.forms import dtype
from kvcalc.observe.observation import Lookup, Observation, Traffic, Transfer, Unit
from kvcalc.observe.rates import fraction
from kvcalc.observe.samples import Window

PREFIX = "vllm:"


def observed(window: Window) -> Observation:
    """What vLLM's metrics say. Several engines of one server (label `engine`) are added up."""
    config = _config(window)
    blocks, block_tokens = _whole(config, "num_gpu_blocks"), _whole(config, "block_size")
    stated = _whole(config, "kv_cache_size_tokens")
    product = blocks * block_tokens if blocks and block_tokens else None
    return Observation(
        engine="vllm",
        model=window.label("model_name"),
        prefix_caching={"True": True, "False": False}.get(config.get("enable_prefix_caching", "")),
        kv_dtype=dtype(config.get("cache_dtype")),
        kv_tokens=stated or product,  # blocks x block size is more than what hybrid models hold
        kv_tokens_meaning="concurrency" if stated else "blocks" if product else None,
        blocks=blocks,
        block_tokens=block_tokens,
        cpu_blocks=_whole(config, "num_cpu_blocks"),
        memory_utilization=figure("memory_utilization", config.get("gpu_memory_utilization", ""), "B") or None,
        host_pool_bytes=figure("host_bytes", config.get("swap_space_bytes", ""), "B") or None,
        traffic=_traffic(window),
        notes=tuple(window.notes),
    )


def _config(window: Window) -> dict[str, str]:
    """The labels of cache_config_info: they carry the numbers. A series written before the pool was sized says 0."""
    infos = window.info("vllm:cache_config_info")
    return max(infos, key=lambda info: (_whole(info, "num_gpu_blocks") or 0, len(info)), default={})


def _whole(config: dict[str, str], name: str) -> int | None:
    found = figure("blocks", config.get(name, ""), "B")
    return int(found) if found else None


def _traffic(window: Window) -> Traffic:
    prompt, prompts = window.mean("vllm:request_prompt_tokens")
    first, _ = window.mean("vllm:time_to_first_token_seconds")
    return Traffic(
        elapsed_s=window.elapsed_s,
        lookups=_lookups(window),
        transfers=_transfers(window),
        pool_usage=fraction(window, "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
        preemptions=window.count("vllm:num_preemptions"),
        prompt_tokens=window.count("vllm:prompt_tokens"),
        requests=prompts,
        mean_prompt_tokens=prompt,
        mean_ttft_s=first,
    )


def _lookups(window: Window) -> tuple[Lookup, ...]:
    """Exact names: `prefix_cache_hits` also ends `external_prefix_cache_hits`, whose zeros mean no connector."""
    found = [
        _pair(window, "hbm", "vllm:prefix_cache", "tokens")
        or _pair(window, "hbm", "vllm:gpu_prefix_cache", _old_unit(window))
        or _stated(window, "hbm", "vllm:gpu_prefix_cache_hit_rate"),
        _pair(window, "external", "vllm:external_prefix_cache", "tokens"),
        _stated(window, "cpu", "vllm:cpu_prefix_cache_hit_rate"),
        _whole_prompts(window),
    ]
    return (*(each for each in found if each), *_tiers(window))


def _pair(window: Window, tier: str, name: str, unit: Unit) -> Lookup | None:
    asked, found = window.count(f"{name}_queries"), window.count(f"{name}_hits")
    return None if asked is None and found is None else Lookup(tier, unit, asked=asked, found=found)


def _old_unit(window: Window) -> Unit:
    """Until 0.9 the counters counted blocks, as their help says."""
    return "blocks" if "block" in window.help("vllm:gpu_prefix_cache_queries") else "tokens"


def _stated(window: Window, tier: str, name: str) -> Lookup | None:
    """V0 states rates of blocks; -1 is what it says without prefix caching."""
    rate = window.most(name)
    return None if rate is None or rate < 0 else Lookup(tier, "blocks", stated_rate=rate)


def _whole_prompts(window: Window) -> Lookup | None:
    """Prompt tokens that were not computed: unlike the look-ups, a request that waits is not counted twice."""
    asked = window.count("vllm:prompt_tokens")
    cached = window.count("vllm:prompt_tokens_cached")
    if cached is None:
        name, sources = "vllm:prompt_tokens_by_source", ("local_cache_hit", "external_kv_transfer")
        found = [window.count(name, source=source) for source in sources]
        cached = sum(each or 0.0 for each in found) if any(each is not None for each in found) else None
    return None if asked is None or cached is None else Lookup("all", "tokens", asked=asked, found=cached)


def _tiers(window: Window) -> list[Lookup]:
    """The chunks asked of each tier of a tiered offload."""
    name = "vllm:kv_offload_tiering_chunk"
    tiers = sorted({dict(key).get("tier", "") for key in window.series(f"{name}_queries")})
    return [
        Lookup(
            tier,
            "chunks",
            asked=window.count(f"{name}_queries", tier=tier),
            found=window.count(f"{name}_hits", tier=tier),
        )
        for tier in tiers
    ]


def _transfers(window: Window) -> tuple[Transfer, ...]:
    """The load and store families; the total_bytes family counts the same bytes and is read only without them."""
    ways = (("load", "CPU_to_GPU", "dram", "hbm"), ("store", "GPU_to_CPU", "hbm", "dram"))
    moved = []
    for way, transfer_type, source, target in ways:
        size, seconds = window.count(f"vllm:kv_offload_{way}_bytes"), window.count(f"vllm:kv_offload_{way}_time")
        if size is None:
            size = window.count("vllm:kv_offload_total_bytes", transfer_type=transfer_type)
            seconds = window.count("vllm:kv_offload_total_time", transfer_type=transfer_type)
        if size is not None:
            moved.append(Transfer(source, target, bytes=size, seconds=seconds))
    return (*moved, *_tier_transfers(window))


def _tier_transfers(window: Window) -> list[Transfer]:
    """Between DRAM and the tiers below; the times of parallel threads are added up."""
    moved = []
    for way in ("read", "write"):
        name = f"vllm:kv_offload_tiering_{way}"
        for tier in sorted({dict(key).get("tier", "") for key in window.series(f"{name}_bytes")}):
            source, target = (tier, "dram") if way == "read" else ("dram", tier)
            size, seconds = (window.count(f"{name}_{what}", tier=tier) for what in ("bytes", "time"))
            moved.append(Transfer(source, target, bytes=size, seconds=seconds, thread_seconds=True))
    return moved
