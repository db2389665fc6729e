"""Metrics in Prometheus text -> samples by name, and the difference of two scrapes."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from kvcalc import units
from kvcalc.errors import UserError, printable, shown
from kvcalc.frozen import frozen

Labels = tuple[tuple[str, str], ...]

_EXEMPLAR = re.compile(r"(?<=\d) # \{.*$", re.MULTILINE)  # OpenMetrics; says nothing here
_GROWING = ("_sum", "_count", "_bucket")
_EXPORTED = re.compile(r"^(?:ray_)?(vllm|sglang|lmcache|llamacpp)[:_]")
_PAGE = re.compile(r"\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)


@frozen
class Scrape:
    """The samples of one scrape, by name without `_total`, and what their families are said to count."""

    samples: dict[str, dict[Labels, float]]
    counters: frozenset[str]  # names of what only grows
    help: dict[str, str]
    at_s: float | None = None  # when it was taken; the seconds of any clock; None of a stored file
    name: str = "the metrics"


def parse(text: str, name: str = "the metrics", at_s: float | None = None) -> Scrape:
    """The samples in Prometheus text. Raises UserError for what is not metrics, with its line."""
    if _PAGE.match(text):
        raise UserError(f"{name} is a web page, not metrics, perhaps a login; name the engine's /metrics itself")
    clean = _EXEMPLAR.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    samples: dict[str, dict[Labels, float]] = {}
    said: dict[str, str] = {}
    counters: set[str] = set()
    for family in _families(clean, name):
        said[_canonical(family.name)] = family.documentation
        for sample in family.samples:
            series = samples.setdefault(_canonical(sample.name), {})
            series[tuple(sorted(sample.labels.items()))] = sample.value
            if sample.name.endswith("_total") or (family.type != "gauge" and sample.name.endswith(_GROWING)):
                counters.add(_canonical(sample.name))
    if not samples:
        raise UserError(f"{name} holds no metrics; give what the engine serves at /metrics")
    return Scrape(samples, frozenset(counters), said, at_s, name)


def _canonical(name: str) -> str:
    """A name as the engine gave it: Ray and OpenTelemetry write `ray_vllm_` or `vllm_` for `vllm:`."""
    return _EXPORTED.sub(r"\1:", name).removesuffix("_total")


def _families(text: str, name: str) -> list[Any]:
    """As prometheus_client parses them; one bad line makes the whole unsure, so it is refused with its number."""
    parser = _parser()
    try:
        return list(parser(text + "\n"))
    except ValueError:
        pass
    for number, line in enumerate(text.split("\n"), 1):
        try:
            list(parser(line + "\n"))
        except ValueError:
            raise UserError(
                f"{name}: line {number}, {shown(line)}, is not a metric; give what the engine serves at /metrics"
            ) from None
    raise UserError(f"{name}: its families contradict each other; give what one engine serves at /metrics")


def _parser() -> Callable[[str], Iterable[Any]]:
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        raise UserError(
            "metrics are read with prometheus_client, which isn't installed; pip install 'kvcalc[checklist]'"
        ) from None
    return text_string_to_metric_families


class Window:
    """Counters since the engine started, or between two scrapes; gauges as they stand at its end.

    Figures that are NaN, infinite or beyond anything measured are unknown, and `notes` names them.
    """

    def __init__(self, end: Scrape, start: Scrape | None = None) -> None:
        self._end = end
        self._start = start
        self.notes: list[str] = []
        if start is not None:
            _refuse_backwards(start, end)
            if self.elapsed_s is None:
                self.notes.append("the time between the two scrapes is not known: nothing is told per hour")

    @property
    def elapsed_s(self) -> float | None:
        """Between the scrapes."""
        start = self._start
        if start is None or start.at_s is None or self._end.at_s is None:
            return None
        return self._end.at_s - start.at_s

    def help(self, name: str) -> str:
        """What the family is said to count."""
        return self._end.help.get(name, "")

    def series(self, name: str, **labels: str) -> dict[Labels, float]:
        """The series of a name whose labels include these, as they stand, without unknown figures."""
        wanted = set(labels.items())
        found = {key: value for key, value in self._end.samples.get(name, {}).items() if wanted <= set(key)}
        for value in found.values():
            note = f"{name} is {value}: read as unknown"
            if not _known(value) and note not in self.notes:
                self.notes.append(note)
        return {key: value for key, value in found.items() if _known(value)}

    def gauges(self, *names: str, **labels: str) -> list[float]:
        """The values of the first of these names that has any."""
        return next((list(found.values()) for name in names if (found := self.series(name, **labels))), [])

    def most(self, *names: str, **labels: str) -> float | None:
        """The largest value of a gauge over its series."""
        return max(self.gauges(*names, **labels), default=None)

    def count(self, *names: str, repeated: tuple[str, ...] = (), **labels: str) -> float | None:
        """A counter's growth, summed over its series; None if none of the names is there.

        Series that differ only in `repeated` labels say the same (each tensor-parallel worker counts every request):
        the largest counts.
        """
        for name in names:
            groups: dict[Labels, float] = {}
            for key, value in self.series(name, **labels).items():
                kept = tuple(pair for pair in key if pair[0] not in repeated)
                groups[kept] = max(groups.get(kept, 0.0), self._grown(name, key, value))
            if groups:
                return sum(groups.values())
        return None

    def _grown(self, name: str, key: Labels, value: float) -> float:
        before = self._start.samples.get(name, {}).get(key, 0.0) if self._start else 0.0
        return value - before if _known(before) else value

    def mean(self, *names: str) -> tuple[float | None, float | None]:
        """The mean of a histogram and how many it is over; the mean is unknown without its count."""
        for name in names:
            total, number = self.count(f"{name}_sum"), self.count(f"{name}_count")
            if total is not None:
                return (total / number if number else None), number
        return None, None

    def label(self, name: str) -> str | None:
        """The first value of a label, in any series."""
        for series in self._end.samples.values():
            for key in series:
                if (value := dict(key).get(name)) and value != "None":
                    return printable(value)
        return None

    def info(self, name: str) -> list[dict[str, str]]:
        """The labels of an info metric, without those that say nothing."""
        found = self._end.samples.get(name, {})
        return [{key: printable(value) for key, value in labels if value != "None"} for labels in found]


def _known(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= units.LARGEST_VALUE


def restarted(start: Scrape, end: Scrape) -> str | None:
    """How the later scrape shows that the engine began to count anew: a counter fell, or its process is another."""
    began = [next(iter(each.samples.get("process_start_time_seconds", {}).values()), None) for each in (start, end)]
    for name in sorted((end.counters | start.counters) & end.samples.keys() & start.samples.keys()):
        for key, value in end.samples[name].items():
            before = start.samples[name].get(key)
            if before is not None and value < before:
                return f"{name} fell from {before:,.10g} to {value:,.10g}"
    return "its process is another" if None not in began and began[0] != began[1] else None


def _refuse_backwards(start: Scrape, end: Scrape) -> None:
    if sign := restarted(start, end):
        raise UserError(
            f"{end.name} does not continue {start.name}: {sign}; the engine restarted between the scrapes, or they are "
            "in the wrong order; give two scrapes of one run, the earlier first"
        )
