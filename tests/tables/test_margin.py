"""The tables of an answer to `margin`: what stands in their cells, in units that people read."""

import pytest

from kvcalc import Options, load_model
from kvcalc.answers.margin import margins
from kvcalc.tables import margin as tables
from kvcalc.tables.page import Lines, Table


def page(*nodes, model="llama3-70b", tokens=20_000, **options):
    return tables.page(margins(load_model(model), nodes or ["h100-pcie5"], tokens, Options(**options))[0])


def block(page, title):
    (found,) = [each for each in page.blocks if each.title.startswith(title)]
    return found


def rows(table):
    """The rows as dicts of text by heading."""
    return [{column.title: cell.text for column, cell in zip(table.columns, row, strict=True)} for row in table.rows]


def row_of(page, tier, path):
    (found,) = [row for row in rows(block(page, "Verdicts")) if row["Tier"] == tier and path in row["Path"]]
    return found


def test_chapter_stands_in_the_table_as_it_is_printed():
    # 400 ms against 59.6 ms is 6.7x; 3.2768 GB over 7 GB/s and 110 us is 468 ms, 0.85x; over 2 GB/s 1.64 s, 0.24x
    found = page()
    dram = row_of(found, "dram-pcie5", "1 link")
    assert (dram["Bandwidth"], dram["Fetch"], dram["Verdict"], dram["Fetch wins"]) == (
        "55 GB/s", "59.6 ms", "restore", "always",
    )  # fmt: skip
    assert dram["Margin"].startswith("6.7x")
    assert row_of(found, "nvme-gen4", "1 link")["Fetch"] == "468 ms"
    assert row_of(found, "nvme-gen4", "1 link")["Margin"].startswith("0.85x")
    assert row_of(found, "remote-store", "1 link")["Fetch"] == "1.64 s"
    assert row_of(found, "remote-store", "1 link")["Margin"].startswith("0.24x")


def test_verdict_that_changes_within_the_range_says_so_at_each_end():
    found = page()
    verdicts = {row["Tier"] + row["Path"]: row["Verdict"] for row in rows(block(found, "Verdicts"))}
    # NVMe: 730 ms measured, against 468. Store: 730 ms against 66.5 at 50 GB/s. InfiniBand: 400 ms against 139 at 23.75
    assert verdicts["nvme-gen4NVMe Gen4 x4, 1 link"] == "recompute, but marginal at the high end"
    assert verdicts["remote-storeremote store, 1 link"] == "recompute, but restore at the high end"
    assert verdicts["infiniband-400gInfiniBand NDR, 1 link"] == "restore, but marginal at the low end"
    assert verdicts["dram-pcie5PCIe 5.0 x16, 1 link"] == "restore"
    assert verdicts["ethernet-25gEthernet 25 Gb/s, 1 link"] == "recompute"


def test_verdict_that_changes_at_both_ends_says_both():
    # 1.818 s against the store's 3.28 s at 1 GB/s is 0.55x, 1.64 s at 2 is 1.1x, 66.5 ms at 50 is 27x
    found = page(prefill=11_000.0)
    verdict = row_of(found, "remote-store", "1 link")["Verdict"]
    assert verdict == "marginal, but recompute at the low end and restore at the high end"


def test_range_of_a_margin_is_left_out_where_there_is_none():
    found = page(prefill=50_000.0, bandwidth={"dram": 50e9}, latency={"dram": 0.0}, tiers=("dram",), links=1)
    (row,) = rows(block(found, "Verdicts"))
    assert row["Margin"] == "6.1x"  # 400 / 65.5 ms
    assert row["Verdict"] == "restore"


def test_lengths_at_which_fetching_wins_are_said_in_order():
    found = page()
    assert row_of(found, "nvme-gen4", "1 link")["Fetch wins"] == "never"
    assert row_of(found, "infiniband-400g", "1 link")["Fetch wins"] == "from 60"  # 1 ms / (20 us - 3.2768 us) = 59.8
    twice = row_of(page(prefill="model"), "remote-store", "1 link")["Fetch wins"]
    assert twice.startswith("below 2")  # near 225 and 187,000 by DESIGN.md
    assert ", from " in twice


def test_idle_links_are_said():
    row = row_of(page("h200-pcie5", model="deepseek-v3"), "dram-pcie5", "8 links")
    assert "busy" in row["Path"]
    assert "busy" not in row_of(page(), "dram-pcie5", "8 links")["Path"]


def test_summary_names_each_tier_once_by_its_best_path():
    summary = page().summary
    # 400 ms / 59.6 ms over one link, / 15.35 ms over eight; the disk's verdict changes within its range
    assert summary.startswith("Restore from dram-pcie5 (6.7x on 1 link, 26x on 8)")
    assert "recompute instead of nvme-gen4 (0.85x, not sure)" in summary
    for tier in ("dram-pcie5", "nvme-gen4", "remote-store", "infiniband-400g", "ethernet-25g"):
        assert summary.count(tier) == 1
    assert summary.endswith(".")


def test_restored_bytes_are_shown_in_both_units():
    (row,) = rows(block(page(), "Restored"))
    assert row["KV of the prefix"] == "3.28 GB (3.05 GiB)"  # 3,276,800,000 B
    assert row["Per token"] == "163,840 B"
    assert row["Per rank"] == "410 MB"
    assert row["Break-even"] == "8.19 GB/s"  # 3.2768 GB / 400 ms
    assert row["For 3x"] == "24.6 GB/s"


def test_ways_to_the_recompute_time_are_listed_with_the_used_one_first():
    found = rows(block(page(), "Recompute"))
    assert found[0] == {
        "Recompute time by": "rate in the node profile (used)",
        "Basis": "textbook",
        "Time": "400 ms",
        "Rate": "50,000 tok/s",
    }
    assert (found[1]["Basis"], found[1]["Time"]) == ("measured", "716 ms")  # the kernel tables


def test_flips_say_which_way_the_knob_turns():
    changes = {row["Path"]: row for row in rows(block(page(), "What would change"))}
    nvme = changes["nvme-gen4, 1 link"]
    assert nvme["Now"] == "recompute"
    (becomes,) = [text for title, text in nvme.items() if title.startswith("Becomes")]
    assert becomes.startswith("marginal if prefill is below 42,715 tok/s")
    assert " or bandwidth is above 8.19 GB/s" in becomes
    assert "27,952" in becomes  # the measured curve lies beyond: the verdict has turned already


def test_nodes_stand_side_by_side_with_their_names():
    found = page("h100-pcie5", "b200-pcie5", "gh200-nvlink-c2c", tp=1, prefill=50_000.0)
    names = {"h100-pcie5", "b200-pcie5", "gh200-nvlink-c2c"}
    for title in ("The best path", "Restored", "Recompute"):
        table = block(found, title)
        assert table.columns[0].key == "hardware"
        assert {row[0].text for row in table.rows} == names
    for name in names:
        assert block(found, f"Verdicts, {name}").rows
        assert block(found, f"What would change the verdict, {name}").rows


def test_what_is_said_of_some_nodes_names_them_and_what_is_said_of_all_does_not():
    found = page("p5.48xlarge", "p5en.48xlarge", tp=1, prefill=50_000.0)
    lines = block(found, "Assumptions").lines
    assert next(line for line in lines if "efa-3200g: 382 GB/s" in line).startswith("p5.48xlarge: ")
    assert next(line for line in lines if "efa-3200g: 304 GB/s" in line).startswith("p5en.48xlarge: ")
    assert lines[0].startswith("KV format fp8")


def test_recompute_times_of_different_bases_are_not_compared_without_a_word():
    assert "--prefill model" in block(page("h100-pcie5", "azure-nd-h100-v5"), "The best path").note
    assert block(page("h100-pcie5", "azure-nd-h100-v5", prefill="model"), "The best path").note == ""


def test_sources_are_numbered_once_and_every_number_is_cited():
    found = page()
    sources = block(found, "Sources").lines
    numbers = [line.split()[0] for line in sources]
    assert numbers == [f"S{number}" for number in range(1, len(sources) + 1)]
    assert len({line.split(" ", 1)[1] for line in sources}) == len(sources)
    cited = " ".join(block(found, "Assumptions").lines)
    assert all(f"[{number}" in cited or f", {number}]" in cited or f", {number}," in cited for number in numbers)


@pytest.mark.parametrize("model", ["llama3-70b", "deepseek-v3.2", "gpt-oss-120b", "qwen3-next-80b-a3b"])
def test_every_row_has_a_cell_for_every_column(model):
    for found in (
        page(model=model, tp=1, prefill=1e4),
        page("h100-pcie5", "b200-pcie5", model=model, tp=1, prefill=1e4),
    ):
        for each in (*found.blocks, found.main()):
            assert isinstance(each, Table | Lines)
            if isinstance(each, Table):
                assert {len(row) for row in each.rows} == {len(each.columns)}
                assert len({column.key for column in each.columns}) == len(each.columns)
