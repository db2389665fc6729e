"""A question with its profiles found and its options checked."""

from kvcalc import units
from kvcalc.answers import paths
from kvcalc.answers.options import Options, check
from kvcalc.answers.recompute import Job, Ways, ways
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics import formats, kv
from kvcalc.physics.prefill import Prefill
from kvcalc.physics.recompute import Way
from kvcalc.physics.transfer import Loads, Pages
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.hardware import Engine, Tier
from kvcalc.profiles.model import Model
from kvcalc.profiles.sources import Source


@frozen
class Setting:
    """Everything that an answer is worked out from."""

    model: Model
    machine: Machine
    tokens: int
    options: Options
    engine: Engine
    tp: int
    weights: str
    kv: str  # stored format
    loads: Loads
    known: list[Loads]  # that other nodes and engines have worked out
    tiers: tuple[Tier, ...]
    paths: tuple[paths.Path, ...]
    ways: Ways

    def recompute(self, way: Way, tokens: int) -> float:
        """Seconds that a fetched prefix saves: those of the whole prompt less those of what follows the prefix."""
        return way.seconds(tokens + self.options.new) - self.rest(way, tokens)

    def rest(self, way: Way, tokens: int) -> float:
        """Seconds of the new tokens after a prefix that is there."""
        return way.seconds(self.options.new, tokens) if self.options.new else 0.0

    @property
    def bounds(self) -> tuple[Way, ...]:
        """The ways that bound the recompute time: the chosen one, and those that know better or as well.

        A textbook's rate is bounded by what was measured, else by the model; a measured curve by the others where no
        engine is named.
        """
        chosen, measured = self.ways.chosen, tuple(each for each in self.ways.others if each.basis == "measured")
        if chosen.basis == "textbook":
            return (chosen, *(measured or (each for each in self.ways.others if isinstance(each, Prefill))))
        return (chosen, *measured) if chosen.basis == "measured" and self.engine.prefill == "any" else (chosen,)

    @property
    def recompute_sources(self) -> tuple[Source, ...]:
        """Of the recompute time and of its range."""
        return tuple(dict.fromkeys(source for way in self.bounds for source in way.sources))

    def recompute_range(self, tokens: int) -> tuple[float, float]:
        """The least and the greatest recompute time, each way by its own band."""
        lows, highs = [], []
        for way in self.bounds:
            seconds = self.recompute(way, tokens)
            shorter, longer = way.band(tokens)
            lows.append(seconds * (1 - shorter))
            highs.append(seconds * (1 + longer))
        return min(lows), max(highs)


def settle(model: Model | str, hardware: Machine | str, tokens: int, options: Options, known: list[Loads]) -> Setting:
    """Find the profiles and check the options. Raises UserError for whatever does not go together.

    `known` are loads that other nodes have worked out; they serve this one too, and its own are added.
    """
    found = model if isinstance(model, Model) else catalog.model(model)
    machine = hardware if isinstance(hardware, Machine) else catalog.machine(hardware)
    check(tokens, options)
    engine = catalog.engine(options.engine)
    tp = _split(found, machine, options)
    stored = formats.stored(found, options.kv_dtype)
    if not kv.logical(found, tokens, stored):
        raise UserError(f"{found.name!r} keeps nothing for its tokens: there is nothing to fetch")
    weights = options.weights or ("mxfp4" if found.checkpoint == "mxfp4" else "fp8")
    if weights == "mxfp4" and found.checkpoint != "mxfp4":
        raise UserError(f"{found.name!r} has no MXFP4 experts; one of bf16, fp16, fp8, nvfp4")
    tiers = paths.tiers(machine, options)
    bits = 16 if stored in formats.UNQUANTISED else 8
    job = Job(found, machine, tp, weights, bits, engine.prefill)
    return Setting(
        model=found,
        machine=machine,
        tokens=tokens,
        options=options,
        engine=engine,
        tp=tp,
        weights=weights,
        kv=stored,
        loads=loads_of(known, found, stored, tp, pages(engine, options)),
        known=known,
        tiers=tiers,
        paths=paths.paths(machine, tiers, tp, engine, options.links),
        ways=ways(job, options.prefill),
    )


def _split(model: Model, machine: Machine, options: Options) -> int:
    gpus = machine.node.gpus
    tp = options.tp or gpus
    if tp > gpus:
        raise UserError(f"{machine.name!r} has {units.count(gpus)} GPUs, not {tp}; use --tp {gpus} or less")
    kv.check_split(model, tp)
    if isinstance(options.links, int) and options.links > tp:
        raise UserError(f"at TP {tp} at most {tp} links are used, not {options.links}; use --links {tp} or all")
    return tp


def loads_of(known: list[Loads], model: Model, kv: str, tp: int, found: Pages) -> Loads:
    """What a restore moves, worked out once for all nodes that move the same."""
    for loads in known:
        if loads.model is model and (loads.kv, loads.tp, loads.pages) == (kv, tp, found):
            return loads
    known.append(Loads(model, kv, tp, found))
    return known[-1]


def pages(engine: Engine, options: Options) -> Pages:
    """The engine's layout with the options'. Raises UserError for a layout that lacks its page or has no use for it."""
    layout = options.layout or engine.layout
    page = options.page or engine.page_tokens
    if layout == "contiguous" and options.page:
        raise UserError("pages don't matter to a contiguous layout; add --layout cross-layer or --layout per-layer")
    if layout != "contiguous" and page is None:
        raise UserError(f"a {layout} layout has pages; add --page with their tokens, such as --page 16")
    latent = options.layout or engine.latent_layout or layout
    return Pages(layout, latent, page or 1)
