"""The answer to `route` as tables: here its numbers get their units."""

from collections.abc import Iterator
from dataclasses import fields

from kvcalc import units
from kvcalc.answers.route_result import RouteAnswer, Strategy
from kvcalc.answers.simulate_result import Run
from kvcalc.tables import cited
from kvcalc.tables.page import Cell, Column, Lines, Page, Table
from kvcalc.tables.simulate import lines, rate, said

READING = (
    "Hit: of the tokens. TTFT: time to first token, from arrival to the end of the prefill, mean and percentiles. "
    "Busy: GPUs compute. Uneven: GPU time of the busiest replica over the mean. Network: KV to the store and from it."
)


def page(answer: RouteAnswer) -> Page:
    """The strategies side by side, and what they rest on."""
    blocks: list[Table | Lines] = [
        *lines("Warnings", answer.warnings),
        _strategies(answer),
        Lines("What each needs, and how it fails", tuple(map(_needs, answer.strategies))),
        *lines("What looks wrong with the trace", answer.trace.notes),
        Lines("Replayed", (*said(answer.played, answer.recompute_way, answer.trace), *_sharing(answer))),
        *(block for block in cited.every(answer.assumptions) if block.lines),
    ]
    title = f"{answer.trace.path}: {answer.played.replicas} replicas of {answer.model_title} on {answer.hardware}"
    return Page(title, answer.recommendation, tuple(blocks), lambda: _flat(answer))


def _strategies(answer: RouteAnswer) -> Table:
    columns = (
        Column("Strategy", "name"),
        Column("Hit", "token_rate", number=True),
        Column("TTFT", "ttft_mean_s", number=True),
        Column("p50", "ttft_p50_s", number=True),
        Column("p95", "ttft_p95_s", number=True),
        Column("p99", "ttft_p99_s", number=True),
        Column("Busy", "utilisation", number=True),
        Column("Uneven", "load_imbalance", number=True),
        Column("Network", "network_bytes", number=True),
    )
    return Table("Strategies", columns, tuple(map(_strategy, answer.strategies)), READING)


def _strategy(strategy: Strategy) -> tuple[Cell, ...]:
    run = strategy.run
    times = (run.ttft_mean_s, run.ttft_p50_s, run.ttft_p95_s, run.ttft_p99_s)
    return (
        Cell(run.name),
        Cell(rate(run.token_rate), run.token_rate),
        *(Cell(units.short(each, "s"), each) for each in times),
        Cell(rate(run.utilisation), run.utilisation),
        Cell(f"{strategy.load_imbalance:.2f}x", strategy.load_imbalance),
        Cell(units.short(strategy.network_bytes, "B"), strategy.network_bytes),
    )


def _needs(strategy: Strategy) -> str:
    return f"{strategy.run.name} needs {strategy.components}. It fails so: {strategy.failure_modes}"


def _sharing(answer: RouteAnswer) -> Iterator[str]:
    yield (
        f"load cap {answer.load_cap:g}; consistent-hash by the first {units.count(answer.hash_tokens)} tokens"
        + (f"; store over {answer.store}" if answer.store else "")
        + (f" of {units.short(answer.store_bytes, 'B')}" if answer.store_bytes is not None else "")
    )


def _flat(answer: RouteAnswer) -> Table:
    """For spreadsheets: a row a strategy, the columns keys of the JSON."""
    ours = [each.name for each in fields(Run)]
    own = [each.name for each in fields(Strategy) if each.name != "run"]
    rows = tuple(
        (
            *(Cell(str(getattr(each.run, key)), getattr(each.run, key)) for key in ours),
            *(Cell(str(getattr(each, key)), getattr(each, key)) for key in own),
        )
        for each in answer.strategies
    )
    return Table("Strategies", tuple(Column(key, key) for key in (*ours, *own)), rows)
