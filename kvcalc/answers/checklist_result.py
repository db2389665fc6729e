"""What `checklist` answers, as one frozen result: it is the JSON, key by key (docs/output.md)."""

from typing import Literal

from kvcalc.answers.margin_result import Assumption
from kvcalc.frozen import frozen

SCHEMA_VERSION = 1
UNKNOWN = "unknown"  # of a model without a profile: its KV as stored, its weights

Answer = Literal["yes", "no", "unknown"]
Decision = Literal["do not build", "do the cheaper things first", "worth measuring", "worth building"]
Effect = Literal["blocks", "cheaper", "unknown", "supports", "note"]

WEIGHT: tuple[Effect, ...] = ("blocks", "cheaper", "unknown", "supports", "note")  # the heaviest first
DECISIONS: dict[Effect, Decision] = {
    "blocks": "do not build",
    "cheaper": "do the cheaper things first",
    "unknown": "worth measuring",
    "supports": "worth building",
}


@frozen
class Reason:
    """One sentence and what it does to the verdict."""

    box: int
    effect: Effect
    code: str
    text: str


@frozen
class Figure:
    """A number that a box rests on, in SI units; `unit` is B, B/s, s, tokens, 1 (a fraction), x (a ratio) and such."""

    name: str
    value: float | str | None
    unit: str
    origin: str  # given, metrics, log, trace, this host, or the profile


@frozen
class Box:
    """One question of the chapter's section 6."""

    number: int
    question: str
    answer: Answer
    reasons: tuple[Reason, ...]
    figures: tuple[Figure, ...]
    run: tuple[str, ...]  # what to run to know


@frozen
class LookupSeen:
    """What was asked of a tier and found."""

    tier: str
    unit: str
    asked: float | None
    found: float | None
    hit_rate: float | None


@frozen
class TransferSeen:
    """What was copied one way."""

    source: str
    target: str
    bytes: float | None
    tokens: float | None
    blocks: float | None
    seconds: float | None
    bytes_per_s: float | None
    thread_seconds: bool
    tokens_per_s: float | None


@frozen
class Seen:
    """What one engine's metrics or log say; rates where two scrapes were given, else totals since its start."""

    source: str
    engine: str
    model: str | None
    elapsed_s: float | None
    kv_dtype: str | None
    kv_tokens: int | None
    block_product: int | None
    host_tokens: int | None
    host_bytes_per_token: float | None
    available_kv_bytes: float | None
    pool_usage: float | None
    hit_rate: float | None
    bytes_per_hit_token: float | None
    evicted: float | None
    evicted_unit: str | None
    evicted_per_hour: float | None
    preemptions: float | None
    mean_prompt_tokens: float | None
    mean_ttft_s: float | None
    lookups: tuple[LookupSeen, ...]
    transfers: tuple[TransferSeen, ...]
    notes: tuple[str, ...]


@frozen
class Checklist:
    """The whole answer."""

    schema_version: int
    model: str
    model_title: str
    hardware: str
    hardware_title: str
    engine: str
    tp: int
    kv_dtype: str
    kv_stored: str
    weights: str
    tokens: int
    tier: str
    min_margin: float
    verdict: Decision
    reasons: tuple[Reason, ...]  # in the order of their weight
    boxes: tuple[Box, ...]
    seen: tuple[Seen, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
