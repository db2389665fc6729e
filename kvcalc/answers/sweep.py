"""The verdict at every point of a grid: any options of `margin` as lists, in any combination."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from kvcalc.answers import assumptions, batch, warnings
from kvcalc.answers.axes import LARGEST, MOST_SETTLED, SMALL, TITLES, Axes, Combination, too_large, too_many
from kvcalc.answers.batch import Batch, Varied
from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.options import Options, check
from kvcalc.answers.setting import Setting, settle
from kvcalc.answers.sweep_result import SCHEMA_VERSION, LeftOut, Points, Series, Sweep
from kvcalc.errors import UserError
from kvcalc.physics import formats
from kvcalc.physics.transfer import Loads
from kvcalc.profiles import catalog

MOST_NAMED = 4  # combinations by name in a warning
MOST_TOLD = 12  # combinations whose differing assumptions are told apart


def sweep(axes: Axes, options: Options | None = None, settled_one: Callable[[int, int], None] | None = None) -> Sweep:
    """Answer every point of a grid.

    `settled_one` is told after each combination how many are done and how many there are.

    What `axes` has no value for is taken from `options`. Combinations that can't be answered are left out and named.
    With numpy whole arrays are worked out at once; without it only a small grid is. Raises UserError for a grid that is
    too large, and where nothing can be answered.
    """
    options = options or Options()
    limit = LARGEST if batch.numpy_is_there() else SMALL
    if axes.size > limit:
        raise _refusal(axes.size, limit)
    if axes.settled > MOST_SETTLED:
        raise too_many(axes.settled)
    _check(axes, options)
    known: list[Loads] = []
    series: list[Series] = []
    left_out: list[LeftOut] = []
    settings: list[tuple[str, Setting]] = []
    for number, asked in enumerate(axes.combinations()):
        if settled_one:
            settled_one(number, axes.settled)
        varied = Varied(asked.rates, axes.bandwidth, axes.bandwidth_tier, axes.tokens, asked.concurrency)
        settled = partial(_settle, asked, max(axes.tokens), known)
        try:
            setting = settled(varied.options(_options(options, asked)))
        except UserError as error:
            left_out.append(LeftOut(_name(axes, asked), str(error)))
            continue
        if axes.size * len(setting.paths) > limit:
            raise _refusal(axes.size * len(setting.paths), limit)
        at_once = batch.numpy_is_there()
        found = batch.at_once(setting, varied) if at_once else batch.one_by_one(setting, varied, settled)
        series += [_series(setting, asked, varied, each) for each in found]
        settings.append((_name(axes, asked), setting))
    if not series:
        raise _nothing(left_out)
    said = _assumptions(axes, settings)
    points, warned = Points(tuple(series)), tuple(_bases(axes, settings))
    return Sweep(SCHEMA_VERSION, axes, options.min_margin, tuple(left_out), points, warned, said)


def _check(axes: Axes, options: Options) -> None:
    """Refuse lengths and names that are none: only what doesn't go together is left out. Raises UserError."""
    for tokens in (min(axes.tokens), max(axes.tokens)):
        for new in axes.new or (options.new,):
            check(tokens, replace(options, new=new))
    for name in axes.model:
        catalog.model(name)
    for name in axes.hardware:
        catalog.machine(name)
    for name in axes.kv_dtype:
        formats.named(name)


def _refusal(size: int, limit: int) -> UserError:
    refusal = too_large(size, limit)
    return refusal if limit == LARGEST else UserError(f"{refusal}; or install numpy with pip install 'kvcalc[sweep]'")


def _nothing(left_out: list[LeftOut]) -> UserError:
    """The refusal of a grid of which nothing can be answered."""
    first = left_out[0]
    if not first.combination:
        return UserError(first.why)
    count = f"none of the {len(left_out)} combinations" if len(left_out) > 1 else "the combination"
    return UserError(f"{count} can{'' if len(left_out) > 1 else 'not'} be answered; {first.combination}: {first.why}")


def _options(options: Options, asked: Combination) -> Options:
    options = replace(options, tp=asked.tp, kv_dtype=asked.kv_dtype, page=asked.page, links=asked.links)
    options = options if asked.new is None else replace(options, new=asked.new)
    return replace(options, prefill=asked.way) if asked.way else options


def _settle(asked: Combination, tokens: int, known: list[Loads], options: Options) -> Setting:
    return settle(catalog.model(asked.model), catalog.machine(asked.hardware), tokens, options, known)


def _series(setting: Setting, asked: Combination, varied: Varied, found: Batch) -> Series:
    path, pages = found.path, setting.loads.pages
    return Series(
        model=setting.model.name,
        hardware=setting.machine.name,
        tp=setting.tp,
        new_tokens=setting.options.new,
        engine=setting.engine.name,
        kv_dtype=setting.options.kv_dtype,
        weights=setting.weights,
        page_tokens=None if pages.layout == "contiguous" else pages.tokens,
        concurrency=asked.concurrency,
        tier=path.tier.name,
        medium=path.tier.medium,
        path=path.tier.path,
        links=path.links,
        recompute_way=setting.ways.chosen.title,
        recompute_basis=setting.ways.chosen.basis,
        asked=asked,
        sources=tuple(dict.fromkeys((*setting.recompute_sources, *path.sources))),
        model_title=setting.model.title,
        min_margin=setting.options.min_margin,
        rates=varied.rates,
        bandwidths=found.bandwidths,
        tokens=varied.tokens,
        kv_bytes=found.kv_bytes,
        columns=found.columns,
    )


def _name(axes: Axes, asked: Combination) -> str:
    """What sets a combination apart from the others of the grid."""
    named = ("model", "hardware", "kv_dtype")
    other = ("tp", "page", "links", "concurrency", "new")
    words = [getattr(asked, name) for name in named if name in axes.swept]
    words += [f"{TITLES[name]} {getattr(asked, name)}" for name in other if name in axes.swept]
    if "prefill" in axes.swept:
        words.append(f"prefill {'by rate' if asked.rates else asked.way or 'as in the profile'}")
    return ", ".join(words)


def _bases(axes: Axes, settings: list[tuple[str, Setting]]) -> Iterator[str]:
    """A warning where recompute times that stand side by side are known in different ways."""
    found: dict[str, dict[str, None]] = {}
    for _, setting in settings:
        named = {"model": setting.model.name, "hardware": setting.machine.name, "tp": f"TP {setting.tp}"}
        named["kv_dtype"] = setting.options.kv_dtype
        name = " ".join(word for axis, word in named.items() if axis in axes.swept)
        found.setdefault(setting.ways.chosen.basis, {})[name] = None
    if len(found) > 1 and "prefill" not in axes.swept:
        said = "; ".join(f"{basis} at {_few(list(names))}" for basis, names in found.items())
        way_out = "--prefill model puts all on one"
        yield f"recompute times rest on different bases, so margins are not alike: {said}; {way_out}"


def _few(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _assumptions(axes: Axes, settings: list[tuple[str, Setting]]) -> tuple[Assumption, ...]:
    """Those of all combinations, and those of some with their names where there are few."""
    said: dict[Assumption, list[str]] = {}
    for name, setting in settings:
        swept = {tier.name for tier in setting.tiers if warnings.asked(tier) in axes.bandwidth}
        for each in assumptions.of_grid(setting, swept, max(axes.concurrency)):
            said.setdefault(each, []).append(name)
    found = []
    for each, names in said.items():
        if len(names) == len(settings):
            found.append(each)
        elif len(settings) <= MOST_TOLD:
            found.append(Assumption(f"{'; '.join(names)}: {each.text}", each.sources))
    if len(settings) > MOST_TOLD:
        found.append(Assumption("What differs between combinations is not listed here; kvcalc margin lists it for one"))
    return tuple(found)
