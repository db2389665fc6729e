"""Text for a terminal: as wide as it is, and never a cell cut."""

import os
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from kvcalc import Options, load_model
from kvcalc.answers.margin import margins
from kvcalc.profiles import places
from kvcalc.profiles.hardware import Node
from kvcalc.render import text
from kvcalc.tables import margin as tables
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

RULE = "─━"  # drawn under headings
USUAL = st.sampled_from([
    "59.6 ms", "3.28 GB (3.05 GiB)", "163,840 B", "55 GB/s", "recompute, but restore at the high end",
    "6.7x (4.9x to 14x)", "infiniband-400g", "PCIe 5.0 x16, 8 links", "[bold]x[/bold]", "[red]", "a [link=b]c[/link]",
    ":smile:", "42,715 tok/s", "below 225, from 187,000", "never", "-", "10 us", "1", "~/x_y|z\\", "",
])  # fmt: skip
PRINTABLE = st.characters(codec="ascii", min_codepoint=33, max_codepoint=126)
ANY = st.characters(codec="utf-8", exclude_categories=["C", "Z", "M"], exclude_characters=RULE)
WORDS = st.lists(st.text(PRINTABLE, min_size=1, max_size=18) | st.text(ANY, min_size=1, max_size=12), max_size=5).map(
    " ".join
)
WIDTHS = st.integers(40, 200)


def page_of(*blocks):
    table = next((block for block in blocks if isinstance(block, Table)), Table("", (), ()))
    return Page("", "", blocks, lambda: table)


def cells_of(table):
    return [[column.title, *(row[place].text for row in table.rows)] for place, column in enumerate(table.columns)]


def letters(*texts):
    return Counter(letter for each in texts for letter in each if not letter.isspace() and letter not in RULE)


def longest_word(texts):
    return max((cell_len(word) for each in texts for word in each.split()), default=1)


@st.composite
def a_table(draw, cell):
    columns = draw(st.integers(1, 8))
    headings = [Column(draw(cell), f"key{place}", draw(st.booleans())) for place in range(columns)]
    rows = draw(st.lists(st.tuples(*[cell.map(Cell)] * columns), max_size=4))
    return Table("", tuple(headings), tuple(rows))


@settings(max_examples=150, deadline=None)
@given(a_table(USUAL | WORDS), WIDTHS)
def test_no_letter_of_a_cell_is_ever_lost(table, width):
    out = text.render(page_of(table), width, colour=False)
    texts = [each for column in cells_of(table) for each in column]
    assert letters(out) == letters(*texts)


@settings(max_examples=150, deadline=None)
@given(a_table(USUAL | WORDS), WIDTHS)
def test_where_the_longest_words_fit_no_word_is_broken_and_no_line_too_wide(table, width):
    columns = cells_of(table)
    needed = sum(map(longest_word, columns)) + len(columns) - 1
    width = max(width, needed)
    out = text.render(page_of(table), width, colour=False)
    for column in columns:
        for each in column:
            for word in each.split():
                assert word in out
    assert max(map(cell_len, out.split("\n"))) <= width


@settings(max_examples=150, deadline=None)
@given(st.lists(USUAL | WORDS, min_size=1, max_size=4), st.booleans(), WIDTHS)
def test_sentences_keep_every_word_and_every_letter(sentences, numbered, width):
    out = text.render(page_of(Lines("", tuple(sentences), numbered)), width, colour=False)
    marks = [f"{number}." if numbered else "-" for number in range(1, len(sentences) + 1)]
    assert letters(out) == letters(*sentences, *marks)
    if longest_word(sentences) + 5 <= width:
        assert all(word in out for each in sentences for word in each.split())
        assert max(map(cell_len, out.split("\n"))) <= width


@pytest.mark.parametrize("word", ["日本語の表", "é" * 9, "e\u0301e\u0301e\u0301", "👍👍👍"])
def test_wide_and_combined_letters_are_kept_whole(word):
    table = Table("", (Column("Name", "name"), Column("Other", "other")), ((Cell(word), Cell("x" * 20)),))
    for width in (40, 80):
        assert word in text.render(page_of(table), width, colour=False)


def test_markup_and_emoji_names_are_only_text():
    table = Table("", (Column("[bold]a[/bold]", "a"),), ((Cell("[red]b :smile: [/]"),),))
    out = text.render(page_of(table), 80, colour=False)
    assert "[bold]a[/bold]" in out
    assert "[red]b :smile: [/]" in out


def test_number_stays_with_its_unit_where_there_is_room():
    row = tuple(
        Cell(each) for each in ("dram-pcie5", "55 GB/s", "59.6 ms", "a sentence that has to be broken somewhere")
    )
    table = Table("", tuple(Column(title, title) for title in ("Tier", "Rate", "Time", "Said")), (row,))
    out = text.render(page_of(table), 48, colour=False)
    assert "55 GB/s" in out
    assert "59.6 ms" in out


def test_lines_have_no_spaces_at_their_ends_and_no_ellipsis():
    page = tables.page(margins(load_model("llama3-70b"), ["h100-pcie5"], 20_000, Options())[0], steps=True)
    for width in (40, 80, 120, 200):
        out = text.render(page, width, colour=False)
        assert "…" not in out
        assert not re.search(r"[ \t]$", out, re.MULTILINE)


def test_colour_is_only_there_when_it_is_asked_for_and_carries_nothing_alone():
    page = tables.page(margins(load_model("llama3-70b"), ["h100-pcie5"], 20_000, Options())[0])
    plain, coloured = (text.render(page, 120, colour=each) for each in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.split("\n")] == plain.split("\n")


@pytest.mark.parametrize("node", places.names(Node))
def test_verdicts_of_every_node_fit_80_columns_or_what_their_longest_words_need(node):
    page = tables.page(margins(load_model("llama3-70b"), [node], 20_000, Options(prefill=50_000.0))[0])
    columns = cells_of(next(block for block in page.blocks if block.title == "Verdicts"))
    width = max(80, sum(map(longest_word, columns)) + len(columns) - 1)
    out = text.render(page, width, colour=False)
    assert max(map(cell_len, out.split("\n"))) <= width
    for word in {word for column in columns for each in column for word in each.split()}:
        assert word in out


@pytest.mark.parametrize("width", [40, 48, 64, 80, 120, 200])
@pytest.mark.parametrize("nodes", [["h100-pcie5"], places.names(Node)], ids=["one node", "all nodes"])
def test_no_column_of_an_answer_is_lost_on_a_narrow_terminal(nodes, width):
    page = tables.page(margins(load_model("llama3-70b"), nodes, 20_000, Options(prefill=50_000.0))[0])
    for table in [block for block in page.blocks if isinstance(block, Table)]:
        out = text.render(page_of(table), width, colour=False)
        every = [each for column in cells_of(table) for each in column]
        assert letters(out) == letters(table.title, table.note, *every)


def test_environment_does_not_change_what_is_rendered(monkeypatch):
    page = tables.page(margins(load_model("llama3-70b"), ["h100-pcie5"], 20_000, Options())[0])
    expected = text.render(page, 100, colour=False)
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.setenv(name, "1" if name != "COLUMNS" else "33")
        assert text.render(page, 100, colour=False) == expected
        assert os.environ[name]
