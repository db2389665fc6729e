"""Line forms: the figures that a line of an engine's log states, and what the lines of one log state together."""

import re
from collections.abc import Callable, Iterable

from kvcalc import units
from kvcalc.errors import printable
from kvcalc.frozen import frozen
from kvcalc.observe.observation import Finding

NUMBER = r"-?[\d.]+"
COUNT = r"\d+(?:,\d{3})*"
WORDS = frozenset(  # fields whose values stay text; every other one is a number
    ("version", "model", "weight_dtype", "kv_dtype", "k_format", "v_format", "quantization", "cache_kind", "merged")
)
LONGEST_QUOTE = 240  # characters of a line that a finding keeps
MOST_FINDINGS = 2000  # of one log; a start prints some ten a worker

_WORKER = re.compile(
    r"\(((?:EngineCore|Worker|VllmWorker|RayWorker|ModelRunner)[^)]*)\)"  # vLLM
    r"|\[[^\]]*?\b((?:DP\d+ )?(?:PP\d+ )?TP\d+(?: EP\d+)?)\]"  # SGLang
    r"|\[(RANK \d+)\]|\[1,(\d+)\]<std"  # TensorRT-LLM, mpirun
)
_FURTHER = re.compile(r"_DP[1-9]")  # a further engine of a data-parallel group, which opens its own start


@frozen
class Form:
    """A kind of line. Every such line contains `marker`; the named groups of `pattern` are fields.

    `unit` is the unit of all `*_bytes` groups. `starts`: the line opens a start, so an earlier start in the same log is
    forgotten. `repeats`: the line is printed again and again, and only the latest counts.
    """

    marker: str
    pattern: re.Pattern[str]
    unit: str = "GiB"
    starts: bool = False
    repeats: bool = False


def form(marker: str, pattern: str, unit: str = "GiB", *, starts: bool = False, repeats: bool = False) -> Form:
    """A form, from a pattern in which `<n:field>` stands for a number and `<c:field>` for a count."""
    kinds = {"n": NUMBER, "c": COUNT}
    whole = re.sub(r"<([nc]):(\w+)>", lambda found: f"(?P<{found[2]}>{kinds[found[1]]})", pattern)
    return Form(marker, re.compile(whole), unit, starts, repeats)


class Stated:
    """The findings of one engine in one log, in the order of its lines."""

    def __init__(self, forms: Iterable[Form], figures: frozenset[str]) -> None:
        self._forms = tuple(forms)
        self._figures = figures  # fields that make a log worth reading; without one the engine isn't there
        self.findings: list[Finding] = []
        self.notes: list[str] = []

    def feed(self, number: int, line: str) -> None:
        """Add what a line states."""
        for each in self._forms:
            if each.marker in line and (found := each.pattern.search(line)):
                if each.starts:
                    self._restart(line)
                self._add(each, number, line, found)

    def _restart(self, line: str) -> None:
        if self.stands() and not _FURTHER.search(line):
            self.findings.clear()
            self.notes[:] = ["the log holds several starts; the last is read"]

    def _add(self, each: Form, number: int, line: str, found: re.Match[str]) -> None:
        by = worker(line)
        for field, text in found.groupdict().items():
            value = None if text is None else _value(field, text, each.unit)
            if value is None:
                continue
            finding = Finding(field, value, number, printable(line[:LONGEST_QUOTE]), by)
            if each.repeats:
                self.findings[:] = [old for old in self.findings if (old.field, old.worker) != (field, by)]
            if len(self.findings) < MOST_FINDINGS:
                self.findings.append(finding)

    def stands(self) -> bool:
        """Has one of the engine's own figures been stated?"""
        return any(finding.field in self._figures for finding in self.findings)

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
        return self._settled(field, [_number(finding) for finding in self.of(field)], min, "the least is read")

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
        note = f"{field}: workers state {_shown(field, low)} to {_shown(field, high)}; {which}"
        if high - low > 0.001 * abs(high) and note not in self.notes:
            self.notes.append(note)
        return pick(values)

    def count(self, field: str) -> int | None:
        """The least of a field, as a count."""
        value = self.least(field)
        return None if value is None else int(value)


def worker(line: str) -> str | None:
    """The process that printed a line, as the line calls it."""
    tags = _WORKER.findall(line)
    return next((tag for tag in reversed(tags[-1]) if tag), None) if tags else None


def _value(field: str, text: str, unit: str) -> float | str | None:
    """What the text of a group says; None where the engine says that it does not know."""
    if field in WORDS:
        return None if text in ("None", "") else printable(text)
    digits = text.replace(",", "").rstrip(".")
    if not re.fullmatch(r"-?\d+(?:\.\d+)?", digits):
        return None
    if not field.endswith("_bytes"):
        return float(digits) if "." in digits else int(digits)
    size = units.size(f"{digits.removeprefix('-')} {unit}")
    return -size if digits.startswith("-") else size


def _number(finding: Finding) -> float:
    assert not isinstance(finding.value, str)
    return finding.value


def _shown(field: str, value: float) -> str:
    return units.both(value) if field.endswith("_bytes") and value >= 0 else f"{value:,.10g}"


DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "float": "fp32",
    "float8_e4m3fn": "fp8",
    "float8_e4m3fnuz": "fp8",
    "float8_e5m2": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "float4_e2m1fn_x2": "nvfp4",
    "f16": "fp16",
    "f32": "fp32",
}


def dtype(text: str | None) -> str | None:
    """An element format in this program's words, or as the engine wrote it; None for "auto"."""
    bare = text.removeprefix("torch.") if text else None
    return None if bare in (None, "auto") else DTYPES.get(bare, bare)
