"""The answer to `curve` as a figure: hit rate and work over capacity, with the tiers of a node."""

from typing import TYPE_CHECKING, Any

from kvcalc import units
from kvcalc.answers.curve_result import CurveAnswer, TierPlace
from kvcalc.plots import figure as figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # capacities a decade at which the curve is drawn
HIGHEST = 99.0  # %: 1/(1-h) has no end
WORK = (1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)


def draw(answer: CurveAnswer) -> "Figure":
    """Hit rates by capacity; the scale on the right says how many prompts the same prefill does at each rate."""
    figure, (axes,) = figures.start()
    at = [point.capacity_tokens for point in answer.points]
    curves = (
        ("tokens hit", "token_rate"),
        ("tokens hit, warm half", "warm_token_rate"),
        ("full blocks hit", "full_block_rate"),
    )
    for number, (label, key) in enumerate(curves):
        look = figures.line(number).keywords(figures.places(number, len(curves), len(at)))
        axes.plot(at, [100 * getattr(point, key) for point in answer.points], label=label, **look)
    ceiling, knee = answer.ceiling, answer.knee
    axes.axhline(100 * ceiling.token_rate, color="#404040", linewidth=1.0, linestyle=":", label="ceiling of any cache")
    ring: dict[str, Any] = {"color": "black", "fillstyle": "none", "markersize": 9, "linestyle": "none"}
    axes.plot([knee.capacity_tokens], [100 * knee.token_rate], marker="o", label="knee", **ring)
    _tiers(axes, answer)
    top = max(100 * getattr(point, key) for point in answer.points for _, key in curves)
    axes.set(xscale="log", xlabel="capacity (tokens)", ylabel="hit rate (%)", ylim=(0, min(HIGHEST, 1.1 * top)))
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.5)
    figures.tokens_axis(axes.xaxis)
    _work(axes)
    return figures.finish(figure, _title(answer), _said(answer), axes.get_legend_handles_labels()[0])


def _work(axes: "Axes") -> None:
    """The same rates as 1/(1-h), on the right."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    right = axes.secondary_yaxis("right", functions=(_prompts, _percent))
    most = _prompts(axes.get_ylim()[1])
    right.yaxis.set_major_locator(FixedLocator([work for work in WORK if work <= most]))
    right.yaxis.set_major_formatter(FuncFormatter(lambda work, _: f"{work:g}x"))
    right.set_ylabel("1/(1-h): prompts for the same prefill")
    right.spines["right"].set_visible(True)


def _prompts(percent: Any) -> Any:
    return 100 / (100 - percent)


def _percent(prompts: Any) -> Any:
    import numpy as np

    return 100 - 100 / np.maximum(prompts, 1 / HIGHEST)  # matplotlib asks for zero prompts too


def _tiers(axes: "Axes", answer: CurveAnswer) -> None:
    """Where each tier ends, with all above it: as a whole line for the first KV format, short for the others."""
    least, most = answer.points[0].capacity_tokens, answer.points[-1].capacity_tokens
    for place in answer.places:
        first = place.kv_dtype == answer.places[0].kv_dtype
        if least <= place.reach_tokens <= 4 * most:
            axes.axvline(place.reach_tokens, ymax=1 if first else 0.06, color="#404040", linewidth=0.9, zorder=1)
            if first:
                _name(axes, place)


def _name(axes: "Axes", place: TierPlace) -> None:
    axes.annotate(
        place.tier,
        (place.reach_tokens, 0.02),
        xycoords=("data", "axes fraction"),
        xytext=(-3, 4),
        textcoords="offset points",
        rotation=90,
        fontsize=6.5,
        ha="right",
    )


def _title(answer: CurveAnswer) -> str:
    name = answer.trace.path.rsplit("/", 1)[-1].partition(".")[0]
    return f"{name}: hit rate by capacity" + (f", {answer.model_title} on {answer.hardware}" if answer.model else "")


def _said(answer: CurveAnswer) -> str:
    facts = answer.trace
    trace = f"{facts.format}, {units.count(facts.requests)} requests, {units.count(facts.input_tokens)} prompt tokens."
    lru = f"One least-recently-used cache, {answer.touch}; the ring is the knee, the dotted line the ceiling."
    if not answer.places:
        return f"{lru} {trace}"
    formats = list(dict.fromkeys(place.kv_dtype for place in answer.places))
    lines = f"Upright: a tier with all above it, in {formats[0]}" + (f"; ticks: {formats[1]}." if formats[1:] else ".")
    sources = dict.fromkeys(source.title for each in answer.assumptions for source in each.sources)
    return f"{lru} {lines} {trace} Sizes: {'; '.join(list(sources)[:3])}."
