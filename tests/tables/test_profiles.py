"""Profiles as tables: every shipped one can be shown, with every source that its figures name."""

import pytest

from kvcalc.profiles import catalog, places
from kvcalc.profiles.model import Model
from kvcalc.tables import profiles
from kvcalc.tables.page import Table


def sources(page):
    (block,) = [block for block in page.blocks if block.title == "Sources"]
    return block.lines


@pytest.mark.parametrize("name", places.names(Model))
def test_every_model_can_be_shown_with_its_sources(name):
    found = catalog.model(name)
    page = profiles.model(found)
    assert len(sources(page)) == len(found.sources)
    for source, line in zip(found.sources.values(), sources(page), strict=True):
        assert source.title in line
        assert source.address in line


@pytest.mark.parametrize(
    ("kind", "name"), [(word, name) for word, kind in catalog.HARDWARE.items() for name in places.names(kind)]
)
def test_every_hardware_profile_can_be_shown_with_its_sources(kind, name):
    found = catalog.HARDWARE[kind]
    profile = {each.name: each for word, each in catalog.all_hardware()[0] if word == kind}[name]
    assert isinstance(profile, found)
    page = profiles.profile(profile)
    lines = sources(page)
    assert len(lines) == len(profile.sources)
    cited = {cell for block in page.blocks if isinstance(block, Table) for row in block.rows for cell in [row[-1].text]}
    for number, (source, line) in enumerate(zip(profile.sources.values(), lines, strict=True), 1):
        assert source.title in line
        assert source.address in line
        assert f"S{number}" in cited, (number, source.title)


def test_lists_have_a_row_for_every_profile():
    found = [catalog.model(name) for name in places.names(Model)]
    assert [row[0].text for row in profiles.models(found).main().rows] == places.names(Model)
    hardware = catalog.all_hardware()[0]
    assert len(profiles.hardware(hardware).main().rows) == len(hardware)


def test_bytes_of_a_windowed_model_are_split_into_a_slope_and_what_is_kept_once():
    # gpt-oss-120b: 18 full layers x 8 x 128 x 2 B a token; 18 sliding x 8 x 128 x 2 B x 128 tokens = 4,718,592 B
    page = profiles.models([catalog.model("gpt-oss-120b")])
    row = {column.key: cell.raw for column, cell in zip(page.main().columns, page.main().rows[0], strict=True)}
    assert row["bf16_bytes_per_token"] == 36_864
    assert row["bf16_constant_bytes"] == 4_718_592
    assert row["fp8_bytes_per_token"] == 18_432
