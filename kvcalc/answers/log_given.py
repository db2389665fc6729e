"""Options that say another thing of a run than its log does."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers import log_names
from kvcalc.errors import shown
from kvcalc.observe.observation import Observation
from kvcalc.physics import formats
from kvcalc.profiles.model import Model

Ran = tuple[Model | None, int | None, int | None, str | None]  # model, degrees and KV format as they were given


def contradictions(
    log: Observation, ran: Ran, max_model_len: int | None, memory_utilization: float | None
) -> tuple[str, ...]:
    """One sentence for each, with the line of the log."""
    model, tp, pp, kv_dtype = ran
    rows = (
        ("tp", "TP", log.tp, tp),
        ("pp", "PP", log.pp, pp),
        ("kv_dtype", "KV format", log.kv_dtype, _format(kv_dtype)),
        ("max_model_len", "a longest length of", log.max_model_len, max_model_len),
        ("memory_utilization", "a memory utilization of", log.memory_utilization, memory_utilization),
    )
    found = [
        f"the log says {what} {_said(stated)}{_line(log, field)}, you gave {_said(given)}"
        for field, what, stated, given in rows
        if stated is not None and given is not None and stated != given
    ]
    return (*_model(log, model), *found)


def _format(kv_dtype: str | None) -> str | None:
    return None if kv_dtype in (None, formats.AUTO) else formats.named(kv_dtype)


def _model(log: Observation, model: Model | None) -> Iterator[str]:
    """Only where the log's name is that of another known model."""
    known = log_names.named(log.model)[0] if log.model and model else None
    if model and known and known.name != model.name:
        yield f"the log says model {shown(log.model or '')}{_line(log, 'model')}, you gave {model.name!r}"


def _said(value: float | str) -> str:
    return value if isinstance(value, str) else units.count(value) if value == int(value) else f"{value:g}"


def _line(log: Observation, field: str) -> str:
    stated = next((each for each in reversed(log.findings) if each.field == field), None)
    return f" (line {stated.line})" if stated else ""
