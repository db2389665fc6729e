"""The answer to `crossover` as figures: times over length, and a map of verdicts over length and bandwidth."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvcalc import units
from kvcalc.answers.crossover_result import Crossover, PathTurns
from kvcalc.plots import figure as figures
from kvcalc.plots.figure import VERDICTS, Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PER_DECADE = 20  # lengths at which lines are drawn


def lengths(shortest: int, longest: int) -> list[int]:
    """Even logarithmic steps from the shortest to the longest length, over a decade at least."""
    from math import ceil, log10

    longest = max(longest, 10 * shortest)
    steps = ceil(PER_DECADE * log10(longest / shortest))
    ratio = longest / shortest
    return sorted({round(shortest * ratio ** (step / steps)) for step in range(steps + 1)})


def times(result: Crossover) -> "Figure":
    """Recompute and fetch times of every path over length, with their ranges and where they meet."""
    figure, (axes,) = figures.start()
    needs = result.paths[0].by_length
    at = [need.tokens for need in needs]
    recompute = [need.recompute_s for need in needs]
    low, high = [need.recompute_low_s for need in needs], [need.recompute_high_s for need in needs]
    axes.fill_between(at, low, high, color="#b0b0b0", alpha=0.45, linewidth=0, label="recompute, its range")
    axes.plot(at, recompute, color="black", linewidth=2.4, label=f"recompute ({result.recompute_basis})")
    for number, path in enumerate(result.paths):
        _path(axes, path, figures.line(number), figures.places(number, len(result.paths), len(at)))
    _crossings(axes, [meeting for path in result.paths for meeting in _meetings(path, at)])
    axes.set(xscale="log", yscale="log", xlabel="prefix length (tokens)", ylabel="time (s)", xlim=(at[0], at[-1]))
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.5)
    figures.tokens_axis(axes.xaxis)
    figures.unit_axis(axes.yaxis, "s")
    title = f"{_title(result)}: time to recompute and to fetch"
    note = "Shaded: the range of the recompute time; strokes: the ranges of fetch times; rings: crossovers."
    return figures.finish(figure, title, f"{note} {_sources(result)}", axes.get_legend_handles_labels()[0])


def _path(axes: "Axes", path: PathTurns, look: Line, marked: slice) -> None:
    """Its usual fetch time, and its range where it is marked."""
    at, fetch, low, high = (
        [getattr(need, key) for need in path.by_length] for key in ("tokens", "fetch_s", "fetch_low_s", "fetch_high_s")
    )
    axes.vlines(at[marked], low[marked], high[marked], color=look.colour, linewidth=0.8)
    axes.plot(at, fetch, label=_label(path), **look.keywords(marked))


def _label(path: PathTurns) -> str:
    links = f"{path.links} links of" if path.links > 1 else "1 link of"
    return f"{path.tier}, {links} {units.short(path.link_bytes_per_s, 'B/s')}"


def _crossings(axes: "Axes", meetings: list[tuple[float, float]]) -> None:
    """Ringed, with their lengths on both sides in turn."""
    for number, (tokens, seconds) in enumerate(sorted(meetings)):
        axes.plot([tokens], [seconds], "o", markersize=9, markerfacecolor="none", color="black", markeredgewidth=1.2)
        x, y, side = (-4, 7, "right") if number % 2 == 0 else (4, -12, "left")
        text = units.count(-(-tokens // 1))
        axes.annotate(text, (tokens, seconds), xytext=(x, y), textcoords="offset points", fontsize=7.5, ha=side)


def _meetings(path: PathTurns, at: list[int]) -> Iterator[tuple[float, float]]:
    """Each crossover within the lengths that are drawn, and the time there, between its neighbours."""
    from bisect import bisect_left
    from math import exp, log

    for tokens in path.wins.tokens:
        if at[0] < tokens < at[-1]:
            place = bisect_left(at, tokens)
            before, after = path.by_length[place - 1], path.by_length[place]
            part = log(tokens / before.tokens) / log(after.tokens / before.tokens)
            yield tokens, exp(log(before.recompute_s) * (1 - part) + log(after.recompute_s) * part)


def verdicts(result: Crossover) -> "Figure":
    """Which bandwidth is enough at which length, and what each path really delivers."""
    figure, (axes,) = figures.start()
    needs = result.paths[0].by_length
    at = [need.tokens for need in needs]
    even = [need.kv_bytes / need.recompute_s for need in needs]
    enough = [rate * result.min_margin for rate in even]
    delivered = [[need.kv_bytes / need.fetch_s for need in path.by_length] for path in result.paths]
    bottom, top = _bounds([*even, *enough, *(rate for rates in delivered for rate in rates)])
    for verdict, below, above in (
        ("recompute", [bottom] * len(at), even),
        ("marginal", even, enough),
        ("restore", enough, [top] * len(at)),
    ):
        colour, hatch = VERDICTS[verdict]
        axes.fill_between(
            at, below, above, facecolor=colour, hatch=hatch, edgecolor="#a0a0a0", linewidth=0, label=verdict
        )
    _boundaries(axes, result, at)
    for number, (path, rates) in enumerate(zip(result.paths, delivered, strict=True)):
        axes.plot(
            at,
            rates,
            label=_label(path),
            **figures.line(number).keywords(figures.places(number, len(delivered), len(at))),
        )
    axes.set(xscale="log", yscale="log", xlim=(at[0], at[-1]), ylim=(bottom, top))
    axes.set(xlabel="prefix length (tokens)", ylabel="bandwidth (bytes per second)")
    figures.tokens_axis(axes.xaxis)
    figures.unit_axis(axes.yaxis, "B/s")
    title = f"{_title(result)}: which bandwidth is enough"
    note = "Bandwidth here is KV bytes / fetch time, latency and copies included, over all links of a path."
    return figures.finish(figure, title, f"{note} {_sources(result)}", axes.get_legend_handles_labels()[0])


def _boundaries(axes: "Axes", result: Crossover, at: list[int]) -> None:
    """Where the margin is 1 and the minimum, and how far the recompute time's range moves the first."""
    needs = result.paths[0].by_length
    low, high = (
        [need.kv_bytes / s for need, s in zip(needs, times, strict=True)]
        for times in (
            [need.recompute_high_s for need in needs],
            [need.recompute_low_s for need in needs],
        )
    )
    label = "margin 1 within the range of the recompute time"
    axes.fill_between(at, low, high, color="#303030", alpha=0.22, linewidth=0, label=label)
    for margin in (1.0, result.min_margin):
        rates = [need.kv_bytes / need.recompute_s * margin for need in needs]
        axes.plot(at, rates, color="black", linewidth=1.6, linestyle="-" if margin == 1 else "--")
        middle, paper = len(at) // 2, {"facecolor": "white", "alpha": 0.8, "pad": 0.8, "linewidth": 0}
        text = f"margin {units.times(margin)}"
        axes.annotate(text, (at[middle], rates[middle]), fontsize=7.5, ha="center", va="center", bbox=paper)


def _bounds(rates: list[float]) -> tuple[float, float]:
    return min(rates) / 2, max(rates) * 2


def _title(result: Crossover) -> str:
    return f"{result.model_title}, {result.hardware}, TP {result.tp}, {result.kv_dtype} KV"


def _sources(result: Crossover) -> str:
    """Where the recompute time and the bandwidths come from."""
    recompute = "; ".join(dict.fromkeys(source.title for source in result.recompute_sources))
    bandwidths = "; ".join(dict.fromkeys(path.source.title for path in result.paths))
    way = f"Recompute: {result.recompute_way} ({result.recompute_basis}): {recompute}. Engine {result.engine}."
    return f"{way} Bandwidths: {bandwidths}."
