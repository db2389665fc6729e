"""The page of `curve`."""

import pytest

from kvcalc.answers.curve import curve
from kvcalc.answers.options import Options
from kvcalc.answers.placement import Placing
from kvcalc.profiles import catalog
from kvcalc.tables import curve as tables
from kvcalc.tables.page import Table
from kvcalc.traces.reader import Reading


@pytest.fixture(scope="module")
def excerpt(data):
    return data / "mooncake_arxiv_excerpt_1178625ms.jsonl"


def table(page, title):
    (found,) = [block for block in page.blocks if isinstance(block, Table) and block.title == title]
    return found


def test_formats_stand_side_by_side(excerpt):
    placing = Placing(catalog.model("llama3-70b"), catalog.machine("h100-pcie5"), Options())
    found = table(tables.page(curve(excerpt, placing)), "Tiers on the curve")
    assert [column.title for column in found.columns[:4]] == ["Tier", "Size", "KV", "Tokens"]
    assert [row[0].text for row in found.rows] == ["HBM", "HBM", "dram-pcie5", "dram-pcie5", "nvme-gen4", "nvme-gen4"]
    assert [row[2].text for row in found.rows] == ["fp8", "bf16"] * 3
    assert len({column.key for column in found.columns}) == len(found.columns)


def test_without_a_model_there_are_neither_bytes_nor_tiers(excerpt):
    page = tables.page(curve(excerpt))
    assert "capacity_bytes" not in [column.key for column in table(page, "Hit rate by capacity").columns]
    assert [block.title for block in page.blocks] == ["Trace", "Hit rate by capacity", "Assumptions"]


def test_each_rate_is_named(excerpt):
    titles = [column.title for column in table(tables.page(curve(excerpt)), "Hit rate by capacity").columns]
    assert titles == ["Tokens", "Tokens hit", "Blocks hit", "Full blocks hit", "Tokens hit, warm", "1/(1-h)", ""]


def test_a_sample_shows_its_bound(excerpt):
    page = tables.page(curve(excerpt, reading=Reading(rate=0.5)))
    assert "95 % bound" in [column.title for column in table(page, "Hit rate by capacity").columns]


def test_csv_has_a_row_a_capacity_under_keys_of_the_json(excerpt):
    answer = curve(excerpt)
    flat = tables.page(answer).main()
    assert len(flat.rows) == len(answer.points)
    assert [column.key for column in flat.columns][:3] == ["mark", "capacity_tokens", "capacity_blocks"]
