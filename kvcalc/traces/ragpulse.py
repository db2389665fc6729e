"""RAGPulse JSONL: ids of content in five components, not chained, with their lengths in files beside the trace."""

from collections.abc import Mapping, Sequence
from typing import Any

from kvcalc import units
from kvcalc.traces.clock import Unit
from kvcalc.traces.row import Row, Unreadable, row

COMPONENTS = ("sys_prompt", "passages_ids", "history", "web_search", "user_input")  # in the order of the prompt
USUAL = 512  # tokens; the longest chunk


class RagPulse:
    """`timestamp` as text, `input_length`, `output_length`, `session_id`, `hash_ids` by component."""

    title = "RAGPulse JSONL"
    unit: Unit = "s"
    block_size: int | None = None
    usual_block_size = USUAL
    local_ids = local_clock = False

    def __init__(self) -> None:
        self._lengths: dict[int, int] = {}
        self._missing: set[object] = set()
        self._shared = 0  # chunks whose length is a share of the prompt

    @property
    def notes(self) -> tuple[str, ...]:
        """Chunks whose length no file gives."""
        if not self._shared:
            return ()
        chunks = f"{units.counted(self._shared, 'chunk')} of {units.counted(len(self._missing), 'id')}"
        why = "stand in no file of lengths" if self._lengths else "have no files of lengths beside the trace"
        return (f"{chunks} {why}: each was given an equal share of what is left of its prompt",)

    @staticmethod
    def fits(found: Mapping[str, Any]) -> bool:
        """Is this one of its rows, or a row of the files that give the lengths?"""
        return isinstance(found.get("hash_ids"), dict) or ("token_length" in found and len(found) == 2)

    def rows(self, found: Mapping[str, Any]) -> Sequence[Row]:
        """The request of a row; a row that gives a length has none. Raises Unreadable."""
        if "token_length" in found:
            self._learn(found)
            return ()
        parts = found.get("hash_ids")
        if not isinstance(parts, dict) or any(
            name not in COMPONENTS or not isinstance(ids, list | None) for name, ids in parts.items()
        ):
            raise Unreadable(f"hash_ids are not lists under {', '.join(COMPONENTS)}")
        ids = [each for name in COMPONENTS for each in parts.get(name) or ()]
        lengths = found.get("input_length"), found.get("output_length")
        made = row(_seconds(found.get("timestamp")), lengths, ids, found.get("session_id"))
        return (made._replace(block_tokens=self._tokens(ids, made.input_tokens)),)

    def _learn(self, found: Mapping[str, Any]) -> None:
        number, *more = (value for key, value in found.items() if key != "token_length")
        if more or type(number) is not int or type(found["token_length"]) is not int:
            raise Unreadable("a length is not an id and a token_length")
        self._lengths[number] = found["token_length"]

    def _tokens(self, ids: list[int], tokens: int) -> list[int]:
        """Tokens of each chunk: as its file gives them, else an equal share of what is left of the prompt."""
        known = [self._lengths.get(each) for each in ids]
        unknown = known.count(None)
        self._shared += unknown
        if unknown:
            self._missing.update(each for each in ids if each not in self._lengths)
        rest = max(0, tokens - sum(each or 0 for each in known))
        share = rest // unknown if unknown else 0
        return [share if each is None else each for each in known]


def _seconds(value: object) -> object:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        raise Unreadable(f"{value!r} is not a time") from None
