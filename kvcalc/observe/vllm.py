"""vLLM's start-up log: what its lines state together."""

import re

from kvcalc.observe.forms import dtype
from kvcalc.observe.observation import Lookup, Meaning, Observation, Traffic
from kvcalc.observe.stated import Stated

LOOKS_FOR = "'Available KV cache memory', 'GPU KV cache size' or '# GPU blocks'"
BLOCK = 16  # tokens; every --block-size is a multiple of it
FIGURES = frozenset(
    ("available_kv_bytes", "used_bytes", "kv_tokens", "blocks", "needed_bytes", "weights_bytes", "refusal")
)


def observed(stated: Stated) -> Observation:
    """What a vLLM log says; pool figures are the least over ranks and engines, costs the most."""
    tp, pp, dp = (int(value) if (value := stated.first(each)) else None for each in ("tp", "pp", "dp"))
    tokens, concurrency, length = (
        stated.count("kv_tokens"),
        stated.least("max_concurrency"),
        stated.last("max_model_len"),
    )
    version = stated.word("version")
    weight = stated.word("quantization") or dtype(stated.word("weight_dtype"))
    kv = stated.word("kv_dtype")
    weights = stated.most("weights_bytes")
    available = stated.least("available_kv_bytes" if stated.of("available_kv_bytes") else "used_bytes")
    pool = stated.pool(available, "available_kv_bytes", "used_bytes")
    _note_ranks(stated, (tp or 1) * (pp or 1))
    return Observation(
        engine="vllm",
        version=version,
        model=stated.word("model"),
        tp=tp,
        pp=pp,
        dp=dp,
        weight_dtype=weight,
        kv_dtype=stated.known_format(dtype(stated.word("weight_dtype") if kv == "auto" else kv)),
        max_model_len=None if length is None else int(length),
        available_kv_bytes=pool,
        no_kv_memory=pool is None and (available is not None or bool(stated.of("refusal"))),
        kv_tokens=tokens,
        kv_tokens_meaning=_meaning(stated, tokens, concurrency, length, version),
        blocks=_last_count(stated, "override_blocks") or stated.count("blocks"),
        block_tokens=_last_count(stated, "block_tokens"),
        cpu_blocks=stated.count("cpu_blocks"),
        max_concurrency=concurrency,
        needed_bytes=stated.last("needed_bytes"),
        fitting_tokens=_last_count(stated, "fitting_tokens"),
        device_bytes=stated.least("device_bytes"),
        memory_utilization=stated.last("memory_utilization"),
        requested_bytes=stated.least("requested_bytes"),
        weights_bytes=weights,
        non_torch_bytes=_non_torch(stated, weights),
        activation_bytes=stated.most("activation_bytes"),
        graphs_bytes=stated.most("graphs_bytes"),
        host_pool_bytes=_host_pool(stated, tp),
        traffic=_traffic(stated),
        findings=stated.published(),
        notes=stated.noted(),
    )


def _last_count(stated: Stated, field: str) -> int | None:
    value = stated.last(field)
    return None if value is None else int(value)


def _non_torch(stated: Stated, weights: float | None) -> float | None:
    """As stated, or what is left of the weights and non-torch memory that later versions state together."""
    together = stated.most("consumed_bytes")
    if stated.of("non_torch_bytes") or together is None or weights is None:
        return stated.most("non_torch_bytes")
    stated.note("non_torch_bytes: the log states it together with the weights; they are taken off")
    return together - weights


def _note_ranks(stated: Stated, ranks: int) -> None:
    """vLLM prints one rank's memory and the least tokens of all."""
    if ranks > 1 and len(stated.of("available_kv_bytes")) == 1 and stated.of("kv_tokens"):
        stated.note(
            f"available_kv_bytes: one of {ranks} ranks states it, while kv_tokens is the least of all; they can be of "
            "different ranks"
        )


def _meaning(
    stated: Stated, tokens: int | None, concurrency: float | None, length: float | None, version: str | None
) -> Meaning | None:
    """What "GPU KV cache size" counts. Up to 0.19 it is blocks x block size / groups; 0.24 prints concurrency x length.

    Between the two the figures tell: the concurrency has two decimals.
    """
    if tokens is None:
        return None
    if stated.of("merged"):
        return "concurrency"
    if concurrency is not None and length and abs(tokens - concurrency * length) > 0.005 * length + 1:
        return "blocks"
    release = _release(version)
    if release and release >= (0, 24):
        return "concurrency"
    if release and release <= (0, 19):
        return "blocks"
    if tokens % BLOCK:
        return "concurrency"
    both = concurrency is not None and length
    stated.note(
        "kv_tokens: it is concurrency x the longest length; without windows and states, blocks x block size is the same"
        if both
        else "kv_tokens: the log states neither its version nor the concurrency, which would tell what vLLM counted"
    )
    return None


def _release(version: str | None) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    release = (int(found[1]), int(found[2])) if found else None
    return None if release in ((0, 0), (0, 1)) else release  # 0.1.dev1+g...: a build from a checkout


def _host_pool(stated: Stated, tp: int | None) -> float | None:
    """`--kv-offloading-size` is the sum over the ranks of a tensor-parallel group."""
    size = stated.last("offload_bytes")
    if size is None:
        return None
    if tp is None:
        stated.note("host_pool_bytes: kv_offloading_size is of all ranks together, and their number isn't stated")
        return size
    return size / tp


def _traffic(stated: Stated) -> Traffic | None:
    """The latest of the lines that vLLM prints while it serves."""
    usage, hbm, external = (stated.last(f"{each}_percent") for each in ("usage", "hbm", "external"))
    if usage is None and hbm is None:
        return None
    rates = (("hbm", hbm), ("external", external))
    return Traffic(
        pool_usage=None if usage is None else usage / 100,
        lookups=tuple(Lookup(tier, "tokens", stated_rate=rate / 100) for tier, rate in rates if rate is not None),
    )
