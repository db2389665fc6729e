"""Mooncake JSONL, with the names that aiperf, Dynamo and kvcache-simulator use for the same fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from kvcalc.traces.clock import Unit
from kvcalc.traces.row import Row, Unreadable, row, session_name, stated_size


class Mooncake:
    """`timestamp`, `input_length`, `output_length`, `hash_ids`; each id stands for a block and everything before it."""

    title = "Mooncake JSONL"
    unit: Unit = "ms"
    block_size: int | None = None  # as the file states it
    usual_block_size = 512
    local_ids = local_clock = False
    notes: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._clock: dict[object, float] = {}  # by session: for turns that state a delay instead of a time
        self._gives_tokens: bool | None = None  # do the rows give the tokens of their blocks?

    @staticmethod
    def fits(found: Mapping[str, Any]) -> bool:
        """Is this one of its rows?"""
        schema = str(found.get("schema", ""))
        return "hash_ids" in found or "mooncake" in schema or "input_length" in found or "input_tokens" in found

    def rows(self, found: Mapping[str, Any]) -> Sequence[Row]:
        """The request of a row; a header row has none. Raises Unreadable."""
        get = found.get
        if "block_size" in found:
            self._state(found["block_size"])
        ids, session, arrival = get("hash_ids"), get("session_id"), get("timestamp")
        if ids is None and "schema" in found:
            return ()
        if arrival is None or session is not None:
            arrival = self._arrival(found, session_name(session))
        lengths = (
            found["input_length"] if "input_length" in found else get("input_tokens"),
            found["output_length"] if "output_length" in found else get("output_tokens"),
        )
        return (self._alike(row(arrival, lengths, ids, session, _block_tokens(found))),)

    def _alike(self, made: Row) -> Row:
        """The row, if it gives the tokens of its blocks as the rows before do. Raises Unreadable."""
        given = made.block_tokens is not None
        if made.blocks and self._gives_tokens not in (None, given):
            raise Unreadable("some rows give block_tokens and others don't; this one is not like the rows before")
        if made.blocks:
            self._gives_tokens = given
        return made

    def _state(self, stated: object) -> None:
        if stated is not None:
            self.block_size = stated_size(stated, self.block_size, "rows")

    def _arrival(self, found: Mapping[str, Any], session: object) -> object:
        arrival = found.get("timestamp", found.get("created_time"))
        delay = found.get("delay", found.get("delay_ms"))
        if arrival is None and delay is None:
            return self._clock.get(session) if session is not None else None
        if arrival is None and type(delay) in (int, float):
            arrival = self._clock.get(session, 0.0) + delay
        if session is not None and type(arrival) in (int, float):
            self._clock[session] = arrival
        return arrival


def _block_tokens(found: Mapping[str, Any]) -> list[int] | None:
    given, ids = found.get("block_tokens"), found.get("hash_ids")
    if given is None:
        return None
    whole = isinstance(given, list) and isinstance(ids, list) and len(given) == len(ids)
    if not whole or any(type(each) is not int or each < 1 for each in given):
        raise Unreadable("block_tokens are not one whole number for each of hash_ids")
    return list(given)
