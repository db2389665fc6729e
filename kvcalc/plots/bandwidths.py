"""A map of verdicts over length and bandwidth, and the bandwidth that each path really delivers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvcalc import units
from kvcalc.answers.crossover_result import Crossover
from kvcalc.plots import figure as figures
from kvcalc.plots import lines
from kvcalc.plots.figure import VERDICTS
from kvcalc.plots.lines import Looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def verdicts(results: Sequence[Crossover]) -> "Figure":
    """One answer, or two side by side. A path crosses the line of margin 1 where fetching and recomputing meet."""
    figure, axes, title = lines.panels(results, "which bandwidth is enough")
    looks, (bottom, top) = Looks(results), _bounds(results)
    for panel, result in zip(axes, results, strict=True):
        _regions(panel, result, bottom, top)
        _boundaries(panel, result)
        for path in result.paths:
            at, delivered = zip(*((need.tokens, need.kv_bytes / need.fetch_s) for need in path.by_length), strict=True)
            panel.plot(at, delivered, label=looks.label(path), **looks.line(path).keywords(looks.marked(path)))
        panel.set(xscale="log", yscale="log", xlim=(at[0], at[-1]), ylim=(bottom, top), xlabel="prefix length (tokens)")
        figures.tokens_axis(panel.xaxis)
        figures.unit_axis(panel.yaxis, "B/s")
    axes[0].set_ylabel("bandwidth (bytes per second)")
    note = "Bandwidth here is KV bytes / fetch time, latency and copies included, over all links of a path."
    return figures.finish(figure, title, f"{note} {lines.sources(results)}", lines.handles(axes))


def _even(result: Crossover, seconds: str = "recompute_s", margin: float = 1.0) -> list[float]:
    """The bandwidth at which a margin is reached, by length."""
    return [margin * need.kv_bytes / getattr(need, seconds) for need in result.paths[0].by_length]


def _bounds(results: Sequence[Crossover]) -> tuple[float, float]:
    """What the bandwidth axis spans."""
    rates = [rate for result in results for margin in (1.0, result.min_margin) for rate in _even(result, margin=margin)]
    needs = (need for result in results for path in result.paths for need in path.by_length)
    rates += [need.kv_bytes / need.fetch_s for need in needs]
    return min(rates) / 2, max(rates) * 2


def _regions(axes: "Axes", result: Crossover, bottom: float, top: float) -> None:
    at = [need.tokens for need in result.paths[0].by_length]
    even, enough = (_even(result, margin=margin) for margin in (1.0, result.min_margin))
    for verdict, below, above in (
        ("recompute", [bottom] * len(at), even),
        ("marginal", even, enough),
        ("restore", enough, [top] * len(at)),
    ):
        if verdict == "marginal" and result.min_margin == 1:
            continue
        colour, hatch = VERDICTS[verdict]
        area = axes.fill_between(at, below, above, facecolor=colour, edgecolor="#a0a0a0", linewidth=0, label=verdict)
        area.set_hatch(hatch)


def _boundaries(axes: "Axes", result: Crossover) -> None:
    """Where the margin is 1 and the minimum, and how far the recompute time's range moves the first."""
    at = [need.tokens for need in result.paths[0].by_length]
    low, high = (_even(result, seconds) for seconds in ("recompute_high_s", "recompute_low_s"))
    label = "margin 1 within the range of the recompute time"
    axes.fill_between(at, low, high, color="#303030", alpha=0.22, linewidth=0, label=label)
    for margin, dashes in {result.min_margin: "--", 1.0: "-"}.items():
        rates, middle = _even(result, margin=margin), len(at) // 2
        axes.plot(at, rates, color="black", linewidth=1.6, linestyle=dashes)
        place, text = (at[middle], rates[middle]), f"margin {units.times(margin)}"
        axes.annotate(text, place, fontsize=7.5, ha="center", va="center", bbox=figures.PAPER)
