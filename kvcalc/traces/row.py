"""One request as its file has it: ids of any kind, time in the file's unit."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from kvcalc.errors import UserError, shown

LONGEST = 2**31 - 1  # tokens of a request; columns hold 32 bits


class Unreadable(UserError):
    """A row that can't be used: why."""


class WideIds(Unreadable):
    """The JSON reader made floats of ids beyond 64 bits; a slower one keeps them."""


class Row(NamedTuple):
    """Fields of a request, checked."""

    arrival: float | None  # in the file's unit
    input_tokens: int
    output_tokens: int
    blocks: Sequence[int | str]
    plain: bool  # all ids are whole numbers
    session: int | str | None
    block_tokens: Sequence[int] | None  # of each block, where they differ


def row(
    arrival: object,
    lengths: tuple[object, object],
    blocks: object,
    session: object = None,
    block_tokens: Sequence[int] | None = None,
) -> Row:
    """Check the fields; `lengths` are input and output tokens. Raises Unreadable."""
    tokens, output = lengths
    if type(tokens) is not int or not 0 < tokens <= LONGEST:
        raise Unreadable(f"{shown(tokens)} is not a count of input tokens")
    if output is None:
        output = 0
    if type(output) is not int or not 0 <= output <= LONGEST:
        raise Unreadable(f"{shown(output)} is not a count of output tokens")
    if type(blocks) is not list:
        raise Unreadable("no list of block ids")
    kinds = set(map(type, blocks))
    if float in kinds:
        raise WideIds("block ids are whole numbers or text")
    if not kinds <= {int, str}:
        raise Unreadable("block ids are whole numbers or text")
    if not isinstance(session, int | str | None):
        raise Unreadable(f"{shown(session)} is not a session")
    return Row(_time(arrival), tokens, output, blocks, str not in kinds, session, block_tokens)


def _time(value: object) -> float | None:
    if type(value) in (int, float):
        found = float(value)  # type: ignore[arg-type]
        if math.isfinite(found):
            return found
    elif value is None:
        return None
    raise Unreadable(f"{shown(value)} is not a time")
