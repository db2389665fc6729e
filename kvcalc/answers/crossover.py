"""Where the verdict turns: prefix lengths and bandwidths at which fetching meets recomputing, path by path."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import get_args

from kvcalc import units
from kvcalc.answers import assumptions
from kvcalc.answers.crossover_result import SCHEMA_VERSION, Crossover, Need, PathTurns, Turns, Variant
from kvcalc.answers.options import Options, WayName, check
from kvcalc.answers.paths import CORNERS, Path
from kvcalc.answers.setting import Setting, settle
from kvcalc.errors import UserError
from kvcalc.physics import crossover as meeting
from kvcalc.physics import formats, kv
from kvcalc.physics.break_even import break_even
from kvcalc.profiles import catalog
from kvcalc.profiles.catalog import Machine
from kvcalc.profiles.model import Model
from kvcalc.profiles.sources import Corner

STEPS = 24  # lengths a decade at which a change of winner is looked for
REFERENCE = 20_000  # tokens at which variants are compared, unless other lengths are asked for
FORMATS = ("bf16", "fp8", "nvfp4")


def crossover(
    model: Model | str,
    hardware: Machine | str,
    lengths: Sequence[int],
    options: Options | None = None,
    variants: bool = True,
) -> Crossover:
    """Say path by path from which prefix length and which bandwidth on fetching beats recomputing.

    `lengths` are those at which break-even bandwidths are told; `variants`: also by split, KV format and prefill rate.
    Raises UserError as `margin` does.
    """
    options = options or Options()
    for tokens in lengths:
        check(tokens, options)
    reference = REFERENCE if REFERENCE in lengths else lengths[len(lengths) // 2]
    setting = settle(model, hardware, reference, options, [])
    way = setting.ways.chosen
    scan = Scan(setting)
    return Crossover(
        schema_version=SCHEMA_VERSION,
        model=setting.model.name,
        model_title=setting.model.title,
        hardware=setting.machine.name,
        hardware_title=setting.machine.node.title,
        tp=setting.tp,
        engine=setting.engine.name,
        kv_dtype=options.kv_dtype,
        weights=setting.weights,
        new_tokens=options.new,
        min_margin=options.min_margin,
        recompute_way=way.title,
        recompute_basis=way.basis,
        recompute_sources=setting.recompute_sources,
        reference_tokens=reference,
        paths=tuple(scan.path(path, lengths) for path in setting.paths),
        variants=tuple(_variants(setting, reference)) if variants else (),
        assumptions=assumptions.of_grid(setting, (), 1),
    )


class Scan:
    """Looks for the turns of a setting's paths over all prompt lengths."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self._lengths = meeting.lengths(STEPS)
        self._recompute = {corner: [self._recomputed(corner, each) for each in self._lengths] for corner in CORNERS}

    def _recomputed(self, corner: Corner, tokens: float) -> float:
        """The recompute time that makes a margin great, usual or small; fractions of a token tell where times meet."""
        length: int = tokens  # type: ignore[assignment]
        if corner == "typical":
            return self.setting.recompute(self.setting.ways.chosen, length)
        low, high = self.setting.recompute_range(length)
        return high if corner == "fast" else low

    def path(self, path: Path, lengths: Sequence[int]) -> PathTurns:
        """Every turn of one path, and what it needs at these lengths."""
        least = self.setting.options.min_margin
        return PathTurns(
            tier=path.tier.name,
            medium=path.tier.medium,
            path=path.tier.path,
            links=path.links,
            link_bytes_per_s=path.typical.hops[0].bandwidth,
            source=path.tier.read.bandwidth.typical.source,
            sources=path.sources,
            wins=self._turns(path, "typical", 1.0),
            wins_low=self._turns(path, "slow", 1.0),
            wins_high=self._turns(path, "fast", 1.0),
            restores=self._turns(path, "typical", least),
            by_length=tuple(self._need(path, tokens) for tokens in lengths),
        )

    def _turns(self, path: Path, corner: Corner, margin: float) -> Turns:
        """Where a margin is reached and lost again."""
        loads, route = self.setting.loads, path.at(corner)

        def fetch(tokens: float) -> float:
            length: int = tokens  # type: ignore[assignment]
            return margin * route.seconds(loads(length))

        def gain(tokens: float) -> float:
            return self._recomputed(corner, tokens) - fetch(tokens)

        recomputed = self._recompute[corner]
        gains = [seconds - fetch(tokens) for seconds, tokens in zip(recomputed, self._lengths, strict=True)]
        found: Sequence[float] = meeting.changes(gains, self._lengths, gain)
        if self.setting.loads.pages.layout == "contiguous":
            found = [meeting.meeting(gain, round(after)) for after in found]
        return Turns(gains[0] > 0, tuple(float(tokens) for tokens in found))

    def _need(self, path: Path, tokens: int) -> Need:
        setting, load = self.setting, self.setting.loads(tokens)
        recompute, (low, high) = self._recomputed("typical", tokens), setting.recompute_range(tokens)
        fetch = path.typical.seconds(load)
        least = setting.options.min_margin
        even, enough = (break_even(path.typical, load, recompute / margin) for margin in (1.0, least))
        return Need(
            tokens=tokens,
            recompute_s=recompute,
            recompute_low_s=low,
            recompute_high_s=high,
            kv_bytes=kv.logical(setting.model, tokens, setting.kv),
            fetch_s=fetch,
            fetch_low_s=path.fast.seconds(load),
            fetch_high_s=path.slow.seconds(load),
            margin=recompute / fetch,
            verdict=meeting.verdict(recompute / fetch, least),
            break_even_link_bytes_per_s=even.link if even else None,
            break_even_together_bytes_per_s=even.together if even else None,
            min_margin_link_bytes_per_s=enough.link if enough else None,
            min_margin_together_bytes_per_s=enough.together if enough else None,
        )


def _variants(setting: Setting, reference: int) -> Iterator[Variant]:
    """By tensor-parallel degree, KV format and prefill rate, each with all else as it is asked for."""
    options = setting.options
    for tp in _splits(setting):
        yield from _variant(setting, reference, "tp", str(tp), tp == setting.tp, replace(options, tp=tp))
    for name in dict.fromkeys((*FORMATS, options.kv_dtype)):
        used = name == options.kv_dtype
        yield from _variant(setting, reference, "kv_dtype", name, used, replace(options, kv_dtype=name))
    for value, prefill in _prefills(setting, reference):
        used = prefill == options.prefill
        yield from _variant(setting, reference, "prefill", value, used, replace(options, prefill=prefill))


def _splits(setting: Setting) -> list[int]:
    gpus = setting.machine.node.gpus
    return [tp for tp in range(1, gpus + 1) if gpus % tp == 0 and kv.splits(setting.model, tp)]


def _prefills(setting: Setting, reference: int) -> Iterator[tuple[str, WayName | float]]:
    """The ways that have a name, and parts and multiples of the rate at the reference length."""
    for word in get_args(WayName):
        yield word, word
    rate = reference / setting.recompute(setting.ways.chosen, reference)
    for times in (0.25, 0.5, 1.0, 2.0, 4.0):
        yield f"{units.count(rate * times)} tok/s", rate * times


def _variant(
    setting: Setting, reference: int, axis: str, value: str, used: bool, options: Options
) -> Iterator[Variant]:
    """One variant; none where the engines refuse it, or nothing is known of its prefill."""
    try:
        changed = settle(setting.model, setting.machine, reference, options, setting.known)
    except UserError:
        return
    scan = Scan(changed)
    way, asked = changed.ways.chosen, setting.ways.chosen
    seconds = changed.recompute(way, reference)
    size = kv.logical(changed.model, reference, changed.kv)
    tiers = {path.tier.name: path for path in changed.paths}  # the last is over all links
    yield Variant(
        axis=axis,
        value=value,
        used=used or (axis == "prefill" and isinstance(options.prefill, str) and way.title == asked.title),
        recompute_basis=way.basis,
        recompute_s=seconds,
        kv_bytes=size,
        break_even_bytes_per_s=size / seconds,
        paths=tuple(scan.path(path, [reference]) for path in tiers.values()),
    )


def side_by_side(
    model: Model | str,
    hardware: Machine | str,
    against: str | None,
    lengths: Sequence[int],
    options: Options,
    variants: bool = True,
) -> list[Crossover]:
    """The answer, and the same for another KV format, if `against` names one, else for another node."""
    found = [crossover(model, hardware, lengths, options, variants)]
    if against is None:
        return found
    if against in formats.NAMES:
        found.append(crossover(model, hardware, lengths, replace(options, kv_dtype=against), variants))
    else:
        found.append(crossover(model, _node(against), lengths, options, variants))
    first, other = found
    if (first.hardware, first.kv_dtype) == (other.hardware, other.kv_dtype):
        raise UserError(f"--against {against}: it is what is asked about; name another node or KV format")
    return found


def _node(against: str) -> Machine:
    """The node, where a word that is no KV format names one. Raises UserError."""
    try:
        return catalog.machine(against)
    except UserError as error:
        raise UserError(f"--against: {error}; or a KV format: {', '.join(formats.NAMES)}") from error
