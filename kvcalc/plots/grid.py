"""What the figures of `sweep` share: which combinations are drawn, how axes are named, title and sources."""

from typing import Any

from kvcalc.answers.axes import TITLES
from kvcalc.answers.sweep_result import Sweep
from kvcalc.plots import figure as figures
from kvcalc.tables import matrix
from kvcalc.tables.matrix import Coordinates, Index, Path

COUNTS, MOST_TICKS = ("concurrency", "tp", "links", "page"), 8
MOST_VALUES = 200  # of an axis


def others(result: Sweep, index: Index, drawn: tuple[str, ...]) -> list[tuple[str, Path, Coordinates]]:
    """A title, a path and coordinates for every combination that exists of what is not an axis of the figure."""
    rest = [name for name in matrix.upright(result.axes) if name not in drawn]
    return [
        (f"{index.title(path)}{said(fixed)}", path, fixed)
        for fixed in matrix.each_of(result.axes, rest)
        for path in index.paths
        if any(index.at(path, {**fixed, **each}) for each in matrix.each_of(result.axes, drawn))
    ]


def said(fixed: Coordinates) -> str:
    """The values of axes that are not drawn."""
    return "".join(f", {TITLES[name]} {matrix.text(name, value)}" for name, value in fixed.items())


def ticks(axis: Any, name: str, values: tuple[Any, ...]) -> None:
    """With the unit of what the axis holds."""
    if name in COUNTS and len(values) <= MOST_TICKS:
        figures.counts_axis(axis, values)
    elif name == "bandwidth":
        figures.unit_axis(axis, "B/s")
    else:
        figures.tokens_axis(axis)


def axis(name: str) -> str:
    """What an axis holds, with its unit."""
    names = {
        "tokens": "prefix length (tokens)",
        "bandwidth": "bandwidth of a link (bytes per second)",
        "prefill": "prefill rate (tokens per second)",
        "concurrency": "restores that begin together",
        "tp": "tensor-parallel degree (GPUs)",
        "links": "links used at once",
        "page": "page (tokens)",
        "new": "new tokens after the prefix",
    }
    return names[name]


def title(result: Sweep) -> str:
    """What is asked and what is varied."""
    first, axes = result.points.series[0], result.axes
    named = {"model": first.model_title, "hardware": first.hardware, "kv_dtype": f"{first.kv_dtype} KV"}
    fixed = [text for name, text in named.items() if name not in axes.swept]
    *most, last = [TITLES[name] for name in matrix.upright(axes)] or [""]
    by = f"{', '.join(most)} and {last}" if most else last
    return f"{', '.join(fixed)}{': verdicts' if fixed else 'Verdicts'}{f' by {by}' if by else ''}"


def sources(result: Sweep, index: Index, left: int) -> str:
    """What is not drawn, what stands in whose place, and where the recompute times and bandwidths come from."""
    ways = dict.fromkeys(each.recompute_way for each in result.points.series)
    cited = dict.fromkeys(
        source.title for each in result.points.series for source in each.sources if source.basis != "given"
    )
    legend = index.places.legend()
    bases = ", ".join(dict.fromkeys(each.recompute_basis for each in result.points.series))
    told = [
        f"not drawn: {left} more" if left > 0 else "",
        f"recompute times rest on different bases ({bases}), so margins are not alike" if result.warnings else "",
        legend,
        f"recompute: {'; '.join(ways)}",
        f"sources: {'; '.join(cited)}",
    ]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in told if text)
