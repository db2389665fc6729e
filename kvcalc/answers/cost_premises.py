"""What an answer about cost rests on apart from what `margin` does, and what its reader must know first."""

from collections.abc import Iterator

from kvcalc import amounts, units
from kvcalc.answers import contention
from kvcalc.answers.cost_case import Case
from kvcalc.answers.margin_result import Assumption
from kvcalc.profiles.sources import given


def premises(case: Case) -> Iterator[Assumption]:
    """Prices first."""
    for option, price in case.quoted():
        said = f"{option} {amounts.priced(price.amount, price.currency)}"
        yield Assumption(said, (given(f"{said}@{price.day}"),))
    gpu = case.setting.machine.accelerator
    yield Assumption(
        "GPU time of a fetch: its bytes are written to HBM; copy engines take no more of the GPU, copy kernels do",
        (gpu.memory_bandwidth.source,),
    )
    if case.latency == case.throughput:
        yield Assumption(
            "GPU time and latency of recomputing are those of one request: no rate of a whole node is known"
        )
    else:
        yield Assumption(f"Latency of recomputing: one request alone, {case.latency.way}", case.one_request.sources)
    yield from _drives(case)
    if case.setting.options.rate is not None:
        yield Assumption(
            "Every token that is computed is written to every tier once; hits write their new tokens alone. Requests "
            "beyond what the path or the GPUs bear are not served, and no more GPU time is saved than the node has"
        )


def _drives(case: Case) -> Iterator[Assumption]:
    for tier in case.setting.tiers:
        drives, size = case.one_of(tier), case.size(tier)
        if drives and size:
            one = f"{units.short(size, 'B')}, one of {drives} drives"
            text = f"{tier.name}: bandwidth, capacity, endurance and price are those of {one}"
            yield Assumption(text, (tier.capacity.source,) if tier.capacity else ())
    if any(case.rating(tier) for tier in case.setting.tiers):
        text = (
            "Wear: a drive's price is spread over its rated life, or over its rated writes where those are used up "
            "sooner: it is charged once"
        )
        rated = [tier.drive_writes_per_day for tier in case.setting.tiers if tier.name not in case.ratings]
        yield Assumption(text, tuple(figure.source for figure in rated if figure))


def warnings(case: Case) -> Iterator[str]:
    """What the rate is too much for, and tiers that hold nothing."""
    if case.traffic:
        yield from contention.warnings(case.traffic)
    for tier in case.setting.tiers:
        size = case.size(tier)
        if size is not None and size < case.bytes:
            yield f"{tier.name}: {units.short(size, 'B')} holds no prefix of {units.short(case.bytes, 'B')}"
