"""The boxes where no profile fits the model that the metrics name: what was seen, and what needs a model as unknown."""

from collections.abc import Iterator
from functools import partial

from kvcalc.answers import checklist_named, checklist_pressure, checklist_seen, checklist_traffic
from kvcalc.answers.checklist_options import ChecklistOptions
from kvcalc.answers.checklist_result import Figure, Reason
from kvcalc.frozen import frozen
from kvcalc.observe.observation import Traffic

NEEDS = {2: "the margin", 3: "the size of a pool", 4: "what a link must bring"}
RUN = "--model NAME|FILE: 'kvcalc models list' lists the profiles, 'kvcalc models import' makes one"

said = partial(Reason, effect="unknown", code="model-not-known")


@frozen
class Bare:
    """What was asked and seen, without a model."""

    options: ChecklistOptions
    named: str | None

    @property
    def traffics(self) -> tuple[Traffic, ...]:
        """Of every engine and companion that was read."""
        return checklist_seen.traffics(self.options.read)


def bare(given: object, options: ChecklistOptions) -> Bare | None:
    """If there are metrics and no profile for their model, and none is asked for."""
    if given is not None or not any(each.kind == "metrics" for each in options.read):
        return None
    named, fits = checklist_named.read(options)
    return Bare(options, named) if fits is None else None


def reasons(seen: Bare, number: int) -> Iterator[Reason]:
    """Of one box."""
    whose = f"{seen.named!r} has no profile" if seen.named else "nothing names the model"
    if number == 1:
        full = checklist_pressure.pressed(seen) or "nothing says that the pool is full"
        text = f"{full}, but {whose}: whether what is evicted would come again, and in what space, needs --model"
        yield said(1, text=text)
    elif number == 5:
        if checklist_seen.caching_off(seen.options.read):
            text = "prefix caching is off in the engine: turn it on, HBM alone may give the hits"
            yield Reason(5, "cheaper", "prefix-caching-first", text)
        yield said(5, text=f"{whose}: what FP8 KV or its attention saves needs --model")
    else:
        yield said(number, text=f"{whose}: {NEEDS[number]} needs --model")


def figures(seen: Bare, number: int) -> Iterator[Figure]:
    """Of the hit rate's box alone."""
    if number == 1:
        rate = checklist_pressure.hit_rate(seen)
        yield Figure("hit rate", rate, "1", "" if rate is None else "given" if seen.options.hit_rates else "metrics")
        pool = next((each.observation.kv_tokens for each in seen.options.read if each.observation.kv_tokens), None)
        yield Figure("HBM pool of one replica", pool and float(pool), "tokens", "metrics" if pool else "")
        yield from checklist_traffic.figures(seen)
