"""The prefill model: seconds to compute S new tokens after C cached ones, from a model's shape and a GPU's constants.

The equation is in docs/equations.md, the errors of its fit in docs/accuracy.md.
"""

from kvcalc.frozen import frozen
from kvcalc.physics.attention import Attention
from kvcalc.profiles.sources import Basis, Source

SHORT = 1000  # new tokens below which kernel launches and small messages make the model less sure


@frozen
class Term:
    """One summand of a prefill time, with the arithmetic that gives it."""

    name: str
    seconds: float
    arithmetic: str


@frozen
class AllReduce:
    """Two all-reduces a layer over the GPU link."""

    latency: float  # s, all of them, for long prompts
    half: float  # tokens at which half of the latency is reached
    token: float  # s a token, on the link

    def seconds(self, new: int) -> float:
        """For `new` tokens."""
        return self.latency * new / (new + self.half) + self.token * new


@frozen
class Prefill:
    """The model for one model on so many GPUs, with its coefficients worked out (see `coefficients.build`)."""

    title: str
    basis: Basis
    sources: tuple[Source, ...]
    bands: tuple[float, float]  # below and from SHORT new tokens
    live: float  # by how much longer a live engine takes, as a fraction
    launch: float  # s, whatever the length
    elementwise: float  # s a token: norms, residuals, activations, quantising the inputs of GEMMs
    gemm: float  # s a token
    weights: float  # s: reading the dense weights, which short prompts wait for
    experts: float  # s a token
    expert_weights: float  # s: reading the experts' weights
    attention: tuple[tuple[float, Attention], ...]  # s a visible pair of tokens
    all_reduce: AllReduce

    def seconds(self, new: int, cached: int = 0) -> float:
        """Prefill of `new` tokens after `cached`."""
        return (
            self.launch
            + max(self.gemm * new, self.weights)
            + self.expert_weights
            + (self.elementwise + self.experts) * new
            + sum(pair * group.visible(new, cached) for pair, group in self.attention)
            + self.all_reduce.seconds(new)
        )

    def terms(self, new: int, cached: int = 0) -> tuple[Term, ...]:
        """The summands of `seconds`; those that are zero are left out."""
        reading = f"or {_n(self.weights)} s to read the weights" if self.weights else ""
        link = self.all_reduce
        rising = f"{_n(link.latency)} s x {new} / ({new} + {_n(link.half)}) + {_n(link.token)} s x {new}"
        found = [
            Term("launch", self.launch, "for each layer, whatever the length"),
            Term("GEMMs", max(self.gemm * new, self.weights), f"{_n(self.gemm)} s x {new} {reading}".strip()),
            Term("norms and activations", self.elementwise * new, f"{_n(self.elementwise)} s x {new}"),
            Term("expert weights", self.expert_weights, "read once"),
            Term("experts", self.experts * new, f"{_n(self.experts)} s x {new}"),
            *(self._attention(pair, group, new, cached) for pair, group in self.attention),
            Term("all-reduce", link.seconds(new), rising),
        ]
        return tuple(term for term in found if term.seconds)

    def _attention(self, pair: float, group: Attention, new: int, cached: int) -> Term:
        pairs = group.visible(new, cached)
        what = "tokens" if group.kind == "recurrent" else "pairs of tokens"
        return Term(f"attention, {group.kind}", pair * pairs, f"{_n(pair)} s x {_n(pairs)} {what}")

    def band(self, new: int) -> tuple[float, float]:
        """The fractions by which the time may be shorter and longer than `seconds`."""
        either = self.bands[0] if new < SHORT else self.bands[1]
        return either, either + self.live


def _n(value: float) -> str:
    return f"{value:.4g}"
