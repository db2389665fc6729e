"""What the lines of one log state together, for one engine."""

import re
from collections.abc import Callable, Iterable

from kvcalc import units
from kvcalc.errors import printable, shown
from kvcalc.observe import prefix
from kvcalc.observe.fields import FIELDS, Value, figure
from kvcalc.observe.forms import Form
from kvcalc.observe.observation import Finding
from kvcalc.physics import formats

LONGEST_QUOTE = 240  # characters of a line that a finding keeps
MOST_FINDINGS = 2000  # of one log; a start prints some ten a worker
MOST_NOTES = 20  # on figures that can't be read
SAME = 0.001  # printed figures are rounded
SPREAD = 0.2  # ranks of one engine were seen to differ by up to 16 %

_FURTHER = re.compile(r"_DP[1-9]")  # a further engine of a data-parallel group, which opens its own start


class Stated:
    """The findings of one engine in one log, in the order of its lines."""

    def __init__(self, forms: Iterable[Form], figures: frozenset[str]) -> None:
        self._forms = tuple(forms)
        self._figures = figures  # fields that make a log worth reading; without one the engine isn't there
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.doubts: list[str] = []  # figures that cannot be read

    def feed(self, number: int, line: str) -> None:
        """Add what a line states."""
        for each in self._forms:
            if each.marker not in line:
                continue
            at = prefix.begin(line, each.opens)
            if at is None:
                continue
            if found := each.pattern.search(line, at):
                if each.kind == "starts":
                    self._restart(line)
                self._add(each, number, line, found, prefix.worker(line[:at]))
            elif each.kind == "always":
                self._doubt(each.pattern.groupindex, number, line[at:])

    def _restart(self, line: str) -> None:
        if self.stands() and not _FURTHER.search(line):
            self.findings.clear()
            self.doubts.clear()
            self.notes[:] = ["the log holds several starts; the last is read"]

    def _add(self, each: Form, number: int, line: str, found: re.Match[str], by: str | None) -> None:
        for field, text in found.groupdict().items():
            value = None if text is None else _value(field, text, each.unit)
            if value is None:
                if text is not None and FIELDS[field].unit != "text":
                    self._doubt((field,), number, line[found.start() :])
                continue
            finding = Finding(field, value, number, printable(line[:LONGEST_QUOTE]), by)
            if each.kind == "repeats":
                self.findings[:] = [old for old in self.findings if (old.field, old.worker) != (field, by)]
            if len(self.findings) < MOST_FINDINGS:
                self.findings.append(finding)

    def _doubt(self, fields: Iterable[str], number: int, text: str) -> None:
        words = ", ".join(dict.fromkeys(FIELDS[each].words for each in fields if FIELDS[each].unit != "text"))
        said = f"line {number} states a figure that can't be read ({words}): {shown(printable(text))}"
        if len(self.doubts) < MOST_NOTES and said not in self.doubts:
            self.doubts.append(said)

    def stands(self) -> bool:
        """Has one of the engine's own figures been stated?"""
        return any(finding.field in self._figures for finding in self.findings)

    def published(self) -> tuple[Finding, ...]:
        """The findings that say something to a reader of the log."""
        return tuple(finding for finding in self.findings if finding.words)

    def noted(self) -> tuple[str, ...]:
        """What is unclear, and the figures that cannot be read."""
        return (*self.notes, *self.doubts)

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def of(self, field: str) -> list[Finding]:
        """Every statement of a field."""
        return [finding for finding in self.findings if finding.field == field]

    def rows(self, field: str) -> list[dict[str, Finding]]:
        """For each line that states a field, everything that the line states."""
        lines = list(dict.fromkeys((finding.line, finding.worker) for finding in self.of(field)))
        return [{each.field: each for each in self.findings if (each.line, each.worker) == line} for line in lines]

    def word(self, field: str) -> str | None:
        """The first text stated for a field."""
        return next((str(finding.value) for finding in self.of(field)), None)

    def first(self, field: str) -> float | None:
        """The first number stated for a field."""
        return next((_number(finding) for finding in self.of(field)), None)

    def last(self, field: str) -> float | None:
        """The last number stated for a field."""
        return next((_number(finding) for finding in reversed(self.of(field))), None)

    def least(self, field: str) -> float | None:
        """The smallest of all statements: what an engine can count on is what its fullest rank has."""
        processes: dict[str | None, list[Finding]] = {}
        for finding in self.of(field):
            processes.setdefault(finding.worker, []).append(finding)
        values = [value for stated in processes.values() for value in self._of_process(field, stated)]
        return self._settled(field, values, min, "the least is read")

    def _of_process(self, field: str, stated: list[Finding]) -> list[float]:
        """One process may speak for several ranks; beyond what ranks differ by, it contradicts itself."""
        values = [_number(finding) for finding in stated]
        slack = SAME if self.first("tp") == 1 and self.first("pp") in (1, None) else SPREAD
        if max(values) - min(values) <= slack * abs(max(values)):
            return values
        other = next(each for each in stated if abs(_number(each) - values[0]) > slack * abs(max(values)))
        by = f"one process ({printable(other.worker)})" if other.worker else "one process"
        self.note(
            f"{field}: {by} states {_shown(field, values[0])} (line {stated[0].line}) and "
            f"{_shown(field, _number(other))} (line {other.line}) in one start, which contradict each other; the first "
            "is read"
        )
        return values[:1]

    def most(self, field: str) -> float | None:
        """The largest over the workers of what each states first."""
        firsts: dict[str | None, float] = {}
        for finding in self.of(field):
            firsts.setdefault(finding.worker, _number(finding))
        return self._settled(field, list(firsts.values()), max, "the most is read")

    def _settled(
        self, field: str, values: list[float], pick: Callable[[list[float]], float], which: str
    ) -> float | None:
        if not values:
            return None
        low, high = min(values), max(values)
        if high - low > SAME * abs(high):
            self.note(f"{field}: workers state {_shown(field, low)} to {_shown(field, high)}; {which}")
        return pick(values)

    def count(self, field: str) -> int | None:
        """The least of a field, as a count."""
        value = self.least(field)
        return None if value is None else int(value)

    def pool(self, size: float | None, *fields: str) -> float | None:
        """A pool's size to reckon with: None, and a note, where these fields say that nothing is left for one."""
        refusals = self.of("refusal")
        if refusals:
            self.note(f"no memory is left for KV: line {refusals[0].line} states {shown(refusals[0].value)}")
        if size is None or size > 0:
            return size
        line = next(each.line for field in fields for each in self.of(field) if _number(each) <= 0)
        self.note(f"no memory is left for KV: line {line} states {_shown('available_kv_bytes', size)} of it")
        return None

    def known_format(self, kv_dtype: str | None) -> str | None:
        """A KV format as it is, with a note if its bytes are not known."""
        if kv_dtype is not None and kv_dtype not in formats.NAMES:
            self.note(f"kv_dtype: the bytes of {shown(kv_dtype)} are not known here")
        return kv_dtype


def _value(field: str, text: str, unit: str) -> Value | None:
    """What the text of a group says; None where the engine says that it does not know, and for no figure."""
    if FIELDS[field].unit == "text":
        return None if text in ("None", "") else printable(text[:LONGEST_QUOTE])
    return figure(field, text, unit)


def _number(finding: Finding) -> float:
    assert not isinstance(finding.value, str)
    return finding.value


def _shown(field: str, value: float) -> str:
    if FIELDS[field].unit != "bytes":
        return f"{value:,.10g}"
    return units.both(value) if value > 0 else f"{units.gib(value):.2f} GiB"
