"""The figures that an engine would print for a model and a pool, by its own rule."""

from collections.abc import Iterator
from dataclasses import replace

from kvcalc import units
from kvcalc.answers import log_sglang
from kvcalc.answers.log_result import Comparison, Unit
from kvcalc.answers.log_setting import Seen
from kvcalc.answers.log_variants import Variant, plan, variants
from kvcalc.observe.observation import Observation
from kvcalc.physics import formats, kv
from kvcalc.physics.engines import rules, store, vllm
from kvcalc.physics.engines.plan import Plan
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model, Recurrent

CLOSE = 0.003
SNAPSHOTS = 0.02  # beyond 1 %: a state with each chunk is a reading that fits published cases to 3 %
ROUNDING = units.size("0.005 GiB")  # engines print sizes with two decimals


def comparisons(seen: Seen) -> tuple[tuple[Comparison, ...], Variant | None]:
    """Every figure that was printed beside its prediction, and what had to be supposed for them to meet."""
    if seen.model is None:
        return tuple(_compare(seen.log, None, None)), None
    known = variants(seen, seen.model)
    usual = next(known)
    found = _compared(seen, seen.model, usual)
    if any(each.differs for each in found):
        for variant in known:
            other = _compared(seen, seen.model, variant)
            if all(abs(each.ratio - 1) <= CLOSE + each.slack for each in other if each.ratio is not None):
                return other, variant
    return found, usual


def _compared(seen: Seen, model: Model, variant: Variant) -> tuple[Comparison, ...]:
    pool = plan(seen, model, variant)
    return tuple(_compare(seen.log, (seen, variant), pool if pool.modelled else None))


def pool_bytes(log: Observation) -> float | None:
    """The pool as printed; of TensorRT-LLM also its fraction of what was free."""
    if log.available_kv_bytes is not None or log.engine != "trtllm":
        return log.available_kv_bytes
    free = next((each.value for each in reversed(log.findings) if each.field == "free_bytes"), None)
    default = catalog.budget("trtllm-1.0").utilization
    share = log.memory_utilization or (default.value if default else None)
    return float(free) * share if free is not None and share else None


def _compare(log: Observation, of: tuple[Seen, Variant] | None, found: Plan | None) -> Iterator[Comparison]:
    pool = pool_bytes(log)
    printed_pool = ROUNDING / pool if pool else 0.0
    apart = tuple(_pools(log, of[0])) if of else ()
    if apart:
        yield from apart
    elif log.kv_tokens is not None:
        tokens = _tokens(log, of, found, pool) if pool and found and of else None
        yield _row("tokens in the pool", "tokens", log.kv_tokens, tokens, printed_pool)
    elif log.blocks is not None and pool and found and found.block_bytes:
        yield _row("blocks", "tokens", log.blocks, pool // found.block_bytes, printed_pool)
    if log.max_concurrency and log.max_model_len:
        requests = found.sequences(pool, log.max_model_len, running=True) if pool and found else _block_requests(log)
        slack = printed_pool + 0.005 / log.max_concurrency
        yield _row("requests of the longest length", "requests", log.max_concurrency, requests, slack)
    if log.needed_bytes and log.max_model_len:
        needed = _whole(of, found).resident(log.max_model_len, running=True) if found else None
        yield _row("bytes of the longest request", "bytes", log.needed_bytes, needed, ROUNDING / log.needed_bytes)
    if log.fitting_tokens and pool:
        longest = _whole(of, found).longest(pool, units.LONGEST_PROMPT) if found else None
        yield _row("longest request that fits", "tokens", log.fitting_tokens, longest, printed_pool)
    if of is not None:
        yield from _traffic(log, of[0])


def _block_requests(log: Observation) -> float | None:
    """Of V0, which prints blocks and no tokens: every layer has all blocks, whatever the model."""
    if log.engine != "vllm" or log.kv_tokens is not None or not log.blocks or not log.max_model_len:
        return None
    return log.blocks * (log.block_tokens or vllm.BLOCK) / log.max_model_len


def _pools(log: Observation, seen: Seen) -> Iterator[Comparison]:
    """SGLang's pools of full and of windowed layers, each by its own bytes, and what they come to together."""
    known = log_sglang.widths(seen.model, seen.kv or "bf16", seen.tp) if seen.model and log.engine == "sglang" else None
    pools = [pool for pool in log.pools if pool.kind in ("full", "window") and pool.bytes and pool.tokens]
    if known is None or not any(pool.kind == "window" for pool in pools):
        return
    for pool in pools:
        size, tokens, token = pool.bytes or 0.0, pool.tokens or 0, known.of(pool.kind)
        name = "windowed" if pool.kind == "window" else "full"
        predicted = size / token if token else None
        yield _row(f"tokens in the pool of {name} layers", "tokens", tokens, predicted, 2 * ROUNDING / size)
    if len(pools) > 1 and log.available_kv_bytes:
        whole = sum((pool.tokens or 0) * known.of(pool.kind) for pool in pools)
        slack = 2 * len(pools) * ROUNDING / log.available_kv_bytes
        yield _row("bytes of both pools", "bytes", log.available_kv_bytes, whole, slack)


def _row(figure: str, unit: Unit, printed: float, predicted: float | None, slack: float = 0.0) -> Comparison:
    ratio = printed / predicted if predicted else None
    return Comparison(figure, unit, printed, predicted or None, ratio, slack)


def _whole(of: tuple[Seen, Variant] | None, found: Plan) -> Plan:
    """vLLM's check before it starts counts all layers, whatever the pipeline (issue 34076)."""
    model = of[0].model if of else None
    if of is None or model is None or of[0].pp == 1:
        return found
    return plan(replace(of[0], pp=1), model, of[1])


def _tokens(log: Observation, of: tuple[Seen, Variant], found: Plan, pool: float) -> float | None:
    """As the engine's version counts them."""
    if log.engine in ("vllm", "dynamo"):
        return _vllm_tokens(log, found, pool)
    windowed = [each for each in found.segments if each.window is not None]
    full = sum(each.token_bytes for each in found.segments)
    known = [each for each in (log.k_format, log.v_format) if each in formats.FORMATS]
    if len(known) == 2 and known[0] != known[1] and of[0].model:
        apart = (plan(of[0], of[0].model, of[1], kv_format) for kv_format in known)
        full = sum(each.token_bytes for each in apart) / 2  # K in one format, V as wide in another
    beside = next((each.tokens for each in log.pools if each.kind == "window" and each.tokens), None)
    if windowed and beside is not None and full:
        return (pool - beside * sum(each.block_bytes / each.block_tokens for each in windowed)) / full
    return _pool_tokens(found, pool) if found.separate else pool / full if full else None


def _vllm_tokens(log: Observation, found: Plan, pool: float) -> float | None:
    """Blocks x block size / groups up to 0.19, concurrency x longest length later; alike where nothing is windowed."""
    if not log.max_model_len or not _spans(log):
        block = min((each.block_tokens for each in found.segments if each.block_tokens), default=0)
        if found.block_bytes and block:
            return pool // found.block_bytes // found.tables * block
        size = found.token_bytes
        return pool / size if size else None
    return int(found.sequences(pool, log.max_model_len, running=True) * log.max_model_len)


def _spans(log: Observation) -> bool:
    """Is the token line concurrency x longest length? Where the log leaves it open, as the figures have it."""
    if log.kv_tokens_meaning is not None or log.kv_tokens is None:
        return log.kv_tokens_meaning == "concurrency"
    return log.kv_tokens % vllm.BLOCK != 0 or log.max_concurrency is not None


def _pool_tokens(found: Plan, pool: float) -> float | None:
    """SGLang prints the pools of tokens without that of states, whatever their share."""
    of_tokens = [each for each in found.segments if not each.constant]
    if not of_tokens:
        return None
    full = next((each for each in of_tokens if each.window is None), of_tokens[0])
    return pool * full.share / sum(each.share for each in of_tokens) / full.block_bytes


def _traffic(log: Observation, seen: Seen) -> Iterator[Comparison]:
    """What was copied: bytes of a token outside HBM, over all ranks that count."""
    for each in (log, *log.beside):
        if each.traffic is None or seen.model is None:
            continue
        for moved in each.traffic.transfers:
            if moved.bytes and moved.tokens:
                tokens = int(moved.tokens)
                printed = moved.bytes / moved.tokens
                size = min(_stored(seen, each, tokens), key=lambda one: abs(printed - one))
                figure = f"bytes of a token, {moved.source} to {moved.target}"
                hybrid = any(isinstance(group, Recurrent) for group in seen.model.groups)
                yield _row(figure, "bytes", printed, size, SNAPSHOTS if hybrid else 0.0)
        if each.traffic.bytes_per_hit_token:
            size = kv.marginal(seen.model, 10_000_000, seen.kv or "bf16")
            yield _row("bytes of a token that was hit", "bytes", each.traffic.bytes_per_hit_token, size)


def store_chunks(seen: Seen, log: Observation) -> store.Chunks:
    """LMCache's, as its log has them, else its default in whole blocks of vLLM's."""
    assert seen.model is not None
    hybrid = any(isinstance(group, Recurrent) for group in seen.model.groups)
    if log.block_tokens:
        return store.Chunks(log.block_tokens, states=True)
    if log.engine != "lmcache" or not hybrid:
        return store.Chunks(1, states=False)
    return rules.chunks(rules.plan("lmcache", seen.model, seen.kv or "bf16", rules.Run(seen.tp)))


def _stored(seen: Seen, log: Observation, tokens: int) -> tuple[float, ...]:
    """Bytes of a token in whole chunks: of all ranks, or of one where a log holds the lines of one worker."""
    assert seen.model is not None
    chunks = store_chunks(seen, log)
    whole = max(-(-tokens // chunks.tokens), 1) * chunks.tokens
    size = store.whole(seen.model, tokens, seen.kv or "bf16", seen.tp, "once", chunks) / whole
    return (size, size / seen.tp)
