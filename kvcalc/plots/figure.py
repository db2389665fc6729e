"""A figure for half a page: its size, its styles that don't need colour, its file."""

import io
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvcalc import files, units
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")
WIDTH, HEIGHT = 6.5, 4.6  # inches: half a page between its margins
DOTS_PER_INCH = 200
MOST_SOURCES, TITLE_LETTERS = 4, 84  # lines below a figure, letters of a title above it
LEGEND_LETTERS = 52  # of a label, where two stand side by side
MINOR_PAD = 5  # points, with which labels at short ticks stand where those at long ticks do
SHORT_AXIS = 30  # an axis on which its end is less than so many times its beginning
LINE, ROW = 0.115, 0.165  # inches of a line of sources and of a row of the legend
# Okabe and Ito's palette, in the order of its contrast on white; lines also differ in dashes and markers
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#6b6b6b")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
PAPER = {"facecolor": "white", "alpha": 0.8, "pad": 0.8, "linewidth": 0}  # below a label
VERDICTS = {"recompute": ("#e8c4ad", "xxx"), "marginal": ("#f7ecb5", "///"), "restore": ("#c4dff0", "")}
STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "hatch.linewidth": 0.35,
    "hatch.color": "#8a8a8a",
    "svg.hashsalt": "kvcalc",
    "svg.fonttype": "none",
}


def check(option: str, path: Path) -> None:
    """Refuse, before any work, a figure that can't be drawn or written. Raises UserError."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"{option}: {shown(str(path))} names no format; end it with {', '.join(FORMATS)}")
    if find_spec("matplotlib") is None:
        raise UserError(f"{option} needs matplotlib; install it with pip install 'kvcalc[plot]'")
    files.check(path)


@frozen
class Line:
    """How a line looks."""

    colour: str
    dashes: Any
    marker: str

    def keywords(self, places: slice) -> dict[str, Any]:
        """For `plot`, with markers at some places along it."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "marker": self.marker,
            "markersize": 4,
            "markevery": places,
            "linewidth": 1.3,
        }


def line(number: int) -> Line:
    """The look of a line, different from all before it by more than its colour."""
    return Line(COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)])


def start(panels: int = 1) -> tuple["Figure", list["Axes"]]:
    """A figure with so many panels, two in a row, and no window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT if panels < 3 else 1.45 * HEIGHT), layout="constrained")
    rows, columns = (1, panels) if panels < 3 else (2, 2)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).reshape(-1)
    for unused in axes[panels:]:
        unused.set_visible(False)
    return figure, list(axes[:panels])


def counts_axis(axis: Any, counts: Sequence[float]) -> None:
    """A tick for each of a few counts, such as 1, 2, 4 and 8 GPUs."""
    from matplotlib.ticker import NullLocator

    axis.set_ticks(counts, [f"{count:g}" for count in counts])
    axis.set_minor_locator(NullLocator())


def cells_axis(axis: Any, counts: Sequence[float]) -> None:
    """The same where each of them is a cell, one beside the other."""
    axis.set_ticks(range(len(counts)), [f"{count:g}" for count in counts])


def tokens_axis(axis: Any) -> None:
    """Lengths: 1k, 10k, 1M."""
    _labels(axis, lambda value: units.short(value, "").replace(" ", ""))


def unit_axis(axis: Any, unit: str) -> None:
    """Figures with their unit: 10 ms, 1 GB/s."""
    _labels(axis, lambda value: units.short(value, unit))


def _labels(axis: Any, label: Callable[[float], str]) -> None:
    """At the decades, and on a short axis also at twice and five times them."""
    from matplotlib.ticker import FuncFormatter

    def between(value: float, _: int) -> str:
        low, high = axis.get_view_interval()
        return label(value) if high < SHORT_AXIS * low and f"{value:e}"[0] in "25" else ""

    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(FuncFormatter(between))
    axis.set_tick_params(which="minor", pad=MINOR_PAD)


def wrapped(text: str, panels: int) -> str:
    """A title in lines that fit above one panel, or above one of two in a row."""
    import textwrap

    return textwrap.fill(text, TITLE_LETTERS if panels == 1 else TITLE_LETTERS // 2)


def places(number: int, lines: int, points: int) -> slice:
    """Where a line has its markers: a handful, never where another line of so many has its own."""
    step = max(1, points // 7)
    return slice(number * step // lines, None, step)


def finish(figure: "Figure", title: str, sources: str, handles: Sequence[Any]) -> "Figure":
    """With its title, below the panels a legend that covers nothing, and where its numbers come from."""
    import textwrap

    figure.suptitle(wrapped(title, 1), fontsize=10, fontweight="bold")
    lines = textwrap.wrap(sources, 128, max_lines=MOST_SOURCES, placeholder=" ... and more, as the answer lists them.")
    room = (0.02 + LINE * len(lines)) / figure.get_figheight()
    figure.text(0.01, room / 2, "\n".join(lines), fontsize=6.5, color="#404040", va="center", linespacing=1.15)
    columns = 1 if any(len(handle.get_label()) > LEGEND_LETTERS for handle in handles) else 2
    rows = -(-len(handles) // columns)
    below = room + rows * ROW / figure.get_figheight()
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, below, 1, 1 - below))
    if handles:
        place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, room), "borderaxespad": 0.0}
        figure.legend(handles=handles, ncols=columns, handlelength=3.5, **place)
    return figure


def drawn(draw: Callable[[], "Figure"], path: Path) -> bytes:
    """The file that `path` names a format of, in the house's style; the same bytes for the same figure."""
    from matplotlib import rc_context

    stream, suffix = io.BytesIO(), path.suffix.lower()
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {"Software": None}}[suffix]
    with rc_context(STYLE):
        draw().savefig(stream, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=dated)
    return stream.getvalue()
