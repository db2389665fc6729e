"""What does an engine's log say of its KV pool, is it what the engine's rule gives, and if not, why?"""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers import log_pool, log_predict, log_reasons
from kvcalc.answers.capacity_assumptions import PAGES, POOLS
from kvcalc.answers.log_result import SCHEMA_VERSION, Comparison, HostPool, LogAnswer
from kvcalc.answers.log_setting import NOTHING, Seen, Setup, plain_bytes, settle
from kvcalc.answers.margin_result import Assumption
from kvcalc.observe.observation import Observation
from kvcalc.physics import allocation
from kvcalc.physics.engines import lmcache
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model
from kvcalc.profiles.sources import Source


def compare(
    log: Observation,
    model: Model | str | None = None,
    tp: int | None = None,
    pp: int | None = None,
    kv_dtype: str | None = None,
    setup: Setup = NOTHING,
) -> LogAnswer:
    """Set the printed figures of a log beside the predicted ones, and name the likely reason where they differ.

    Without a model the one that the log names is looked up; if there is none, the log is explained by itself. Options
    win over what the log says. Raises UserError for an unknown model, split or format.
    """
    seen = settle(log, catalog.model(model) if isinstance(model, str) else model, tp, pp, kv_dtype, setup)
    log = seen.log
    figures, variant = log_predict.comparisons(seen)
    found = (*figures, *log_pool.comparison(seen))
    printed = bytes_per_token(log)
    rule = _rule_bytes(figures, printed)
    why, gap = log_reasons.reasons(seen, printed, rule, found, variant)
    return LogAnswer(
        schema_version=SCHEMA_VERSION,
        engine=log.engine,
        engine_version=log.version,
        model=seen.model.name if seen.model else log.model,
        model_named_by=seen.named_by,  # type: ignore[arg-type]
        tp=seen.tp,
        pp=seen.pp,
        kv_dtype=seen.kv,
        kv_tokens_meaning=log.kv_tokens_meaning,
        variant=variant.text if variant else None,
        bytes_per_token=printed,
        rule_bytes_per_token=rule,
        plain_bytes_per_token=plain_bytes(seen),
        comparisons=found,
        reasons=why,
        gap=gap,
        contradictions=seen.contradictions,
        host=_host(log),
        findings=(*log.findings, *(finding for each in log.beside for finding in each.findings)),
        notes=log.notes,
        warnings=_warnings(seen),
        assumptions=_assumptions(seen),
    )


def bytes_per_token(log: Observation) -> float | None:
    """Of one rank, as printed: of the pool, of a request that did not fit, or of what was moved."""
    for size, tokens in (
        (log_predict.pool_bytes(log), log.kv_tokens),
        (log.available_kv_bytes, log.blocks and log.blocks * (log.block_tokens or 16)),
        (log.needed_bytes, log.max_model_len),
    ):
        if size and tokens:
            return size / tokens
    for each in (log, *log.beside):
        if each.traffic:
            moved = next((moved for moved in each.traffic.transfers if moved.bytes and moved.tokens), None)
            if moved and moved.bytes and moved.tokens:
                return moved.bytes / moved.tokens
            if each.traffic.bytes_per_hit_token:
                return each.traffic.bytes_per_hit_token
    return None


def _rule_bytes(found: tuple[Comparison, ...], printed: float | None) -> float | None:
    """Bytes of a token by the rule, counted as the print counts: of a pool over its tokens, or of what was moved."""
    first = next((each for each in found if each.ratio and each.unit != "requests"), None)
    if printed is None or first is None or first.ratio is None:
        return None
    return printed * first.ratio if first.unit == "tokens" else printed / first.ratio


def _host(log: Observation) -> HostPool | None:
    """SGLang pins what it allocates, which PyTorch rounds up to a power of two (pull request 36562)."""
    if log.engine != "sglang" or not log.host_pool_bytes:
        return None
    return HostPool(log.host_asked_bytes, log.host_pool_bytes, allocation.pinned(log.host_pool_bytes))


def _warnings(seen: Seen) -> tuple[str, ...]:
    log, said = seen.log, []
    if seen.model is None:
        name = f" {log.model!r}" if log.model else ""
        said.append(f"no profile of the log's model{name}: nothing is predicted; name one with --model")
    elif seen.named_by == "likeness":
        said.append(f"{log.model!r} is taken for {seen.model.name!r} by its name: give --model if it has other layers")
    if seen.model is not None and seen.kv is None:
        said.append("the KV format is not stated; give it with --kv-dtype")
    if seen.length_by == "model" and log.kv_tokens_meaning != "blocks":
        length = units.count(log.max_model_len or 0)
        said.append(
            f"no longest length is stated: {length} tokens, the model's context, are supposed; or give --max-model-len"
        )
    if (why := log_pool.unchecked(seen)) is not None:
        said.append(why)
    if log.tp is None and seen.tp == 1 and log.engine != "llamacpp":
        said.append("the tensor-parallel degree is not stated: 1 is supposed, or give --tp")
    return tuple(said)


def _assumptions(seen: Seen) -> tuple[Assumption, ...]:
    rules: dict[str, tuple[Source, ...]] = {"vllm": (PAGES,), "sglang": (POOLS,)}
    if seen.model is None:
        return ()
    sources = (*rules.get(seen.log.engine, ()), seen.model.source)
    return (
        Assumption(f"Blocks and pools by the rule of {seen.log.engine}, KV in {seen.kv or 'bf16'}", sources),
        *_chunks(seen),
    )


def _chunks(seen: Seen) -> Iterator[Assumption]:
    """LMCache's chunk, where no line states it and it matters."""
    assert seen.model is not None
    for each in (seen.log, *seen.log.beside):
        found = log_predict.store_chunks(seen, each)
        if each.traffic and not each.block_tokens and found.states:
            yield Assumption(
                f"LMCache's chunk is not stated: {units.count(found.tokens)} tokens are supposed, its default of "
                f"{lmcache.CHUNK} rounded up to vLLM's block, and a state with each"
            )
