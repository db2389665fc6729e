"""The accuracy tables of docs/capacity.md: pools against their budget, and the public start-up figures.

python scripts/capacity_report.py            # write them into the page again
"""

import re
from collections.abc import Iterator
from pathlib import Path

from fit_budget import errors, left_out, ninth_decile, pool, within
from log_report import answered
from log_rows import Row, budgets, models, rows

from kvcalc import files
from kvcalc.answers.log_result import LogAnswer
from kvcalc.profiles import catalog

PAGE = Path(__file__).resolve().parents[1] / "docs" / "capacity.md"
BEGIN, END = "<!-- written by scripts/capacity_report.py -->\n", "<!-- end -->\n"


def report() -> str:
    """Both tables with what they come to."""
    return f"\n### Pools of vLLM 0.19 on H100\n\n{_budgets()}\n### Public start-up figures\n\n{_logs()}\n"


def page(text: str) -> str:
    """The page with the tables in their place."""
    pattern = re.escape(BEGIN) + ".*" + re.escape(END)
    return re.sub(pattern, lambda _: BEGIN + report() + END, text, flags=re.DOTALL)


def _budgets() -> str:
    known, found = budgets(), catalog.budget("vllm-0.19")
    head = ("run", "model", "TP", "PP", "printed", "weights counted", "weights given")
    table = [_budget(row, *(pool(row, found, given) for given in (False, True))) for row in known]
    lines = [
        _summary(f"Weights {word}", errors(known, found, given), left_out(known, given), bound)
        for word, given, bound in (("counted", False, 0.03), ("given", True, 0.02))
    ]
    return f"{''.join(lines)}\n{_table(head, table)}"


def _summary(label: str, fitted: dict[str, float], unseen: dict[str, float], bound: float) -> str:
    parts = (
        f"{100 * within(each, bound):.0f} % of {len(each)} runs within {100 * bound:.0f} %, ninth decile "
        f"{100 * ninth_decile(each):.1f} %, worst {100 * max(map(abs, each.values())):.1f} %"
        for each in (fitted, unseen)
    )
    return f"- {label}: {', each model left out of the fit: '.join(parts)}.\n"


def _budget(row: Row, counted: float, given: float) -> tuple[str, ...]:
    printed = row.gib("available_kv_gib")
    shown = [f"{each / 2**30:.2f} GiB ({100 * (each / printed - 1):+.1f} %)" for each in (counted, given)]
    name = row.raw["model"].rsplit("/", 1)[-1]
    return row.id, name, str(row.raw["tp"]), str(row.raw["pp"]), f"{printed / 2**30:.2f} GiB", *shown


def _logs() -> str:
    known = models()
    found = [(row, answered(row, known)) for row in rows()]
    plain = [(row, answer) for row, answer in found if row.raw.get("plain_match")]
    named = [(row, answer) for row, answer in found if row.raw.get("mismatch_reason")]
    right = [row for row, answer in named if _codes(answer) == row.raw["mismatch_reason"]]
    errors = [abs(ratio - 1) for _, answer in plain for ratio in _ratios(answer)]
    head = ("row", "engine", "reason", "printed / predicted", "supposed")
    table = [(row.id, row.raw["engine"], *_named(answer)) for row, answer in named]
    return (
        f"- {len(plain)} rows of {len(found)} are met by the plain formula too: worst {100 * max(errors):.2f} %.\n"
        f"- {len(named)} rows are not: the reason is named in {len(right)} of them. The others state no bytes.\n\n"
        f"{_table(head, table)}"
    )


def _named(answer: LogAnswer) -> tuple[str, ...]:
    ratios = ", ".join(f"{ratio:.4f}" for ratio in _ratios(answer))
    return _codes(answer), ratios or "not weighed", answer.variant or ""


def _codes(answer: LogAnswer) -> str:
    return "+".join(each.code for each in answer.reasons)


def _ratios(answer: LogAnswer) -> Iterator[float]:
    """Without requests, which are printed with two decimals, and without the pool, which has a table of its own."""
    for each in answer.comparisons:
        if each.ratio is not None and each.unit != "requests" and "KV pool" not in each.figure:
            yield each.ratio


def _table(head: tuple[str, ...], table: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *table]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    files.write(PAGE, page(PAGE.read_text(encoding="utf-8")))
