"""What `capacity --log` answers, as one frozen result: it is the JSON, key by key (docs/output.md)."""

from typing import Literal

from kvcalc.answers.margin_result import Assumption
from kvcalc.frozen import frozen
from kvcalc.observe.observation import Finding

SCHEMA_VERSION = 1
Unit = Literal["bytes", "tokens", "requests"]


@frozen
class Comparison:
    """A figure that the engine printed, and the same one by the engine's rule."""

    figure: str
    unit: Unit
    printed: float
    predicted: float | None  # None: there is no model to predict it from
    ratio: float | None  # printed / predicted
    slack: float = 0.0  # fraction by which rounding in print, or the spread of a fit, may move it

    @property
    def differs(self) -> bool:
        """By more than 1 %, rounding left aside?"""
        return self.ratio is not None and abs(self.ratio - 1) > 0.01 + self.slack


@frozen
class Reason:
    """Why a printed figure is not the plain formula's, or not the predicted one."""

    code: str
    text: str
    predicted: bool  # the prediction takes it into account: it explains the plain formula's error, not its own


@frozen
class HostPool:
    """The host's pool of one rank."""

    asked_bytes: float | None  # by the option
    allocated_bytes: float  # as the log states it
    used_bytes: float  # pinned: a power of two


@frozen
class LogAnswer:
    """The whole answer. Bytes are of one rank."""

    schema_version: int
    engine: str
    engine_version: str | None
    model: str | None
    model_named_by: Literal["option", "log", "likeness"] | None
    tp: int
    pp: int
    kv_dtype: str | None
    kv_tokens_meaning: str | None
    variant: str | None  # what had to be supposed for the prediction to meet the print
    bytes_per_token: float | None  # as printed: bytes / tokens
    rule_bytes_per_token: float | None  # by the engine's rule
    plain_bytes_per_token: float | None  # every layer, K and V, cut over all ranks
    comparisons: tuple[Comparison, ...]
    reasons: tuple[Reason, ...]
    gap: Reason | None  # why a figure is off though the prediction has those reasons in it; then it is the headline
    contradictions: tuple[str, ...]  # of options to the log
    host: "HostPool | None"
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]

    @property
    def headline(self) -> Reason | None:
        """The reason that comes first."""
        return self.gap or (self.reasons[0] if self.reasons else None)

    @property
    def differs(self) -> bool:
        """Does a printed figure differ from the prediction by more than 1 %?"""
        return any(each.differs for each in self.comparisons)
