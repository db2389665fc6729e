"""One request as its file has it: ids of any kind, time in the file's unit."""

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from kvcalc.errors import UserError, shown

LONGEST = 2**31 - 1  # tokens of a request; columns hold 32 bits
FARTHEST = 1e21  # nanoseconds since 1970 are below 1e19
NUMBERS = (int, float)  # and not True, which is an int to isinstance
SESSIONS = (int, str, type(None))


class Unreadable(UserError):
    """A row that can't be used: why."""


class WideIds(Unreadable):
    """The JSON reader made floats of ids beyond 64 bits; a slower one keeps them."""


class Row(NamedTuple):
    """Fields of a request, checked."""

    arrival: float | None  # in the file's unit
    input_tokens: int
    output_tokens: int
    blocks: "array[int] | Sequence[int | str]"  # an array of 64 bits where they suffice
    session: int | str | None
    block_tokens: Sequence[int] | None  # of each block, where they differ


def row(
    arrival: Any,
    lengths: tuple[Any, Any],
    blocks: Any,
    session: Any = None,
    block_tokens: Sequence[int] | None = None,
) -> Row:
    """Check the fields; `lengths` are input and output tokens. Raises Unreadable."""
    tokens, output = lengths
    if type(tokens) is not int or not 0 <= tokens <= LONGEST:
        raise Unreadable(f"{shown(tokens)} is not a count of input tokens")
    if output is None:
        output = 0
    if type(output) is not int or not 0 <= output <= LONGEST:
        raise Unreadable(f"{shown(output)} is not a count of output tokens")
    if type(blocks) is not list:
        raise Unreadable("no list of block ids")
    session_name(session)
    if arrival is not None and not (type(arrival) in NUMBERS and -FARTHEST < arrival < FARTHEST):
        raise Unreadable(f"{shown(arrival)} is not a time")
    return Row(arrival, tokens, output, _packed(blocks), session, block_tokens)


def session_name(value: object) -> Any:
    """A session's name, if it can be one. Raises Unreadable."""
    if type(value) not in SESSIONS:
        raise Unreadable(f"{shown(value)} is not a session")
    return value


def stated_size(stated: object, before: int | None, of: str) -> int:
    """The block size that a file states, the same throughout. Raises Unreadable."""
    if type(stated) is not int or not 1 <= stated <= LONGEST:
        raise Unreadable(f"block_size {shown(stated)} is not a count of tokens")
    if before and stated != before:
        raise Unreadable(f"block_size {stated} is not that of the {of} before, {before}")
    return stated


def _packed(blocks: list[Any]) -> "array[int] | list[int | str]":
    try:
        packed = array("Q", blocks)
    except (OverflowError, TypeError):
        kinds = set(map(type, blocks))
        if float in kinds:
            raise WideIds("block ids are whole numbers or text") from None
        if not kinds <= {int, str}:
            raise Unreadable("block ids are whole numbers or text") from None
        return blocks
    if blocks and type(blocks[0]) is bool:  # which is a number to an array
        raise Unreadable("block ids are whole numbers or text")
    return packed
