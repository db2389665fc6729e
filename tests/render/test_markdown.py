"""Markdown: it renders as tables wherever it is pasted, whatever stands in the cells.

The judge is markdown-it, the parser that rich brings along, with GitHub's tables and strikethrough.
"""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kvcalc import Options, load_model
from kvcalc.answers.margin import margins
from kvcalc.render import markdown
from kvcalc.tables import margin as tables
from kvcalc.tables.page import Cell, Column, Lines, Page, Table

GITHUB = MarkdownIt("commonmark").enable("table").enable("strikethrough")
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=30)
NASTY = st.sampled_from([
    "a | b", "|", "||", "\\", "\\|", "a\\", "`x`", "*bold*", "_it_", "__init__", "a_b_c", "<b>", "<!-- -->", "&amp;",
    "[x](y)", "![x](y)", "[x]", "~~gone~~", "~5 to ~6", "#", "# title", "- item", "1. one", "> quote", "---", ":-:",
    "https://a.example/b_c_d", "3 < 4 > 2", "$5", "", " ", "a\nb", "a b",
])  # fmt: skip


def page_of(*blocks):
    table = next((block for block in blocks if isinstance(block, Table)), Table("", (), ()))
    return Page("Title", "Summary.", blocks, lambda: table)


def shown(text):
    """Tables as lists of rows of cell texts, as a browser would show them; and the texts of list items."""
    found, items, rows, listed = [], [], None, False
    tokens = GITHUB.parse(text)
    for token, following in pairwise(tokens):
        if token.type in ("bullet_list_open", "ordered_list_open", "heading_open"):
            listed = token.type != "heading_open"
        if token.type == "table_open":
            listed, rows = False, []
            found.append(rows)
        elif token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(plain(following))
        elif token.type == "inline" and listed:
            items.append(plain(token))
        elif token.type == "table_close":
            rows = None
    return found, items


def plain(inline):
    """What is read: text with its escapes taken off; markup shows as what it is."""
    kinds = {
        "text": lambda token: token.content,
        "text_special": lambda token: token.content,
        "softbreak": lambda _: " ",
    }
    return "".join(kinds[token.type](token) if token.type in kinds else f"<{token.type}>" for token in inline.children)


def squeezed(text):
    return " ".join(text.split())


@st.composite
def a_table(draw):
    columns = draw(st.integers(1, 5))
    cell = TEXT | NASTY
    headings = [Column(draw(cell), f"key{place}", draw(st.booleans())) for place in range(columns)]
    rows = draw(st.lists(st.tuples(*[cell.map(Cell)] * columns), max_size=4))
    return Table(draw(cell), tuple(headings), tuple(rows))


@settings(max_examples=200, deadline=None)
@given(a_table())
def test_any_cell_is_read_as_it_was_written_in_its_own_column(table):
    found, _ = shown(markdown.render(page_of(table)))
    expected = [[column.title for column in table.columns], *([cell.text for cell in row] for row in table.rows)]
    assert [[squeezed(cell) for cell in row] for row in found[0]] == [
        [squeezed(cell) for cell in row] for row in expected
    ]


@settings(max_examples=200, deadline=None)
@given(a_table())
def test_rows_have_equal_counts_of_columns_and_line_up(table):
    lines = [line for line in markdown.render(page_of(table)).split("\n") if line.startswith("|")]
    assert len(lines) == 2 + len(table.rows)
    assert {len(re.sub(r"\\.", "", line).split("|")) - 2 for line in lines} == {len(table.columns)}
    assert len({len(line) for line in lines}) == 1


@settings(max_examples=200, deadline=None)
@given(st.lists((TEXT | NASTY).map("Said: {}.".format), min_size=1, max_size=4), st.booleans())
def test_any_sentence_of_a_list_is_read_as_it_was_written(sentences, numbered):
    _, items = shown(markdown.render(page_of(Lines("Title", tuple(sentences), numbered))))
    assert [squeezed(item) for item in items] == [squeezed(sentence) for sentence in sentences]


def test_bar_is_escaped_and_not_taken_for_a_border():
    table = Table("T", (Column("a|b", "a"), Column("c", "c")), ((Cell("x | y"), Cell("z")),))
    out = markdown.render(page_of(table))
    assert "| a\\|b   | c   |" in out
    assert "| x \\| y | z   |" in out


def test_numbers_are_aligned_to_the_right():
    table = Table(
        "T", (Column("Name", "name"), Column("Time", "time_s", number=True)), ((Cell("a"), Cell("5 ms", 0.005)),)
    )
    assert "| Name | Time |\n| ---- | ---: |\n| a    | 5 ms |\n" in markdown.render(page_of(table))


def test_blocks_stand_apart_by_one_empty_line_so_that_tables_are_tables():
    table = Table("T", (Column("a", "a"),), ((Cell("1"),),))
    out = markdown.render(page_of(table, Lines("L", ("one", "two")), Lines("N", ("one", "two"), numbered=True)))
    assert out == (
        "## Title\n\nSummary.\n\n### T\n\n| a   |\n| --- |\n| 1   |\n"
        "\n### L\n\n- one\n- two\n\n### N\n\n1. one\n2. two\n"
    )


def test_line_break_in_a_cell_does_not_end_the_row():
    for end in ("\n", "\r", "\r\n"):
        table = Table("T", (Column("a", "a"), Column("b", "b")), ((Cell(f"one{end}two"), Cell("three")),))
        found, _ = shown(markdown.render(page_of(table)))
        assert found == [[["a", "b"], ["one two", "three"]]]


@pytest.mark.parametrize("nodes", [["h100-pcie5"], ["h100-pcie5", "b200-pcie5", "mi300x-pcie5"]])
def test_answer_renders_as_its_own_tables(nodes):
    page = tables.page(margins(load_model("llama3-70b"), nodes, 20_000, Options())[0], steps=True)
    found, items = shown(markdown.render(page))
    expected = [block for block in page.blocks if isinstance(block, Table)]
    assert len(found) == len(expected) >= 4
    for rows, table in zip(found, expected, strict=True):
        assert rows == [
            [column.title for column in table.columns],
            *([cell.text for cell in row] for row in table.rows),
        ]
    sentences = [line for block in page.blocks if isinstance(block, Lines) for line in block.lines]
    assert [squeezed(item) for item in items] == [squeezed(line) for line in sentences]
