"""WEKA kv-cache-tester JSON: one object a session, ids that count from 1 in each, sub-agents nested."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvcalc.errors import shown
from kvcalc.traces.clock import Unit
from kvcalc.traces.row import Row, Unreadable, row, stated_size


class Weka:
    """`id`, `block_size`, `hash_id_scope`, `requests` of `t`, `in`, `out`, `hash_ids`, by the session's own clock."""

    title = "WEKA kv-cache-tester JSON"
    unit: Unit = "s"
    block_size: int | None = None
    usual_block_size = 64
    local_ids = local_clock = True
    notes: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._sessions = 0

    @staticmethod
    def fits(found: Mapping[str, Any]) -> bool:
        """Is this one of its sessions?"""
        return isinstance(found.get("requests"), list)

    def rows(self, found: Mapping[str, Any]) -> Sequence[Row]:
        """The requests of a session and of its sub-agents. Raises Unreadable."""
        scope = found.get("hash_id_scope", "local")
        if found.get("block_size") is None:
            size = self.block_size or self.usual_block_size
        else:
            size = stated_size(found["block_size"], self.block_size, "sessions")
        if scope not in ("local", "global"):
            raise Unreadable(f"hash_id_scope {shown(scope)} is none of 'local', 'global'")
        if self._sessions and (scope == "local") != self.local_ids:
            raise Unreadable(f"hash_id_scope {shown(scope)} is not that of the sessions before")
        requests = list(_requests(found.get("requests"), 0.0, self._sessions + 1))
        self.block_size, self.local_ids = size, scope == "local"
        self._sessions += 1
        return requests


def _requests(entries: object, start: float, session: int) -> Iterator[Row]:
    """Sub-agents share the session's ids; their times count from its start, or from their own if they are smaller."""
    if not isinstance(entries, list):
        raise Unreadable("requests are not a list")
    for entry in entries:
        if not isinstance(entry, dict):
            raise Unreadable("a request is not an object")
        at = entry.get("t")
        if not isinstance(at, int | float):
            raise Unreadable(f"t {at!r} is not a time")
        if "requests" in entry:
            nested = entry["requests"]
            first = nested[0].get("t") if isinstance(nested, list) and nested and isinstance(nested[0], dict) else None
            own = isinstance(first, int | float) and first < at
            yield from _requests(nested, start + at if own else start, session)
        else:
            yield row(start + at, (entry.get("in"), entry.get("out")), entry.get("hash_ids"), session)
