"""Figures are those that were looked at, and are read without colour."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from kvcalc import Options
from kvcalc.answers.axes import Axes
from kvcalc.answers.crossover import side_by_side
from kvcalc.answers.sweep import sweep
from kvcalc.plots import bandwidths, lines
from kvcalc.plots import crossover as crossovers
from kvcalc.plots import figure as figures
from kvcalc.plots import sweep as sweeps

STORED = Path(__file__).parents[1] / "data" / "plots"
TILE = 50  # pixels of 200 an inch
SAME = 0.08  # of black to white, each tile's mean: fonts and anti-aliasing differ between versions


def turns(against=None):
    return side_by_side("llama3-70b", "h100-pcie5", against, lines.lengths(10, 1_000_000), Options(), variants=False)


def grid(**axes):
    return sweep(Axes(("llama3-70b",), ("h100-pcie5",), **axes))


LENGTHS = tuple(10**power for power in range(2, 7))
FIGURES = {
    "times": lambda: crossovers.times(turns()),
    "map": lambda: bandwidths.verdicts(turns()),
    "times-beside": lambda: crossovers.times(turns("h200-pcie5")),
    "map-beside": lambda: bandwidths.verdicts(turns("bf16")),
    "sweep-map": lambda: sweeps.draw(
        grid(tokens=LENGTHS, bandwidth=tuple(10.0**power for power in range(9, 13)), links=(1,))
    ),
    "sweep-lines": lambda: sweeps.draw(grid(tokens=LENGTHS)),
    "sweep-cells": lambda: sweeps.draw(grid(tokens=LENGTHS, tp=(1, 2, 4, 8), links=("all",))),
    "sweep-nodes": lambda: sweeps.draw(over_nodes(tokens=LENGTHS, bandwidth=(1e9, 1e10, 1e11))),
    "sweep-rows": lambda: sweeps.draw(grid(tokens=(20_000,), kv_dtype=("fp8", "bf16"))),
}


def tiles(path):
    """The mean brightness of each tile."""
    grey = imread(path)[..., :3].mean(axis=2)
    rows, columns = (size // TILE for size in grey.shape)
    return grey[: rows * TILE, : columns * TILE].reshape(rows, TILE, columns, TILE).mean(axis=(1, 3))


@pytest.mark.parametrize("name", FIGURES)
def test_picture_is_the_one_that_was_looked_at(name, tmp_path):
    """After a change that is meant: look at the new picture, then save its tiles in tests/data/plots."""
    path = tmp_path / f"{name}.png"
    path.write_bytes(figures.drawn(FIGURES[name], path))
    stored = np.loadtxt(STORED / f"{name}.csv", delimiter=",")
    found = tiles(path)
    assert found.shape == stored.shape
    assert np.abs(found - stored).max() < SAME


def test_the_same_figure_is_the_same_file(tmp_path):
    for suffix in figures.FORMATS:
        first, second = (figures.drawn(FIGURES["sweep-lines"], tmp_path / f"figure{suffix}") for _ in range(2))
        assert first == second


@pytest.mark.parametrize(("shortest", "longest", "ends"), [
    (20_000, 20_000, (6_325, 63_250)), (1, 1, (1, 10)), (100_000_000, 100_000_000, (10_000_000, 100_000_000)),
    (50_000_000, 90_000_000, (10_000_000, 100_000_000)), (1000, 1_000_000, (1000, 1_000_000)),
])  # fmt: skip
def test_drawn_lengths_span_a_decade_and_no_longer_prompt_than_there_is(shortest, longest, ends):
    found = lines.lengths(shortest, longest)
    assert found[-1] >= 10 * found[0]
    assert (found[0], found[-1]) == pytest.approx(ends, rel=0.7)
    assert found[-1] <= 100_000_000


def test_lines_differ_by_more_than_their_colour():
    looks = [figures.line(number) for number in range(10)]
    assert len({look.marker for look in looks}) == len(looks)
    assert len({(look.colour, str(look.dashes)) for look in looks}) == len(looks)


def test_verdicts_differ_in_brightness_or_hatching():
    assert len({hatch for _, hatch in figures.VERDICTS.values()}) == 3


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_says_its_units_and_its_sources(name):
    figure = FIGURES[name]()
    said = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "PidokuInfra" in said  # the source of the default node's figures
    assert any(unit in said for unit in ("time (s)", "bytes per second", "recompute time / fetch time", "(GPUs)"))
    assert "tokens" in said or "margin" in said


def test_a_path_looks_the_same_in_both_panels():
    left, right = crossovers.times(turns("h200-pcie5")).axes
    looks = [
        {line.get_label(): (line.get_color(), line.get_marker()) for line in panel.lines} for panel in (left, right)
    ]
    both = {label for label in looks[0].keys() & looks[1].keys() if "link" in label}
    assert len(both) >= 4
    assert {label: looks[0][label] for label in both} == {label: looks[1][label] for label in both}


def said(figure):
    return [text.get_text() for text in figure.findobj(Text)]


def over_nodes(**axes):
    nodes = ("h100-pcie5", "h200-pcie5", "gb200-nvlink-c2c")
    return sweep(Axes(("llama3-70b",), nodes, **axes), Options(tiers=("nvme",), links=1))


def test_nodes_whose_tiers_have_different_names_have_no_empty_panels_and_no_lines_of_nothing():
    """Each of the three has one NVMe tier under a name of its own."""
    figure = sweeps.draw(over_nodes(tokens=LENGTHS, bandwidth=(1e9, 1e11)))
    assert [panel.get_title() for panel in figure.axes if panel.get_visible()] == [
        f"nvme, 1 link, node {node}" for node in ("h100-pcie5", "h200-pcie5", "gb200-nvlink-c2c")
    ]
    assert all(panel.collections for panel in figure.axes if panel.get_visible())
    lines = sweeps.draw(over_nodes(tokens=LENGTHS)).axes[0].lines
    assert len([line for line in lines if line.get_label().startswith("nvme, 1 link, node ")]) == 3


def test_long_titles_are_wrapped_and_sources_stop_after_a_few_lines():
    figure = sweeps.draw(grid(tokens=(20_000,), tp=(1, 2, 4, 8), concurrency=(1, 2), page=(None,), new=(0, 500)))
    assert figures.wrapped("x " * 80, 2).count("\n") >= 2
    notes = [text for text in said(figure) if "Sources: " in text or "as the answer lists them" in text]
    assert all(len(text.splitlines()) <= figures.MOST_SOURCES for text in notes)


def test_a_line_is_broken_where_the_basis_changes():
    """TP 1, 2 and 4 are measured, TP 8 is the chapter's rate."""
    figure = sweeps.draw(grid(tokens=(20_000,), tp=(1, 2, 4, 8), links=("all",)))
    (first, *_) = [line for line in figure.axes[0].lines if line.get_label().startswith("dram")]
    assert list(first.get_xdata()) == [1, 2, 4]
    assert "Gaps: the basis of the recompute time changes." in " ".join(said(figure)).replace("\n", " ")


def test_counts_are_cells_and_not_shaded_between():
    panel = sweeps.draw(grid(tokens=LENGTHS, tp=(1, 2, 4, 8), links=("all",))).axes[0]
    assert panel.get_yscale() == "linear"
    assert [text.get_text() for text in panel.get_yticklabels()] == ["1", "2", "4", "8"]


def test_nothing_is_marginal_where_a_margin_of_one_is_enough():
    axes = Axes(("llama3-70b",), ("h100-pcie5",), LENGTHS, bandwidth=(1e9, 1e11))
    figure = sweeps.draw(sweep(axes, Options(tiers=("dram",), links=1, min_margin=1.0)))
    assert "restore: 1x or more" in said(figure)
    assert "marginal" not in said(figure)


def test_the_legend_tells_where_each_path_crosses_also_beyond_the_axis():
    results = side_by_side("llama3-70b", "h100-pcie5", None, lines.lengths(1000, 1_000_000), Options(), variants=False)
    labels = said(crossovers.times(results))
    assert "infiniband-400g, 1 link of 50 GB/s, meets at 60" in labels


def test_short_axes_have_labels_of_one_kind():
    panel = crossovers.times(
        side_by_side("llama3-70b", "h100-pcie5", None, lines.lengths(10_000, 100_000), Options(), variants=False)
    )
    panel.draw_without_rendering()
    labels = [tick.get_text() for tick in panel.axes[0].get_xticklabels(which="both") if tick.get_text()]
    assert {"10k", "20k", "50k", "100k"} <= set(labels)
    assert not [label for label in labels if "10^" in label]


def test_sources_name_those_of_ranges_too():
    """The chapter gives the rate, kernel tables the range of the recompute time."""
    for figure in (crossovers.times(turns()), sweeps.draw(grid(tokens=LENGTHS))):
        assert "aiconfigurator" in " ".join(said(figure))


def test_crossovers_are_ringed_with_their_lengths():
    axes = crossovers.times(turns()).axes[0]
    assert {text.get_text() for text in axes.texts} == {"53-60, 2 paths"}  # InfiniBand over 8 links and over 1
