"""How recompute time is found: the ways that this node, model and engine allow, and which of them is used."""

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics import coefficients, recompute, work
from kvcalc.physics.coefficients import Gpus
from kvcalc.physics.prefill import Prefill
from kvcalc.physics.recompute import Way
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Curve, StatedRate
from kvcalc.profiles.model import Latent, Model
from kvcalc.profiles.sources import given


@frozen
class Job:
    """What is computed, and where."""

    model: Model
    machine: Machine
    tp: int
    weights: str
    kv_bits: int
    engine: str  # whose prefill constants and curves serve; "any": not named


@frozen
class Ways:
    """The way that is used, the others, why one is missing, and what a stated rate leaves out."""

    chosen: Way
    others: tuple[Way, ...]
    missing: tuple[str, ...]
    caveats: tuple[str, ...]


def ways(job: Job, prefill: str | float | None) -> Ways:
    """Every way to find the recompute time, in the order in which they are preferred.

    Raises UserError where the way that `prefill` asks for is missing, or every way is.
    """
    missing: dict[str, str] = {}
    own, caveats = _own(job)
    found: dict[str, Way] = {f"profile {number}": way for number, way in enumerate(own)}
    for name, make in (("model", model), ("textbook", textbook)):
        try:
            found[name] = make(job)
        except UserError as error:
            missing[name] = str(error)
    chosen = _chosen(job, prefill, found, missing)
    others = tuple(way for way in found.values() if way is not chosen)
    return Ways(chosen, others, tuple(dict.fromkeys(missing.values())), caveats if chosen in own else ())


def _chosen(job: Job, prefill: str | float | None, found: dict[str, Way], missing: dict[str, str]) -> Way:
    if isinstance(prefill, float | int):
        text = f"--prefill {units.count(prefill)}"
        return recompute.Stated("rate given on the command line", prefill, "given", (given(text),))
    if prefill == "profile":
        if "profile 0" not in found:
            what = f"{job.model.name!r} at TP {job.tp} with {job.weights} weights"
            raise UserError(f"{job.machine.name!r} has no prefill rate or curve for {what}; use --prefill model")
        return found["profile 0"]
    if prefill in ("model", "textbook"):
        if prefill in missing:
            raise UserError(missing[prefill])
        return found[prefill]
    best = next(iter(found.values()), None)
    if best is None or best is found.get("textbook"):
        raise UserError(missing["model"])
    return best


def _gpus(job: Job) -> Gpus:
    gpu = job.machine.accelerator
    if gpu.fit is None:
        raise UserError(f"no prefill constants serve {gpu.name!r}; give a measured rate with --prefill RATE")
    return Gpus(gpu, catalog.fit(gpu.fit), job.engine, job.tp)


def model(job: Job) -> Prefill:
    """The prefill model. Raises UserError for what its constants don't cover."""
    return coefficients.build(work.shape(job.model), _gpus(job), job.weights, job.kv_bits)


def textbook(job: Job) -> recompute.Stated:
    """The chapter's 2 x P x S / achieved FLOP/s: the GEMMs alone, so no attention and no communication."""
    gpus = _gpus(job)
    achieved = job.tp * gpus.gemm_rate(gpus.computes(job.weights))
    rate = achieved / (2 * work.parameters(job.model).active)
    return recompute.Stated("textbook, 2PS over achieved FLOP/s", rate, "textbook", (gpus.constants.launch.source,))


def _own(job: Job) -> tuple[list[Way], tuple[str, ...]]:
    """What the node's profile and the accelerator's curves say of this model, and the caveats of stated rates."""
    measured = catalog.curves(job.machine.accelerator.name)
    found: list[Way] = []
    caveats = []
    for entry in job.machine.node.prefill:
        if isinstance(entry, Curve) and _fits(entry, job):
            found.append(_curve(entry, job, live=0.0))
        elif isinstance(entry, StatedRate) and _of(entry, job) and entry.weights == job.weights:
            rate = entry.rate
            found.append(recompute.Stated("rate in the node profile", rate.value, rate.source.basis, (rate.source,)))
            caveats += [entry.caveat] if entry.caveat else []
    if measured:
        found += [_curve(entry, job, live=measured.live.value) for entry in measured.curves if _fits(entry, job)]
    return found, tuple(caveats)


def _of(entry: StatedRate | Curve, job: Job) -> bool:
    """Is this model at this split among those it was stated of? A changed copy under the same name is another model."""
    return job.tp == entry.tp and job.model.name in entry.models and catalog.is_original(job.model)


def _fits(curve: Curve, job: Job) -> bool:
    """A curve of another engine serves where none is named; latent attention is computed alike at any KV width."""
    engine = job.engine == "any" or curve.engine in (None, job.engine)
    width = curve.kv_bits == job.kv_bits or any(isinstance(group, Latent) for group in job.model.groups)
    return _of(curve, job) and curve.weights == job.weights and engine and width


def _curve(curve: Curve, job: Job, live: float) -> recompute.Measured:
    engine = "".join(f", {word}" for word in (curve.engine, curve.variant) if word)
    try:
        modelled = model(job)
    except UserError:
        modelled = None
    points = tuple(sorted(curve.points.items()))
    title = f"measured curve (TP {curve.tp}, {curve.weights}{engine})"
    return recompute.measured(title, points, modelled, (curve.source,), live)
