"""What was read as the columns of a trace: units and block size settled, ids chained, oddities named."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.traces import chain, clock
from kvcalc.traces.block_size import BlockSize, block_size
from kvcalc.traces.builder import Builder
from kvcalc.traces.clock import Arrival
from kvcalc.traces.reader import Reader, Reading
from kvcalc.traces.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def trace(builder: Builder, reader: Reader, reading: Reading, left_out: tuple[str, ...]) -> Trace:
    """Settle what the file leaves open. Raises UserError for what can't be, and for an arrival that doesn't apply."""
    import numpy as np

    inputs, lengths = np.frombuffer(builder.input, np.int32), np.frombuffer(builder.lengths, np.int32)
    blocks, tokens = np.concatenate(builder.kept), np.concatenate(builder.tokens)
    builder.kept.clear()
    if len(tokens) not in (0, len(blocks)):
        raise UserError("some rows give the tokens of their blocks and others don't")
    starts = np.concatenate([[0], np.cumsum(np.concatenate(builder.kept_lengths))])
    blocks, distinct, unchained = _chained(builder, blocks, starts, tokens)
    arrival, unit, odd = _arrival(builder, reader, reading)
    size = _block_size(reader, reading, (inputs, lengths), tokens)
    return Trace(
        format=reader.title,
        time_unit=unit,
        block_size=size.tokens,
        arrival_s=arrival,
        input_tokens=inputs,
        output_tokens=np.frombuffer(builder.output, np.int32),
        session=np.frombuffer(builder.session, np.int32),
        lengths=lengths,
        starts=starts,
        blocks=blocks,
        places=np.concatenate(builder.places) if builder.places else None,
        block_tokens=tokens if len(tokens) else None,
        order=np.argsort(arrival, kind="stable"),
        distinct=distinct,
        sessions=builder.sessions,
        rate=builder.rate,
        notes=(*left_out, *reader.notes, *odd, *size.notes, *unchained),
        doubt=size.doubt,
    )


def _chained(
    builder: Builder, blocks: "NDArray[np.int32]", starts: "NDArray[np.int64]", tokens: "NDArray[np.int32]"
) -> tuple["NDArray[np.int32]", int, tuple[str, ...]]:
    """Blocks, distinct blocks, and what is lost by matching prefixes only. A sample has gaps and is taken as it is."""
    import numpy as np

    found = 0 if builder.rate < 1 else chain.conflicts(blocks, starts, builder.distinct)
    if not found:
        return blocks, builder.distinct, ()
    anywhere = 1 - builder.distinct / len(blocks)
    said = f"{100 * anywhere:.1f} % of the blocks"
    if len(tokens):
        sizes = np.zeros(builder.distinct, np.int64)
        sizes[blocks] = tokens
        said += f" and {100 * (1 - sizes.sum() / tokens.sum(dtype=np.int64)):.1f} % of their tokens"
    seen = f"{found:,} blocks follow others than where they were first seen"
    if found == 1:
        seen = "1 block follows another than where it was first seen"
    linked, distinct = chain.chained(blocks, starts)
    note = (
        f"ids stand for content, not for prefixes ({seen}): "
        f"hits are counted for prefixes; matched anywhere, {said} were seen before"
    )
    return linked, distinct, (note,)


def _arrival(builder: Builder, reader: Reader, reading: Reading) -> tuple["NDArray[np.float64]", str, tuple[str, ...]]:
    """Seconds on one clock, the unit that they were read in, and what is odd about them."""
    import numpy as np

    times, session = np.frombuffer(builder.arrival), np.frombuffer(builder.session, np.int32)
    way = reading.arrival or Arrival()
    if reader.local_clock:
        unit = reading.time_unit or reader.unit
        arrival = clock.overlay(times * clock.SECONDS[unit], session, way)
        return arrival, unit, (*clock.idle(times, session, unit), *_apart(builder, reader, way))
    if way.way != "recorded":
        raise UserError("--arrival is for sessions without a common clock; the times of this trace have one")
    unit, odd = clock.unit(times, reader.unit, reading.time_unit)
    return times * clock.SECONDS[unit], unit, (*odd, *_order(builder, times))


def _apart(builder: Builder, reader: Reader, way: Arrival) -> Iterator[str]:
    """What sessions that know nothing of one another leave open."""
    if builder.sessions < 2:
        return
    if reader.local_ids:
        yield "each session counts its ids from the start, so what sessions share (tools, system prompt) can't be seen"
    if way.way == "recorded":
        yield (
            "sessions have no common clock and all begin at once, which a small cache feels most; "
            "--arrival stagger=60s or concurrency=8 lays them out"
        )


def _order(builder: Builder, times: "NDArray[np.float64]") -> Iterator[str]:
    import numpy as np

    if builder.timed < len(times):
        without = len(times) - builder.timed
        stand = "stand" if without > 1 else "stands"
        yield f"{units.counted(without, 'request')} without a time {stand} at the beginning"
    backwards = int(np.count_nonzero(np.diff(times) < 0))
    if backwards:
        each = "requests come before the one above them" if backwards > 1 else "request comes before the one above it"
        yield f"not sorted by time: {backwards:,} {each}; sorted here"


def _block_size(
    reader: Reader,
    reading: Reading,
    prompts: tuple["NDArray[np.int32]", "NDArray[np.int32]"],
    tokens: "NDArray[np.int32]",
) -> BlockSize:
    """That of the prompts, tokens and blocks; where blocks differ, the longest."""
    if len(tokens):
        return BlockSize(int(tokens.max()), 1.0, ())
    return block_size(*prompts, reader.usual_block_size, reader.block_size, reading.block_size)
