"""Qwen-Bailian JSONL: 16-token blocks, seconds, turns that name their parent."""

from collections.abc import Mapping, Sequence
from typing import Any

from kvcalc.traces.clock import Unit
from kvcalc.traces.row import Row, row, session_name


class Bailian:
    """`chat_id`, `parent_chat_id`, `timestamp`, `input_length`, `output_length`, `turn`, `hash_ids`."""

    title = "Qwen-Bailian JSONL"
    unit: Unit = "s"
    block_size: int | None = None
    usual_block_size = 16
    local_ids = local_clock = False
    notes: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._roots: dict[object, object] = {}

    @staticmethod
    def fits(found: Mapping[str, Any]) -> bool:
        """Is this one of its rows?"""
        return "chat_id" in found and "hash_ids" in found

    def rows(self, found: Mapping[str, Any]) -> Sequence[Row]:
        """The request of a row; its session is the chat that it began with. Raises Unreadable."""
        chat, parent = (session_name(found.get(key)) for key in ("chat_id", "parent_chat_id"))
        root = chat if parent in (None, -1) else self._roots.get(parent, parent)
        self._roots[chat] = root
        lengths = found.get("input_length"), found.get("output_length")
        return (row(found.get("timestamp"), lengths, found.get("hash_ids"), root),)
