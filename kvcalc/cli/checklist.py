"""`kvcalc checklist`: should you build KV offload at all?

What it needs is imported when it is asked, so that the other commands start as quickly without it.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kvcalc import amounts, units
from kvcalc.cli import asked
from kvcalc.cli.asked import DEFAULT_NODE
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, optional, read
from kvcalc.errors import UserError
from kvcalc.physics import formats
from kvcalc.profiles.hardware import EngineName, Weights
from kvcalc.render import show

Text = str | None
HERE = "here"


def _text(description: str) -> Any:
    return typer.Option(help=description)


def checklist(
    model: Annotated[
        Text, typer.Option(help="Model profile: a name, a Hugging Face name, or a file", show_default="the metrics'")
    ] = None,
    hardware: Annotated[
        Text, typer.Option(help="Node profile: a name, or a YAML file", show_default=DEFAULT_NODE)
    ] = None,
    metrics: Annotated[
        list[str] | None, _text("Metrics of an engine: a file, - or an http(s) address; one a replica, repeatable")
    ] = None,
    before: Annotated[Text, _text("A stored scrape, with --after: rates rather than totals")] = None,
    after: Annotated[Text, _text("A later scrape of the same run")] = None,
    interval: Annotated[Text, _text("Time between the two: 1h, 600s")] = None,
    watch: Annotated[Text, _text("Scrape --metrics again and again for so long; Ctrl-C ends it")] = None,
    every: Annotated[Text, _text("Time between those scrapes")] = None,
    timeout: Annotated[str, _text("Time that one scrape of an address may take")] = "10s",
    log: Annotated[Text, _text("Start-up log of the engine; - is stdin")] = None,
    trace: Annotated[Path | None, _text("Request trace, as for 'kvcalc curve'")] = None,
    engine: Annotated[
        EngineName | None, typer.Option(help="Whose pools, options and fixed costs", show_default="the metrics', vllm")
    ] = None,
    engine_version: Annotated[Text, _text("Its version")] = None,
    tp: asked.TpOption = None,
    kv_dtype: Annotated[Text, _text(f"KV format in use: {', '.join(formats.NAMES)}")] = None,
    weights: Annotated[Weights | None, typer.Option(help="Weight format", show_default="the checkpoint's")] = None,
    prefill: asked.PrefillOption = None,
    memory_utilization: Annotated[float | None, _text("Fraction of the GPU that the engine may use")] = None,
    max_model_len: Annotated[Text, _text("Longest request in tokens")] = None,
    max_num_seqs: Annotated[int | None, typer.Option(min=1, help="Requests that run together at most")] = None,
    replicas: Annotated[int | None, typer.Option(min=1, help="Replicas that serve the same model")] = None,
    routing: Annotated[Literal["prefix-aware", "other"] | None, _text("How requests choose a replica")] = None,
    seq: Annotated[
        Text, typer.Option(help="Prefix length in tokens", show_default="the metrics' or trace's mean")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Fetches that begin together")] = None,
    working_set: Annotated[
        Text, _text("Prefixes that come again: 50x10000 (prefixes x tokens), 2.7M tokens, 60GB")
    ] = None,
    reuse: Annotated[Literal["cyclic", "mixed"] | None, _text("How they come again")] = None,
    pool: Annotated[
        Text, typer.Option(help="KV in HBM of one replica: 968145 tokens, 56GB", show_default="the metrics'")
    ] = None,
    hit_rate: Annotated[
        Text, _text("Hit rate of the prefix cache: 60%; several in the order of time: 0,50%,80%")
    ] = None,
    ttft: Annotated[Text, _text("Times to first token beside those: 2.5s,3.1s,6.1s")] = None,
    ceiling: Annotated[Text, _text("Hit rate that no cache exceeds, as 'kvcalc curve' gives it")] = None,
    pool_usage: Annotated[Text, _text("Share of the pool in use, at its fullest: 99%")] = None,
    evicted: Annotated[Text, _text("Tokens evicted an hour: 0, 3.6M")] = None,
    tier: Annotated[
        Text, typer.Option(help="The tier that is asked about", show_default="of --tier-size, else dram")
    ] = None,
    tier_size: Annotated[
        list[str] | None, _text("TIER=SIZE for KV, all ranks: dram=60GB, dram=1.12M tokens; repeatable")
    ] = None,
    tier_in_use: Annotated[bool, typer.Option("--tier-in-use", help="The tier was in use at that hit rate")] = False,
    bandwidth: Annotated[Text, _text("Effective bandwidth of one fetch, all links together: 0.066GB/s")] = None,
    fetched: Annotated[Text, typer.Option(help="Bytes of a fetch that was timed", show_default="the prefix's")] = None,
    fetch_time: Annotated[Text, _text("Time that it took")] = None,
    lookup: Annotated[Text, _text("Look-up time of a fetch: 655ms")] = None,
    drain: Annotated[Text, _text("Rate at which the tier drains to the one below")] = None,
    value_size: Annotated[Text, _text("Size of one value in a store")] = None,
    prefetch_threshold: Annotated[Text, _text("Tokens below which the engine does not look in the lower tier")] = None,
    with_offload: Annotated[Text, _text("A time or a rate measured with offload: 8.6s, 1200tok/s; and")] = None,
    without_offload: Annotated[Text, _text("the same without")] = None,
    host_pool: Annotated[
        Text, _text("Size in the engine's option for host memory as it is written there, or times the pool: 2x")
    ] = None,
    host_used: Annotated[Text, _text("Host memory that the engine was seen to take")] = None,
    host_memory: Annotated[Text, _text("Host memory to spare: 500GB, or 'here' to read this host's")] = None,
    memlock: Annotated[Text, _text("Locked-memory limit, or the largest pool that pinned")] = None,
    recompute: Annotated[Text, _text("Recompute time that somebody claims for the prefix, to be judged")] = None,
    bytes_per_token: Annotated[Text, _text("Bytes a token that somebody claims or measured, to be judged")] = None,
    min_margin: asked.MinMarginOption = 3.0,
    fail_if: Annotated[Literal["do-not-build"] | None, _text("Exit 3 if that is the verdict")] = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Answer the five boxes that say whether KV offload is worth building, with numbers, and give one verdict."""
    from kvcalc.answers.checklist import checklist as answer
    from kvcalc.answers.checklist_options import ChecklistOptions
    from kvcalc.cli import checklist_values as values
    from kvcalc.observe import host
    from kvcalc.tables.checklist import page

    here = host_memory is not None and host_memory.strip() == HERE
    asked_pool, ratio = optional("--host-pool", host_pool, values.host_pool) or (None, None)
    options = ChecklistOptions(
        hardware_assumed=hardware is None,
        engine=engine, engine_version=engine_version, tp=tp, kv_dtype=kv_dtype, weights=weights,
        memory_utilization=memory_utilization, max_sequences=max_num_seqs, replicas=replicas, routing=routing,
        concurrency=concurrency, reuse=reuse, tier=tier, tier_in_use=tier_in_use, min_margin=min_margin,
        prefill=None if prefill is None else asked.prefill(prefill),
        max_model_len=optional("--max-model-len", max_model_len, units.tokens),
        tokens=optional("--seq", seq, units.tokens),
        working_set=optional("--working-set", working_set, values.kv),
        pool=optional("--pool", pool, values.kv),
        hit_rates=_series("--hit-rate", hit_rate, amounts.share),
        ceiling=optional("--ceiling", ceiling, amounts.share),
        pool_usage=optional("--pool-usage", pool_usage, amounts.share),
        evicted_per_hour=optional("--evicted", evicted, units.number),
        first_token_s=_series("--ttft", ttft, units.seconds),
        sizes=tuple(by_tier(tier_size or [], "--tier-size", "60GB", values.kv).items()),
        bandwidth=_positive("--bandwidth", bandwidth, units.rate),
        fetched=_positive("--fetched", fetched, units.size),
        fetch_s=_positive("--fetch-time", fetch_time, units.seconds),
        lookup_s=optional("--lookup", lookup, units.seconds),
        drain=_positive("--drain", drain, units.rate),
        value_bytes=_positive("--value-size", value_size, units.size),
        prefetch_threshold=optional("--prefetch-threshold", prefetch_threshold, units.tokens),
        with_offload=optional("--with-offload", with_offload, values.outcome),
        without_offload=optional("--without-offload", without_offload, values.outcome),
        host_pool=asked_pool, host_ratio=ratio,
        host_used=_positive("--host-used", host_used, units.size),
        host_memory=None if here else optional("--host-memory", host_memory, units.size),
        memlock=optional("--memlock", memlock, units.size),
        recompute_s=_positive("--recompute", recompute, units.seconds),
        bytes_per_token=_positive("--bytes-per-token", bytes_per_token, units.size),
        read=_read(metrics or [], (before, after, interval), (watch, every, timeout), log),
        host=host.read() if here else None,
        trace=values.exists(trace),
    )  # fmt: skip
    result = answer(model, hardware or DEFAULT_NODE, options)
    show.show([result], page(result), form, output)
    return 3 if fail_if and result.verdict == fail_if.replace("-", " ") else 0


def _series(option: str, text: Text, reads: Any) -> Any:
    from kvcalc.cli.checklist_values import series

    return () if text is None else read(option, text, partial(series, reads=reads))


def _positive(option: str, text: Text, reads: Any) -> float | None:
    value = optional(option, text, reads)
    if value is not None and not value:
        raise UserError(f"{option}: it must be above zero")
    return value


def _read(
    metrics: list[str], stored: tuple[Text, Text, Text], live: tuple[Text, Text, str], log: Text
) -> tuple[Any, ...]:
    """Metrics, or two stored scrapes, and the log beside them."""
    from kvcalc.cli import checklist_values as values

    (before, after, interval), (watch, every, timeout) = stored, live
    if (before is None) != (after is None):
        raise UserError("--before and --after go together: give two scrapes of one run, the earlier first")
    if before and metrics:
        raise UserError("--metrics is read once and --before with --after is a span: give one of them")
    if interval and not before:
        raise UserError("--interval is the time between --before and --after: give both, or --metrics with --watch")
    if watch is None and every is not None:
        raise UserError("--every goes with --watch")
    if watch is not None and len(metrics) != 1:
        raise UserError("--watch needs one --metrics, an address; watch replicas one by one")
    if [*metrics, log].count("-") > 1:
        raise UserError("stdin is read once: give - to one option only")
    found: tuple[Any, ...] = ()
    if before and after:
        found = values.between(before, after, optional("--interval", interval, values.duration))
    elif watch is not None:
        span, pause = read("--watch", watch, values.duration), optional("--every", every, values.duration)
        found = values.watched(metrics[0], span, pause)
    elif metrics:
        found = values.metrics(metrics, read("--timeout", timeout, values.duration))
    return (*found, *([values.log(log)] if log is not None else []))
