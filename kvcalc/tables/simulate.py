"""The answer to `simulate` as tables: here its numbers get their units."""

from collections.abc import Iterator
from dataclasses import fields

from kvcalc import units
from kvcalc.answers.curve_result import TraceFacts
from kvcalc.answers.simulate_result import LinkFigures, Played, Run, SimulateAnswer, TierUse
from kvcalc.tables import cited
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

READING = (
    "TTFT: time to first token, from arrival to the end of the prefill. Fetching lost: of the requests that fetched, "
    "those whose blocks came later than computing them would have taken."
)


def page(answer: SimulateAnswer) -> Page:
    """What the tiers did for the trace, how full and how busy they were, and what that rests on."""
    blocks: list[Table | Lines] = [
        *lines("Warnings", answer.warnings),
        runs(answer.runs, "Without offload and with it"),
        Lines("Saved", _saved(answer)),
        _tiers(answer),
        *_links(answer.links),
        *lines("What looks wrong with the trace", answer.trace.notes),
        Lines("Replayed", said(answer.played, answer.recompute_way, answer.trace)),
        *(block for block in cited.every(answer.assumptions) if block.lines),
    ]
    title = f"{answer.trace.path}: {answer.model_title} on {answer.hardware}, with time"
    return Page(title, answer.recommendation, tuple(blocks), lambda: flat(answer.runs))


def lines(title: str, texts: tuple[str, ...]) -> Iterator[Lines]:
    """Sentences under a title, if there are any."""
    if texts:
        yield Lines(title, texts)


def runs(found: tuple[Run, ...], title: str, note: str = READING) -> Table:
    """A row a replay."""
    columns = (
        Column("", "name"),
        Column("Tokens hit", "token_rate", number=True),
        Column("TTFT mean", "ttft_mean_s", number=True),
        Column("p50", "ttft_p50_s", number=True),
        Column("p95", "ttft_p95_s", number=True),
        Column("p99", "ttft_p99_s", number=True),
        Column("GPUs compute", "utilisation", number=True),
        Column("GPUs wait", "held_gpu_s", number=True),
        Column("Fetched", "fetched_requests", number=True),
        Column("Fetching lost", "lost_requests", number=True),
    )
    return Table(title, columns, tuple(map(_run, found)), note)


def _run(run: Run) -> tuple[Cell, ...]:
    times = (run.ttft_mean_s, run.ttft_p50_s, run.ttft_p95_s, run.ttft_p99_s)
    return (
        Cell(run.name),
        Cell(rate(run.token_rate), run.token_rate),
        *(Cell(units.short(each, "s"), each) for each in times),
        Cell(rate(run.utilisation), run.utilisation),
        Cell(f"{units.count(run.held_gpu_s)} GPU-s", run.held_gpu_s),
        Cell(units.count(run.fetched_requests), run.fetched_requests),
        Cell(units.count(run.lost_requests), run.lost_requests),
    )


def _saved(answer: SimulateAnswer) -> tuple[str, ...]:
    alone, tiered = answer.runs
    share = answer.saved_gpu_s / alone.prefill_gpu_s if alone.prefill_gpu_s else 0.0
    before, after = units.short(alone.ttft_p50_s, "s"), units.short(tiered.ttft_p50_s, "s")
    return (
        f"The tiers save {units.count(answer.saved_gpu_s)} GPU-seconds of prefill, {rate(share)} of "
        f"{units.count(alone.prefill_gpu_s)}; the median time to first token goes from {before} to {after}",
        f"HBM and tiers together save {units.count(answer.saved_by_cache_gpu_s)} GPU-seconds against no cache at all",
    )


def _tiers(answer: SimulateAnswer) -> Table:
    columns = (
        Column("Tier", "tier"),
        Column("Size", "tier_bytes", number=True),
        Column("Blocks", "tier_blocks", number=True),
        Column("Blocks hit there", "hit_rate", number=True),
        Column("Evicted", "evicted_blocks", number=True),
        Column("An hour", "evictions_per_hour", number=True),
        Column("Drive writes a day", "drive_writes_per_day", number=True),
    )
    return Table("Tiers", columns, tuple(map(_tier, answer.tiers)), _full(answer))


def _tier(tier: TierUse) -> tuple[Cell, ...]:
    writes = tier.drive_writes_per_day
    return (
        Cell(tier.tier),
        Cell(units.short(tier.tier_bytes, "B"), tier.tier_bytes),
        Cell(units.count(tier.tier_blocks), tier.tier_blocks),
        Cell(rate(tier.hit_rate), tier.hit_rate),
        Cell(units.count(tier.evicted_blocks), tier.evicted_blocks),
        Cell(units.count(tier.evictions_per_hour), tier.evictions_per_hour),
        Cell("" if writes is None else f"{writes:.2g}", writes),
    )


def _full(answer: SimulateAnswer) -> str:
    whose = "each replica's" if answer.played.replicas > 1 else "the"
    full = "was full and evicted" if answer.runs[0].evicted_blocks else "was never full"
    return f"Without offload HBM {full}. Sizes are {whose} tiers', counts of all of the trace."


def _links(found: tuple[LinkFigures, ...]) -> Iterator[Table]:
    columns = (
        Column("From", "source"),
        Column("To", "target"),
        Column("Bandwidth", "bytes_per_s", number=True),
        Column("Moved", "moved_bytes", number=True),
        Column("Busy", "link_utilisation", number=True),
    )
    rows = tuple(
        (
            Cell(link.source),
            Cell(link.target),
            Cell(units.short(link.bytes_per_s, "B/s"), link.bytes_per_s),
            Cell(units.short(link.moved_bytes, "B"), link.moved_bytes),
            Cell(rate(link.link_utilisation), link.link_utilisation),
        )
        for link in found
    )
    if rows:
        yield Table("Links", columns, rows)


def said(played: Played, way: str, trace: TraceFacts) -> tuple[str, ...]:
    """The rules of the replay in sentences."""
    replicas = f"{played.replicas} replica{'s' if played.replicas > 1 else ''}"
    speed = "" if played.speed == 1 else f", {played.speed:g} times as fast"
    seed = "" if played.spacing == "recorded" else f", seed {played.seed}"
    clock = f"arrivals {played.spacing}{speed}{seed}"
    fetched = {"admission": "when a request arrives", "lazy": "when its turn has come, and the GPU waits"}
    return (
        f"{units.count(trace.requests)} requests recorded over {units.count(trace.duration_s)} s, mean prompt "
        f"{units.count(trace.input_tokens_mean)} tokens in blocks of {units.count(trace.tokens_per_block)}",
        f"{replicas}, {played.kv_dtype} KV, {clock}; prefill by the {way}",
        f"{played.hierarchy} tiers, policy {played.policy}, admission {played.admission}; fetched "
        f"{fetched[played.prefetch]}, {played.fetch_if if played.fetch_if == 'always' else f'if {played.fetch_if}'}",
    )


def flat(found: tuple[Run, ...]) -> Table:
    """For spreadsheets: a row a replay, the columns keys of the JSON."""
    keys = [each.name for each in fields(Run)]
    rows = tuple(tuple(Cell(str(getattr(run, key)), getattr(run, key)) for key in keys) for run in found)
    return Table("Runs", tuple(Column(key, key) for key in keys), rows)


def rate(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f} %"
