"""CSV: the main table in SI numbers, the unit in the key."""

import csv as reader
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvcalc
from kvcalc import Options
from kvcalc.answers.margin import margins
from kvcalc.render import csv
from kvcalc.tables import margin as tables
from kvcalc.tables.page import Cell, Column, Page, Rows, Table


def read(text):
    return list(reader.DictReader(io.StringIO(text)))


def test_numbers_are_those_of_the_answer_without_rounding():
    result = kvcalc.margin("llama3-70b", "h100-pcie5", 20_000)
    rows = read(csv.render(tables.page([result])))
    assert len(rows) == len(result.paths)
    for row, path in zip(rows, result.paths, strict=True):
        assert row["tier"] == path.tier
        assert row["verdict"] == path.verdict
        for key in ("bandwidth_bytes_per_s", "fetch_s", "margin", "split_s"):
            assert float(row[key]) == getattr(path, key)


def test_keys_carry_their_units():
    rows = read(csv.render(tables.page([kvcalc.margin("llama3-70b", "h100-pcie5", 20_000)])))
    assert {"tier", "path", "bandwidth_bytes_per_s", "fetch_s", "margin", "verdict", "crossovers", "split_s"} <= rows[
        0
    ].keys()


def test_several_nodes_have_a_column_that_tells_them_apart():
    results, _ = margins(kvcalc.load_model("llama3-70b"), ["h100-pcie5", "b200-pcie5"], 20_000, Options())
    rows = read(csv.render(tables.page(results)))
    assert {row["hardware"] for row in rows} == {"h100-pcie5", "b200-pcie5"}


def test_row_for_one_link_can_be_told_from_the_row_for_all():
    rows = read(csv.render(tables.page([kvcalc.margin("llama3-70b", "h100-pcie5", 20_000)])))
    assert len({(row["tier"], row["links"]) for row in rows}) == len(rows)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from('\n\t",;|'))


@given(st.lists(TEXT, min_size=1, max_size=5))
def test_any_cell_is_read_back_as_it_was_written(texts):
    columns = tuple(Column(f"Title {place}", f"key{place}") for place in range(len(texts)))
    table = Table("T", columns, (tuple(map(Cell, texts)),))
    out = csv.render(Page("P", "", (table,), lambda: table))
    keys, row = reader.reader(io.StringIO(out, newline=""))
    assert keys == [column.key for column in columns]
    assert row == texts


@pytest.mark.parametrize(
    ("value", "text"), [(0.0596, "0.0596"), (1e-6, "1e-06"), (55e9, "55000000000.0"), (7, "7"), (0, "0")]
)
def test_plain_number_stands_for_the_text_of_a_cell(value, text):
    table = Table("T", (Column("Time", "time_s"),), ((Cell("said otherwise", value),),))
    assert csv.render(Page("P", "", (table,), lambda: table)) == f"time_s\n{text}\n"


def test_rows_for_scripts_are_written_as_they_are():
    page = Page("P", "", (), lambda: Rows(("tokens", "way"), iter([(1000, "a, b"), (2000, None)])))
    assert csv.render(page) == 'tokens,way\n1000,"a, b"\n2000,\n'
