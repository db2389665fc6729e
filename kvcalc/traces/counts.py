"""Traces that count tokens but name no blocks, as CSV: Azure, BurstGPT, vidur.

They give a hit rate only with a model of reuse.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kvcalc.traces.clock import Unit
from kvcalc.traces.row import Row, Unreadable, row

BLOCK = 16  # tokens; vLLM's page
COLUMNS = {  # arrival, input, output, session
    "Azure CSV": ("TIMESTAMP", "ContextTokens", "GeneratedTokens", None),
    "BurstGPT CSV": ("Timestamp", "Request tokens", "Response tokens", "Session ID"),
    "vidur CSV": ("arrived_at", "num_prefill_tokens", "num_decode_tokens", None),
}


class TokenCounts:
    """Rows of token counts. With `prefix` the first tokens of all prompts are the same, and nothing else is."""

    unit: Unit = "s"
    block_size: int | None = BLOCK
    usual_block_size = BLOCK
    local_ids = local_clock = False
    notes: tuple[str, ...] = ()

    def __init__(self, prefix: int | None = None) -> None:
        self.title = "token-count CSV"
        self._prefix = prefix
        self._next = 0

    @staticmethod
    def fits(found: Mapping[str, Any]) -> bool:
        """Is this one of its rows?"""
        return any(set(filter(None, names)) <= set(found) for names in COLUMNS.values())

    def rows(self, found: Mapping[str, Any]) -> Sequence[Row]:
        """The request of a row; a failure of BurstGPT has none. Raises Unreadable."""
        title = next((title for title, names in COLUMNS.items() if set(filter(None, names)) <= set(found)), None)
        if title is None:
            raise Unreadable(f"no columns of {', '.join(COLUMNS)}")
        self.title = title
        time, asked, answered, session = COLUMNS[title]
        lengths = _whole(found[asked]), _whole(found[answered])
        if session and lengths[1] == 0:
            raise Unreadable("a failed request, without a response")
        return (row(_seconds(found[time]), lengths, self._blocks(lengths[0]), found.get(session) if session else None),)

    def _blocks(self, tokens: int) -> list[int]:
        if self._prefix is None:
            return []
        shared = min(self._prefix, tokens) // BLOCK
        rest = -(-tokens // BLOCK) - shared
        first = 2**32 + self._next
        self._next += rest
        return [*range(shared), *range(first, first + rest)]


def _whole(text: str | None) -> int:
    try:
        return int(float(text or ""))
    except (ValueError, OverflowError):
        raise Unreadable(f"{text!r} is not a count of tokens") from None


def _seconds(text: str | None) -> float:
    """A number, or a date: Azure writes seven decimals, of which Python reads six."""
    try:
        return float(text or "")
    except ValueError:
        pass
    date, dot, fraction = (text or "").partition(".")
    try:
        return datetime.fromisoformat(date + dot + fraction[:6]).timestamp()
    except ValueError:
        raise Unreadable(f"{text!r} is not a time") from None
