"""A number from the world carries its source."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc import units
from kvcalc.errors import UserError
from kvcalc.profiles import sources
from kvcalc.profiles.sources import Context, Figure, Range, Source

SHEET = Source("Data sheet", "https://example.com/sheet.pdf", "datasheet", date(2026, 11, 29))
PAPER = Source("A paper", "https://example.com/paper.pdf", "paper", date(2026, 11, 29), note="Table 2.")


def context() -> Context:
    return Context({"sheet": SHEET, "a-paper_2.0+": PAPER})


@pytest.mark.parametrize("text", ["7 GB/s [sheet]", "7GB/s[sheet]", "  7 GB/s  [sheet]  ", "56 Gb/s [sheet]"])
def test_a_figure_is_a_quantity_and_the_key_of_its_source(text: str):
    assert sources.figure(text, context(), units.rate) == Figure(7e9, SHEET)


def test_a_key_may_have_the_characters_of_a_version():
    assert sources.figure("1 s [a-paper_2.0+]", context(), units.seconds).source == PAPER


@pytest.mark.parametrize(
    "raw",
    [7, 7.0, True, None, "7", "7 GB/s", "7 GB/s []", "[sheet]", "7 GB/s [sheet", "7 GB/s sheet]", ["7 GB/s", "sheet"]],
)
def test_a_number_without_its_source_is_refused(raw: object):
    with pytest.raises(UserError, match="does not name its source; write one like '55 GB/s"):
        sources.figure(raw, context(), units.rate)


def test_two_sources_of_one_figure_are_refused():
    with pytest.raises(UserError):
        sources.figure("7 GB/s [sheet] [sheet]", context(), units.rate)


def test_a_source_without_a_unit_before_it_is_refused():
    with pytest.raises(UserError, match="'7' is not a rate"):
        sources.figure("7 [sheet]", context(), units.rate)


def test_an_unknown_key_is_refused_with_those_that_are_listed():
    with pytest.raises(UserError, match=r"source 'shet' is not listed under 'sources'; listed: a-paper_2.0\+, sheet"):
        sources.figure("7 GB/s [shet]", context(), units.rate)


@pytest.mark.parametrize("key", [5, None, True, ["sheet"]])
def test_what_is_no_text_is_no_key(key: object):
    with pytest.raises(UserError, match="is not listed"):
        context().cite(key)


def test_a_source_is_unused_until_a_figure_cites_it():
    found = context()
    assert found.unused == ["a-paper_2.0+", "sheet"]
    sources.figure("7 GB/s [sheet]", found, units.rate)
    assert found.unused == ["a-paper_2.0+"]
    found.cite("a-paper_2.0+")
    assert found.unused == []


def test_a_fast_path_has_the_high_figure_and_a_slow_one_the_low():
    known = Range(Figure(1.0, SHEET), Figure(2.0, SHEET), Figure(3.0, PAPER))
    assert [known.at(corner) for corner in ("fast", "typical", "slow")] == [3.0, 2.0, 1.0]


def test_a_range_lists_each_figure_once_and_the_usual_first():
    usual, high = Figure(2.0, SHEET), Figure(3.0, PAPER)
    assert Range(usual, usual, high).figures == (usual, high)
    assert sources.exactly(usual).figures == (usual,)


@given(value=st.floats(min_value=0, max_value=1e12))
def test_one_figure_is_the_same_at_every_corner(value: float):
    only = sources.exactly(Figure(value, SHEET))
    assert {only.at(corner) for corner in ("fast", "typical", "slow")} == {value}


def test_an_option_is_a_source_of_its_own_kind():
    found = sources.given("--bandwidth dram=50 GB/s")
    assert (found.basis, found.address) == ("given", "--bandwidth dram=50 GB/s")
