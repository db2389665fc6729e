"""The figure of `curve`."""

from pathlib import Path

import pytest
from matplotlib.text import Text

from kvcalc.answers import curve as question
from kvcalc.answers.options import Options
from kvcalc.answers.placement import Placing
from kvcalc.plots import curve as plots
from kvcalc.plots import figure as figures
from kvcalc.profiles import catalog


@pytest.fixture(scope="module")
def answer(data):
    placing = Placing(catalog.model("llama3-70b"), catalog.machine("h100-pcie5"), Options())
    path = data / "mooncake_synthetic.jsonl.gz"
    return question.of(question.load(path), str(path), placing, steps=plots.STEPS)


def test_it_shows_every_point_of_the_curve_and_its_ceiling(answer):
    axes = plots.draw(answer).axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert lines["tokens hit"].get_xdata().tolist() == [point.capacity_tokens for point in answer.points]
    assert lines["tokens hit"].get_ydata()[-1] == pytest.approx(100 * answer.ceiling.token_rate)
    assert lines["ceiling of any cache"].get_ydata()[0] == pytest.approx(100 * answer.ceiling.token_rate)
    assert lines["knee"].get_xdata()[0] == answer.knee.capacity_tokens
    assert len(answer.points) > 30


def test_it_names_axes_tiers_and_sources(answer):
    said = " ".join(text.get_text() for text in plots.draw(answer).findobj(Text))
    for words in ("capacity (tokens)", "hit rate (%)", "1/(1-h)", "HBM", "dram-pcie5", "tail-first", "MLPerf"):
        assert words in said


def test_without_a_model_there_are_no_tiers(data):
    path = data / "mooncake_arxiv_excerpt_1178625ms.jsonl"
    said = " ".join(text.get_text() for text in plots.draw(question.curve(path)).findobj(Text))
    assert "HBM" not in said


def test_the_same_figure_is_the_same_file(answer):
    first, second = (figures.drawn(lambda: plots.draw(answer), Path("curve.svg")) for _ in range(2))
    assert first == second
