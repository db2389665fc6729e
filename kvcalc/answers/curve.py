"""How large a cache does this trace need, and where do a node's tiers fall on its hit-rate curve?"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kvcalc import units
from kvcalc.answers import advice
from kvcalc.answers.curve_result import SCHEMA_VERSION, CurveAnswer, CurvePoint, TraceFacts
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.placement import Places, Placing, places
from kvcalc.errors import UserError
from kvcalc.physics import formats, kv
from kvcalc.simulate.curve import Curve, Point, bound, from_distances
from kvcalc.simulate.distances import distances
from kvcalc.traces.read import read
from kvcalc.traces.reader import Reading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvcalc.traces.trace import Trace

STEPS = (1, 2, 5)  # capacities at 1, 2 and 5 times powers of ten
FEW = 100  # distinct blocks: a sample of fewer has bounds that mean nothing
ROWS = 10  # of them, the largest
ONE_CACHE = "One least-recently-used cache for all requests"
LOOKUP = "a request is looked up whole, hits as far as its leading blocks are there, and then touches"


def curve(
    path: Path | str,
    placing: Placing | None = None,
    reading: Reading | None = None,
    tail_first: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> CurveAnswer:
    """Describe a trace, give its hit rate by capacity, and place a node's tiers on the curve.

    Raises UserError for a trace that can't be read or names no blocks, and where `placing` doesn't go together.
    """
    return of(load(path, reading, progress), str(path), placing, tail_first)


def load(
    path: Path | str, reading: Reading | None = None, progress: Callable[[int, int], None] | None = None
) -> "Trace":
    """A trace that names blocks. Raises UserError for one that doesn't, or can't be read."""
    trace = read(path, reading, progress)
    if not len(trace.blocks) and trace.references:
        raise UserError(f"--sample: {100 * trace.rate:g} % of the distinct blocks are none of this trace; raise it")
    if not len(trace.blocks):
        given = reading is not None and reading.shared_prefix is not None
        raise UserError(
            f"{str(path)!r} counts tokens and names no blocks, so it says nothing of reuse; "
            + (
                "its prompts have no tokens"
                if given
                else "assume some with --shared-prefix 2000, the tokens that all prompts share"
            )
        )
    return trace


def of(
    trace: "Trace",
    path: str,
    placing: Placing | None = None,
    tail_first: bool = True,
    steps: Sequence[float] = STEPS,
) -> CurveAnswer:
    """The same of a trace that is read, at these steps of each decade of capacities.

    Raises UserError where `placing` doesn't go together.
    """
    found = distances(trace, tail_first)
    drawn = from_distances(trace, found)
    prompt = max(1, round(drawn.asked.tokens / len(trace.order)))
    placed = places(placing, drawn, trace.tokens_per_block, prompt) if placing else Places()
    points = _points(trace, found, drawn, steps, _bytes_per_token(placing, prompt))
    knee, ceiling = (next(each for each in points if each.mark == mark) for mark in ("knee", "ceiling"))
    facts = _facts(path, trace, drawn)
    return CurveAnswer(
        schema_version=SCHEMA_VERSION,
        trace=facts,
        touch="tail-first" if tail_first else "head-first",
        points=points,
        knee=knee,
        ceiling=ceiling,
        model=placing.model.name if placing else None,
        model_title=placing.model.title if placing else None,
        hardware=placing.machine.name if placing else None,
        tp=placed.tp,
        prompt_tokens=prompt,
        places=placed.found,
        recommendation=doubted(
            trace, _sampled(trace, knee, ceiling) + advice.recommendation(placed.found, knee, ceiling)
        ),
        warnings=placed.warnings,
        assumptions=(*_assumptions(trace, tail_first), *placed.assumptions),
    )


def doubted(trace: "Trace", text: str) -> str:
    """A recommendation after what makes it doubtful."""
    return (
        f"The block size is doubtful ({trace.doubt}), and with it every count of tokens. {text}"
        if trace.doubt
        else text
    )


def _sampled(trace: "Trace", knee: CurvePoint, ceiling: CurvePoint) -> str:
    """That a sample is too small to say anything."""
    wide = max((knee, ceiling), key=lambda point: point.bound)
    if trace.rate == 1 or (
        trace.distinct >= FEW and knee.bound < knee.block_rate and ceiling.bound < ceiling.block_rate
    ):
        return ""
    return (
        f"The sample is too small to tell: {units.counted(trace.distinct, 'distinct block')}, by which "
        f"{100 * wide.block_rate:.1f} % of the blocks hit, ± {100 * min(1.0, wide.bound):.1f} points; raise --sample. "
    )


def _bytes_per_token(placing: Placing | None, prompt: int) -> float | None:
    if placing is None:
        return None
    return kv.logical(placing.model, prompt, formats.stored(placing.model, placing.kv_dtypes[0])) / prompt


def _points(
    trace: "Trace",
    found: "NDArray[np.int32]",
    drawn: Curve,
    steps: Sequence[float],
    bytes_per_token: float | None,
) -> tuple[CurvePoint, ...]:
    """Round capacities up to the one that has all hits, the knee and the ceiling, rising."""
    size = trace.tokens_per_block
    most = drawn.largest * size
    decades = [[round(step * 10**power) for step in steps] for power in range(16)]
    rows = ROWS * len(steps) // len(STEPS)
    round_ones = [tokens for decade in decades for tokens in decade if size <= tokens < most][-rows:]
    marked = [("", drawn.at(tokens / size), tokens) for tokens in round_ones]
    marked += [
        (mark, point, round(point.capacity_blocks * size))
        for mark, point in (("knee", drawn.knee), ("ceiling", drawn.ceiling))
    ]

    def made(mark: str, point: Point, tokens: int) -> CurvePoint:
        return CurvePoint(
            mark=mark,
            capacity_tokens=tokens,
            capacity_blocks=point.capacity_blocks,
            capacity_bytes=None if bytes_per_token is None else round(tokens * bytes_per_token),
            token_rate=point.token_rate,
            block_rate=point.block_rate,
            full_block_rate=point.full_block_rate,
            warm_token_rate=point.warm_token_rate,
            work=point.work,
            bound=bound(trace, found, point.capacity_blocks) if trace.rate < 1 else 0.0,
        )

    return tuple(made(*each) for each in sorted(marked, key=lambda each: each[2]))


def _facts(path: str, trace: "Trace", drawn: Curve) -> TraceFacts:
    import numpy as np

    p50, p95, most = (int(each) for each in np.percentile(trace.input_tokens, [50, 95, 100], method="inverted_cdf"))
    half, most_hits = drawn.depths(0.5, 0.9)
    duration = float(np.ptp(trace.arrival_s))
    return TraceFacts(
        path=path,
        format=trace.format,
        time_unit=trace.time_unit,
        block_size=trace.block_size,
        tokens_per_block=trace.tokens_per_block,
        requests=len(trace.order),
        sessions=trace.sessions,
        duration_s=duration,
        requests_per_s=len(trace.order) / duration if duration else 0.0,
        input_tokens=drawn.asked.tokens,
        input_tokens_mean=drawn.asked.tokens / len(trace.order),
        input_tokens_p50=p50,
        input_tokens_p95=p95,
        input_tokens_max=most,
        output_tokens=int(trace.output_tokens.sum(dtype=np.int64)),
        block_references=trace.references,
        distinct_blocks=round(trace.distinct / trace.rate),
        distinct_tokens=round(trace.distinct / trace.rate * trace.tokens_per_block),
        reuse_p50_tokens=round(half * trace.tokens_per_block),
        reuse_p90_tokens=round(most_hits * trace.tokens_per_block),
        sampled=trace.rate,
        notes=trace.notes,
    )


def _assumptions(trace: "Trace", tail_first: bool) -> tuple[Assumption, ...]:
    order = "its last block first, so that leaves are evicted first" if tail_first else "its first block first"
    lookup = f"{ONE_CACHE}; {LOOKUP} {order}"
    found = [Assumption(lookup), Assumption("Output tokens are in the cache only when a later prompt repeats them")]
    if trace.rate < 1:
        share = f"{100 * trace.rate:g} % of the distinct blocks"
        found.append(
            Assumption(f"A sample of {share}, whose ids must stand for prefixes; bounds are 1.96 standard errors")
        )
    return tuple(found)
