"""Neutral tables: text for people and the plain number behind it."""

import pytest

from kvcalc.tables.page import Cell


@pytest.mark.parametrize(("cell", "raw"), [
    (Cell("59.6 ms", 0.0596), 0.0596),
    (Cell("restore"), "restore"),
    (Cell("0 s", 0), 0),  # a zero is a number
    (Cell("no", False), False),
    (Cell("never", ""), ""),
])  # fmt: skip
def test_raw_is_the_number_if_there_is_one_and_else_the_text(cell, raw):
    assert cell.raw == raw
    assert type(cell.raw) is type(raw)
