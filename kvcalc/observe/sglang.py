"""SGLang's start-up log (its print statements from 0.3 to 0.5.23). Its device "GB" is 2^30, its host "GB" is 10^9."""

from kvcalc.observe.forms import Form, dtype, form
from kvcalc.observe.observation import Finding, Observation, Pool
from kvcalc.observe.stated import Stated

LOOKS_FOR = "'KV Cache is allocated' or 'max_total_num_tokens='"
FIGURES = frozenset(("pool_tokens", "scheduler_tokens", "host_bytes", "window_tokens", "slots", "refusal"))

_ARGS = "server_args="
_POOL = r"KV Cache is allocated\."
_MOST = r"max_total_num_tokens="
_LOADED = r"Load weight end\."
FORMS: tuple[Form, ...] = (
    # srt/server_args.py, entrypoints/engine.py: ServerArgs(name=value) and, later, {'name': value}
    form(_ARGS, r"'?model_path'?[=:] ?'(?P<model>[^']+)'", opens=_ARGS, kind="starts"),
    form(_ARGS, r"\b'?tp_size'?[=:] ?(?P<tp>\d+)", opens=_ARGS),
    form(_ARGS, r"\b'?pp_size'?[=:] ?(?P<pp>\d+)", opens=_ARGS),
    form(_ARGS, r"\b'?dp_size'?[=:] ?(?P<dp>\d+)", opens=_ARGS),
    form(_ARGS, r"\b'?kv_cache_dtype'?[=:] ?'(?P<kv_dtype>[\w.-]+)'", opens=_ARGS),
    form(_ARGS, r"\b'?quantization'?[=:] ?'(?P<quantization>[\w-]+)'", opens=_ARGS),
    form(_ARGS, r"\b'?mem_fraction_static'?[=:] ?(?P<memory_utilization>[\d.]+)", opens=_ARGS),
    form(_ARGS, r"\b'?page_size'?[=:] ?(?P<block_tokens>\d+)", opens=_ARGS),
    form(_ARGS, r"\b'?hicache_size'?[=:] ?<n:host_asked_bytes>", "GB", opens=_ARGS),
    # srt/model_executor/model_runner.py
    form("Load weight end", r"\bdtype=(?P<weight_dtype>[\w.]+)", opens=_LOADED),
    form("Load weight end", r"\bquant=(?P<quantization>[\w-]+)", opens=_LOADED),
    form("Load weight end", r"\bmem usage=<s:weights_bytes>", opens=_LOADED),
    form(
        "layer_tokens=",
        r"\bfull_layer_tokens=<n:full_tokens>, swa_layer_tokens=<n:window_tokens>",
        opens=r"(?:Use sliding window|full_layer_tokens=)",
    ),
    form("graph end", r"Capture .*[Gg]raph end\..*\bmem usage=<s:graphs_bytes>"),
    # srt/mem_cache/memory_pool.py
    form(
        "KV Cache is allocated",
        r"KV Cache is allocated\.(?: dtype: (?P<kv_dtype>[\w.-]+),)? #tokens: <n:pool_tokens>"
        r"(?:, (?:K size: <s:k_bytes>, V size: <s:v_bytes>|KV size: <s:kv_bytes>)|$)",
        opens=_POOL,
        kind="always",
    ),
    form(
        "SWAKVPool mem usage",
        r"SWAKVPool mem usage: <s:both_bytes>, swa size: <n:window_tokens>, full size: <n:full_tokens>",
    ),
    form(
        "Mamba Cache is allocated",
        r"max_mamba_cache_size: <n:slots>, conv_state size: <s:conv_bytes>, ssm_state size: <s:ssm_bytes>",
        opens=r"Mamba Cache is allocated",
    ),
    # srt/managers/scheduler.py
    form("max_total_num_tokens=", r"\bmax_total_num_tokens=<n:scheduler_tokens>", opens=_MOST, kind="always"),
    form("max_total_num_tokens=", r"\bcontext_len=<n:max_model_len>", opens=_MOST),
    form("Not enough memory", r"(?P<refusal>Not enough memory)\. Please try"),
    # srt/mem_cache/memory_pool_host.py
    form("host memory for hierarchical", r"Allocating <s:host_bytes> host memory for hierarchical", "GB"),
)

Row = dict[str, Finding]


def observed(stated: Stated) -> Observation:
    """What an SGLang log says. `available_kv_bytes` holds full and windowed layers, not states and drafts."""
    mine, drafts = _rows(stated)
    tokens = stated.count("scheduler_tokens")
    keys, values = _total(mine, "k_bytes"), _total(mine, "v_bytes")
    together = _total(mine, "kv_bytes")
    available = stated.least("both_bytes") or together or (keys + values if keys and values else None)
    below = next((size for size in (available, keys, values) if size is not None and size <= 0), available)
    pool = stated.pool(below, "both_bytes", "kv_bytes", "k_bytes", "v_bytes")
    length = stated.last("max_model_len")
    host = stated.least("host_bytes")
    tp, pp, dp = (None if (value := stated.first(each)) is None else int(value) for each in ("tp", "pp", "dp"))
    page = stated.last("block_tokens")
    return Observation(
        engine="sglang",
        model=stated.word("model"),
        tp=tp,
        pp=pp,
        dp=dp,
        weight_dtype=stated.word("quantization") or dtype(stated.word("weight_dtype")),
        kv_dtype=stated.known_format(_kv_dtype(stated)),
        max_model_len=None if length is None else int(length),
        available_kv_bytes=pool,
        no_kv_memory=pool is None and (below is not None or bool(stated.of("refusal"))),
        kv_tokens=tokens if tokens is not None else _tokens(stated, mine),
        block_tokens=None if page is None else int(page),
        k_bytes=keys if pool else None,
        v_bytes=values if pool else None,
        pools=_pools(stated, mine, drafts),
        memory_utilization=stated.last("memory_utilization"),
        weights_bytes=stated.most("weights_bytes"),
        graphs_bytes=_graphs(stated),
        host_pool_bytes=host,
        host_asked_bytes=stated.last("host_asked_bytes") or None,
        findings=stated.published(),
        notes=stated.noted(),
    )


def _kv_dtype(stated: Stated) -> str | None:
    """The pool's own line over the option, which may be "auto"."""
    words = [str(finding.value) for finding in stated.of("kv_dtype")]
    named = [each for word in reversed(words) if (each := dtype(word))]
    return named[0] if named else dtype(stated.word("weight_dtype"))


def _rows(stated: Stated) -> tuple[list[Row], list[Row]]:
    """The pool lines of the worker with the fewest tokens: those of the model, and after them those of its draft.

    A model with windowed layers has two pools, full and windowed.
    """
    workers: dict[str | None, list[Row]] = {}
    for row in stated.rows("pool_tokens"):
        workers.setdefault(row["pool_tokens"].worker, []).append(row)
    if not workers:
        return [], []
    rows = min(workers.values(), key=lambda rows: float(rows[0]["pool_tokens"].value))
    own = 2 if stated.of("window_tokens") else 1
    return rows[:own], rows[own:]


def _size(row: Row) -> float | None:
    parts = [float(row[each].value) for each in ("k_bytes", "v_bytes", "kv_bytes") if each in row]
    return sum(parts) if parts else None


def _total(rows: list[Row], field: str) -> float | None:
    found = [float(row[field].value) for row in rows if field in row]
    return sum(found) if found else None


def _tokens(stated: Stated, rows: list[Row]) -> int | None:
    """Of the full layers, where windowed ones have a pool of their own."""
    full = stated.count("full_tokens")
    return full or (int(rows[0]["pool_tokens"].value) if rows else stated.count("window_tokens"))


def _graphs(stated: Stated) -> float | None:
    """A worker captures several graphs (decode, draft, prefill), which add."""
    workers: dict[str | None, float] = {}
    for finding in stated.of("graphs_bytes"):
        workers[finding.worker] = workers.get(finding.worker, 0.0) + float(finding.value)
    return max(workers.values(), default=None)


def _pools(stated: Stated, mine: list[Row], drafts: list[Row]) -> tuple[Pool, ...]:
    """Each pool by itself, where there are several."""
    pools = []
    window, full = stated.count("window_tokens"), stated.count("full_tokens")
    for row in mine:
        tokens = int(row["pool_tokens"].value)
        windowed = window is not None and tokens == window and not (tokens == full and row is mine[-1])
        pools.append(Pool("window" if windowed else "full", tokens=tokens, bytes=_size(row)))
    if window is not None and not mine:
        pools += [Pool("full", tokens=full), Pool("window", tokens=window)]
    if (slots := stated.count("slots")) is not None:
        state = (stated.least("conv_bytes") or 0.0) + (stated.least("ssm_bytes") or 0.0)
        pools.append(Pool("state", slots=slots, bytes=state))
    pools += [Pool("draft", tokens=int(row["pool_tokens"].value), bytes=_size(row)) for row in drafts]
    return tuple(pools) if len(pools) > 1 else ()
