"""Does fetching a prefix's KV cache beat recomputing it, tier by tier, and what would change the answer?"""

from dataclasses import dataclass

from kvcalc.answers import flips, paths, remarks
from kvcalc.answers.flips import Flip
from kvcalc.answers.options import Options
from kvcalc.answers.recompute import Ways, ways
from kvcalc.answers.remarks import Assumption
from kvcalc.errors import UserError
from kvcalc.physics import crossover, formats, kv, transfer
from kvcalc.physics.crossover import Verdict
from kvcalc.physics.prefill import Term
from kvcalc.physics.recompute import Way
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Engine
from kvcalc.profiles.model import Model

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class GroupSize:
    """Logical bytes of one layer group."""

    kind: str
    layers: int
    bytes_per_token: int  # of one held token
    held_tokens: int
    state_bytes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to find the recompute time."""

    way: str
    basis: str
    seconds: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class RecomputeTime:
    """How long the prefix takes to compute again."""

    seconds: float
    low_s: float
    high_s: float
    tokens_per_s: float
    way: str
    basis: str
    terms: tuple[Term, ...]
    alternatives: tuple[Alternative, ...]
    unavailable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """One tier over some of its links."""

    tier: str
    path: str
    links: int
    bandwidth_bytes_per_s: float  # of the busy links together, on the slowest stretch of the way
    busy_links: int
    fetch_s: float
    fetch_low_s: float  # with the best figures of the profile
    fetch_high_s: float  # with the worst
    margin: float
    margin_low: float
    margin_high: float
    verdict: Verdict
    sure: bool  # does the verdict hold over the whole range?
    worst: Verdict
    best: Verdict
    moved_bytes: int
    copies: int
    fixed_s: float  # of fetch_s: latency, copies and engine, which no bandwidth shortens
    crossovers: tuple[int, ...]  # tokens at which the winner changes
    fetch_wins_at_one_token: bool
    split_s: float
    flips: tuple[Flip, ...]


@dataclass(frozen=True, slots=True)
class Margin:
    """The whole answer. Times in seconds, sizes in bytes, rates in bytes/s and one direction."""

    schema_version: int
    model: str
    model_title: str
    hardware: str
    hardware_title: str
    tp: int
    tokens: int
    new_tokens: int
    engine: str
    kv_dtype: str
    kv_stored: str  # the format that engines store for kv_dtype
    weights: str
    min_margin: float
    kv_bytes: int
    kv_bytes_per_token: float
    kv_bytes_per_rank: int
    kv_groups: tuple[GroupSize, ...]
    recompute: RecomputeTime
    break_even_bytes_per_s: float
    break_even_min_margin_bytes_per_s: float
    paths: tuple[PathAnswer, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """A question with its profiles found and its options checked."""

    model: Model
    machine: Machine
    tokens: int
    options: Options
    engine: Engine
    tp: int
    kv: str  # stored format
    ways: Ways
    paths: tuple[paths.Path, ...]
    layout: str
    latent_layout: str
    page: int

    def load(self, tokens: int) -> transfer.Load:
        """What restoring `tokens` tokens moves."""
        return transfer.load(self.model, tokens, self.kv, self.tp, self.layout, self.latent_layout, self.page)

    def recompute(self, way: Way, tokens: int) -> float:
        """Seconds that a fetched prefix saves: with tokens to follow, the whole prompt less the tokens alone."""
        new = self.options.new
        if not new:
            return way.seconds(tokens)
        return way.seconds(tokens + new) - way.seconds(new, tokens)


def margin(model: Model | str, hardware: Machine | str, tokens: int, options: Options | None = None) -> Margin:
    """Say, tier by tier, whether fetching the KV cache of a prefix beats recomputing it.

    `model` and `hardware` are profiles or their names or paths, `tokens` is the length of the prefix. Raises UserError
    for an unknown name, a split or a format that engines refuse, or a prefill that nothing is known about.
    """
    return answer(settle(model, hardware, tokens, options or Options()))
