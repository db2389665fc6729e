"""An engine's metrics -> one Observation: totals from one scrape, rates from two."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.observe import (
    dynamo_metrics,
    llamacpp_metrics,
    lmcache_metrics,
    sglang_metrics,
    trtllm_metrics,
    vllm_metrics,
)
from kvcalc.observe.observation import Engine, Observation
from kvcalc.observe.samples import Scrape, Window, restarted


@frozen
class Reader:
    """How the metrics of one engine are read; a companion stands beside an engine in the same metrics."""

    title: str
    prefixes: tuple[str, ...]
    observed: Callable[[Window], Observation]
    companion: bool = False


READERS: dict[Engine, Reader] = {
    "vllm": Reader("vLLM", (vllm_metrics.PREFIX,), vllm_metrics.observed),
    "sglang": Reader("SGLang", (sglang_metrics.PREFIX,), sglang_metrics.observed),
    "trtllm": Reader("TensorRT-LLM", trtllm_metrics.PREFIXES, trtllm_metrics.observed),
    "llamacpp": Reader("llama.cpp", (llamacpp_metrics.PREFIX,), llamacpp_metrics.observed),
    "lmcache": Reader("LMCache", (lmcache_metrics.PREFIX,), lmcache_metrics.observed, companion=True),
    "dynamo": Reader("Dynamo", dynamo_metrics.PREFIXES, dynamo_metrics.observed, companion=True),
}


def observe(end: Scrape, start: Scrape | None = None) -> Observation:
    """What a scrape says, in all; with an earlier scrape of the same run, what happened between the two.

    Raises UserError for metrics of no engine known here, of two engines, of other engines at the start and at the end,
    and for counters that went backwards.
    """
    standing = _standing(end)
    if start is not None and _standing(start) != standing:
        raise UserError(f"{start.name} and {end.name} are not of the same engine; give two scrapes of one run")
    engines = [engine for engine in standing if not READERS[engine].companion]
    if len(engines) > 1:
        titles = " and ".join(READERS[engine].title for engine in engines)
        raise UserError(f"{end.name} holds metrics of {titles}; give the metrics of one engine")
    first, *others = engines + [engine for engine in standing if engine not in engines]
    if not _finite(end, first):
        raise UserError(f"{end.name}: every figure of {READERS[first].title} is NaN or infinite; scrape again")
    return _observed(first, end, start).with_beside(tuple(_observed(each, end, start) for each in others))


def over(scrapes: Sequence[Scrape]) -> Observation:
    """What happened over several scrapes in their order; if the engine restarted, since then.

    The pool's usage is the largest of all scrapes.
    """
    since = 0
    for number in range(1, len(scrapes)):
        if restarted(scrapes[number - 1], scrapes[number]):
            since = number
    run = scrapes[since:]
    seen = observe(run[-1], run[0] if len(run) > 1 else None)
    usages = [each.traffic.pool_usage for each in map(observe, run) if each.traffic]
    notes = ("the engine restarted between the scrapes; what came before is left out",) if since else ()
    return seen.over_scrapes(tuple(each for each in usages if each is not None), notes)


def _observed(engine: Engine, end: Scrape, start: Scrape | None) -> Observation:
    return _believable(READERS[engine].observed(Window(end, start)))


def _believable(seen: Observation) -> Observation:
    """Without the look-ups that found more than was asked."""
    if seen.traffic is None:
        return seen
    wrong = [each for each in seen.traffic.lookups if (each.found or 0.0) > (each.asked or math.inf)]
    if not wrong:
        return seen
    kept = tuple(each for each in seen.traffic.lookups if each not in wrong)
    notes = (
        f"{each.tier}: {each.found:,.10g} {each.unit} found of {each.asked:,.10g} asked can't be: not used"
        for each in wrong
    )
    return replace(seen, traffic=replace(seen.traffic, lookups=kept), notes=(*seen.notes, *notes))


def _standing(scrape: Scrape) -> list[Engine]:
    """The engines whose names stand in the metrics."""
    found = [engine for engine, reader in READERS.items() if any(map(_mine(reader), scrape.samples))]
    if not found:
        kinds = Counter(name.split(":")[0].split("_")[0] for name in scrape.samples)
        families = ", ".join(f"{kind} ({number})" for kind, number in kinds.most_common(5))
        known = ", ".join(reader.title for reader in READERS.values())
        raise UserError(f"{scrape.name} is of no engine known here ({known}); its names start with {families}")
    return found


def _mine(reader: Reader) -> Callable[[str], bool]:
    return lambda name: name.startswith(reader.prefixes)


def _finite(scrape: Scrape, engine: Engine) -> bool:
    mine = _mine(READERS[engine])
    values = [value for name, series in scrape.samples.items() if mine(name) for value in series.values()]
    return any(abs(value) < float("inf") for value in values)
