"""Assumptions: what the answer rests on, each with its sources, in the order in which a reader doubts them."""

from collections.abc import Collection, Iterator

from kvcalc import units
from kvcalc.answers import engine_costs, premises, warnings
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.setting import Setting
from kvcalc.physics.recompute import Measured
from kvcalc.profiles.hardware import Tier
from kvcalc.profiles.sources import Range, Source


def assumptions(setting: Setting, recomputing: str | None = None) -> tuple[Assumption, ...]:
    """Numbered on the page as they stand here; `recomputing` names what the chosen way to recompute tells."""
    return (
        _kv(setting),
        *_namesake(setting),
        *_recompute(setting, recomputing or "Recompute time"),
        *(_tier(tier) for tier in setting.tiers),
        *_links(setting),
        *_staging(setting),
        *_writes(setting),
        _copies(setting),
        *_engine(setting),
        *_host(setting),
        *premises.premises(setting),
    )


def of_grid(setting: Setting, swept: Collection[str], requests: int) -> tuple[Assumption, ...]:
    """What holds at every point of a grid: nothing of one length, nor of the tiers whose bandwidth is swept."""
    return (
        _kv(setting),
        *_recompute(setting),
        *(_tier(tier) for tier in setting.tiers if tier.name not in swept),
        *_links(setting),
        *_staging(setting),
        Assumption(_layout(setting), (setting.engine.source,) if setting.engine.source else ()),
        *_engine(setting),
        *_requests(requests),
    )


def _requests(requests: int) -> Iterator[Assumption]:
    if requests > 1:
        yield Assumption(
            "Concurrent restores begin together, and times are until all are through: prefills take turns on the "
            "replicas of the node, restores on its links and under its ceilings"
        )


def _kv(setting: Setting) -> Assumption:
    stored = "" if setting.kv == setting.options.kv_dtype else f", which engines store as {setting.kv}"
    once = "one copy of the prefix's KV and one snapshot of each recurrent state"
    return Assumption(f"KV format {setting.options.kv_dtype}{stored}; restored is {once}", (setting.model.source,))


def _namesake(setting: Setting) -> Iterator[Assumption]:
    names = warnings.longer_namesakes(setting)
    if names:
        context, tokens = units.count(setting.model.context or 0), units.count(setting.tokens + setting.options.new)
        past = f"{tokens} tokens are past the {context} of {setting.model.name}"
        yield Assumption(f"{past}; the same layers have {' and '.join(names)}")


def _recompute(setting: Setting, what: str = "Recompute time") -> Iterator[Assumption]:
    way = setting.ways.chosen
    shorter, longer = way.band(setting.tokens)
    band = f", {-100 * shorter:.0f} to {100 * longer:+.0f} %" if longer else ""
    text = f"{what}: {way.title}, {setting.weights} weights, TP {setting.tp}{band}"
    if isinstance(way, Measured) and not way.covers(setting.tokens + setting.options.new):
        text += "; the length is outside what was measured"
    yield Assumption(text, way.sources)
    for caveat in setting.ways.caveats:
        sources = tuple(source for other in setting.ways.others[:1] for source in other.sources)
        yield Assumption(caveat, sources)
    if setting.weights == "fp8" and setting.machine.accelerator.peak.fp8 is None:
        yield Assumption(f"{setting.machine.accelerator.title} has no FP8 arithmetic: FP8 weights compute in BF16")


def _tier(tier: Tier) -> Assumption:
    read = tier.read
    parts = [f"{tier.name}: {_range(read.bandwidth, 'B/s')} a link and one direction"]
    sources = [figure.source for figure in read.bandwidth.figures]
    if read.latency:
        parts.append(f"latency {_range(read.latency, 's')}")
        sources += [figure.source for figure in read.latency.figures]
    if tier.node_ceiling:
        parts.append(f"all links together {_range(tier.node_ceiling, 'B/s')}")
        sources += [figure.source for figure in tier.node_ceiling.figures]
    return Assumption(", ".join(parts), tuple(dict.fromkeys(sources)))


def _range(figures: Range, unit: str) -> str:
    low, usual, high = (units.short(each.value, unit) for each in (figures.low, figures.typical, figures.high))
    return usual if low == high else f"{usual} ({low} to {high})"


def _links(setting: Setting) -> Iterator[Assumption]:
    if setting.tp == 1:
        return
    several = any(path.links > 1 for path in setting.paths)
    if setting.engine.replicas == "broadcast":
        text = "One link: everything crosses it and the GPUs pass it on among themselves while it loads, at no cost"
        if several:
            text += f". More links: each of {setting.tp} ranks loads its own part over its own link"
            text += "; ranks that hold the same bytes share them where that is quicker"
    else:
        text = f"Each of {setting.tp} ranks loads all that it holds, also where ranks hold the same bytes"
        text += "; one link carries it for all of them" + (", more links for some each" if several else "")
    yield Assumption(text)


def _staging(setting: Setting) -> Iterator[Assumption]:
    staged = [tier.name for tier in setting.tiers if tier.staging == "pipelined"]
    if staged:
        yield Assumption(f"{', '.join(staged)}: read into DRAM and copied to the GPU at the same time")


def _writes(setting: Setting) -> Iterator[Assumption]:
    for tier in setting.tiers:
        if tier.medium == "nvme" and tier.write:
            written = _range(tier.write.bandwidth, "B/s")
            text = f"{tier.name}: a restore reads; an offload writes at {written}, and endurance limits writes a day"
            yield Assumption(text, tuple(dict.fromkeys(each.source for each in tier.write.bandwidth.figures)))


def _copies(setting: Setting) -> Assumption:
    source = setting.engine.source
    return Assumption(_layout(setting) + _with_engine(setting), (source,) if source else ())


def _layout(setting: Setting) -> str:
    found = setting.loads.pages
    if found.layout == "contiguous":
        return "One contiguous copy a link at the tier's latency, no engine at work"
    latent = "" if found.latent_layout == found.layout else f", latent groups {found.latent_layout}"
    return f"Copies of {found.tokens}-token pages, {found.layout} layout{latent}"


def _with_engine(setting: Setting) -> str:
    taken: dict[str, list[str]] = {}
    for restore in engine_costs.restores(setting):
        links = f"{restore.links} link{'s' if restore.links > 1 else ''}"
        taken.setdefault(restore.tier, []).append(f"{units.short(restore.seconds, 's')} over {links}")
    if not taken or setting.loads.pages.layout != "contiguous":
        return ""
    said = (f"a restore from {tier} takes {' and '.join(times)}" for tier, times in taken.items())
    return f"; with --engine {engine_costs.ENGINE} {', '.join(said)}"


def _engine(setting: Setting) -> Iterator[Assumption]:
    engine = setting.engine
    if engine.name == "ideal":
        return
    if engine.fixed is None:
        yield Assumption(f"No fixed cost of a restore is published for {engine.title}: fetch times are a lower bound")
        return
    text = f"{engine.title} adds {units.short(engine.fixed.value, 's')} to a restore"
    sources: list[Source] = [engine.fixed.source]
    if engine.per_token:
        text += f" and {units.short(engine.per_token.value, 's')} a token"
        sources.append(engine.per_token.source)
    yield Assumption(text, tuple(dict.fromkeys(sources)))


def _host(setting: Setting) -> Iterator[Assumption]:
    pageable = next((tier.pageable for tier in setting.tiers if tier.pageable), None)
    if pageable:
        unpinned = _range(pageable, "B/s")
        sources = tuple(dict.fromkeys(figure.source for figure in pageable.figures))
        yield Assumption(f"Host buffers are pinned; buffers that are not give {unpinned} and block the caller", sources)
