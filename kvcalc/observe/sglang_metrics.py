"""SGLang's metrics, from 2024 on, with its hierarchical cache (HiCache)."""

from kvcalc import units
from kvcalc.observe.observation import Lookup, Observation, Pool, Traffic, Transfer
from kvcalc.observe.rates import fraction
from kvcalc.observe.samples import Window

PREFIX = "sglang:"
RANKS = ("tp_rank", "pp_rank", "moe_ep_rank", "attn_tp_rank")  # labels whose series repeat one another


def observed(window: Window) -> Observation:
    """What SGLang's metrics say. Ranks of one replica repeat its counters; replicas (dp_rank) are added up."""
    memory = window.most("sglang:kv_cache_memory_usage_gb")
    if memory == 0:
        window.notes.append("sglang:kv_cache_memory_usage_gb is 0, which SGLang writes for pools it does not measure")
    host = _whole(window, "sglang:hicache_host_total_tokens")
    page = _whole(window, "sglang:page_size")
    traffic = _traffic(window)
    return Observation(
        engine="sglang",
        model=window.label("model_name") or window.label("name"),
        max_model_len=_whole(window, "sglang:context_len"),
        available_kv_bytes=memory * units.size("1 GiB") if memory and memory > 0 else None,
        kv_tokens=_whole(window, "sglang:max_total_num_tokens"),
        block_tokens=page,
        cpu_blocks=host // (page or 1) if host else None,
        pools=_pools(window),
        traffic=traffic,
        notes=tuple(window.notes),
    )


def _whole(window: Window, name: str) -> int | None:
    """The least over ranks; 0 means unknown."""
    found = [value for value in window.gauges(name) if value > 0]
    return int(min(found)) if found else None


def _pools(window: Window) -> tuple[Pool, ...]:
    """Slots of each pool: free, evictable and in use."""
    pools = []
    for kind, name in (("full", "kv"), ("window", "swa"), ("state", "mamba")):
        parts = [window.most(f"sglang:{name}_{state}_tokens") for state in ("available", "evictable", "used")]
        total = int(sum(part or 0 for part in parts))
        if kind == "full" and total:
            pools.append(Pool("full", tokens=total))
        elif kind == "window" and total:
            pools.append(Pool("window", tokens=total))
        elif total:
            pools.append(Pool("state", slots=total))
    return tuple(pools) if len(pools) > 1 else ()


def _traffic(window: Window) -> Traffic:
    prompt, prompts = window.mean(
        "sglang:prompt_tokens_histogram", "sglang:request_prompt_tokens", "sglang:prompt_tokens"
    )
    first, _ = window.mean("sglang:time_to_first_token_seconds")
    evicted = window.count("sglang:evicted_tokens", repeated=RANKS)
    return Traffic(
        elapsed_s=window.elapsed_s,
        lookups=_lookups(window),
        transfers=_transfers(window),
        pool_usage=fraction(window, "sglang:token_usage"),
        evicted=evicted,
        evicted_unit=None if evicted is None else "tokens",
        preemptions=window.count("sglang:num_retracted_requests", repeated=RANKS),
        prompt_tokens=window.count("sglang:prompt_tokens"),
        requests=prompts,
        mean_prompt_tokens=prompt,
        mean_ttft_s=first,
    )


def _lookups(window: Window) -> tuple[Lookup, ...]:
    """Counted tokens where there are some; else the gauge, which old versions wrote as a percentage."""
    asked, name = window.count("sglang:prompt_tokens"), "sglang:cached_tokens"
    sources = {dict(key).get("cache_source", "") for key in window.series(name)} - {"total"}
    if not sources or asked is None:
        old = any(key == "name" for labels in window.series("sglang:cache_hit_rate") for key, _ in labels)  # of 2024
        rate = fraction(window, "sglang:cache_hit_rate", percent=old)
        return () if rate is None else (Lookup("all", "tokens", stated_rate=rate),)
    found = {
        source: (window.count(name, cache_source=source) if source else window.count(name)) or 0.0 for source in sources
    }
    lookups = [Lookup("all", "tokens", asked=asked, found=sum(found.values()))]
    if "device" in found:
        rest = asked - found["device"]
        below = sum(value for source, value in found.items() if source != "device")
        lookups.append(Lookup("hbm", "tokens", asked=asked, found=found["device"]))
        lookups.append(Lookup("external", "tokens", asked=rest, found=below))
        named = {"host": "dram"}
        lookups += [
            Lookup(named.get(source, source), "tokens", asked=rest, found=found[source])
            for source in sorted(sources - {"device"})
        ]
    return tuple(lookups)


def _transfers(window: Window) -> tuple[Transfer, ...]:
    """Of HiCache. Durations are those of issuing a copy, not of the copy, so no rate comes of them."""
    ways = (
        ("dram", "hbm", "sglang:load_back_tokens", "sglang:load_back_bytes"),
        ("hbm", "dram", "sglang:hicache_backup_tokens", "sglang:hicache_backup_bytes"),
        ("store", "dram", "sglang:prefetched_tokens", "sglang:prefetched_bytes"),
        ("dram", "store", "sglang:backuped_tokens", "sglang:backuped_bytes"),
    )
    moved = []
    for source, target, tokens_name, bytes_name in ways:
        tokens, size = (window.count(each, repeated=RANKS) for each in (tokens_name, bytes_name))
        if tokens is not None or size is not None:
            moved.append(Transfer(source, target, bytes=size, tokens=tokens))
    return tuple(moved)
