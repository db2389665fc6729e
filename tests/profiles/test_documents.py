"""A profile is read strictly, and what is wrong with it is said in one line: file, line, field, reason."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.profiles import documents
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.hardware import Curves, Node, Tier
from kvcalc.profiles.model import Model

TIER = """\
# a comment
kind: tier
name: shelf
title: A shelf
medium: nvme
path: PCIe 4.0
links: per-node
read:
  bandwidth: 7 GB/s [sheet]
  latency: 100 us [sheet]
sources:
  sheet:
    title: "Data sheet"
    address: "https://example.com/sheet.pdf"
    basis: datasheet
    checked: 2026-11-29
"""

MODEL = """\
name: small
title: Small
source: config
context: 4096
hidden: 64
vocabulary: 100
tied: true
groups:
  - {kind: full, layers: 2, heads: 4, kv_heads: 2, key_width: 16, value_width: 16}
feed_forward:
  - {layers: 2, width: 256}
sources:
  config:
    title: "config.json"
    address: "https://example.com/config.json"
    basis: config
    checked: 2026-11-29
"""

NODE = """\
kind: node
name: machine
title: A machine
accelerator: h100-sxm
gpus: 8
tiers:
  - tier: shelf
    bandwidth: {low: '5 GB/s [sheet]', typical: '7 GB/s [sheet]', high: '8 GB/s [sheet]'}
prefill:
  - models: [small]
    tp: 8
    weights: fp8
    kv_bits: 16
    source: sheet
    points: {1000: 50 ms, 2000: 90 ms}
sources:
  sheet:
    title: "Data sheet"
    address: "https://example.com/sheet.pdf"
    basis: datasheet
    checked: 2026-11-29
"""

CURVES = """\
kind: curves
name: h100-sxm
title: Curves
live: 13 % [sheet]
curves:
  - models: [small]
    tp: 8
    weights: fp8
    kv_bits: 16
    source: sheet
    points: {1000: 50 ms, 2000: 90 ms}
sources:
  sheet:
    title: "Data sheet"
    address: "https://example.com/sheet.pdf"
    basis: measured
    checked: 2026-11-29
"""

Refused = Callable[[type[Profile], str | bytes], str]


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """What is said of a file with this text, after the file's name."""

    def reason(kind: type[Profile], text: str | bytes) -> str:
        path = tmp_path / "it.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        with pytest.raises(UserError) as refusal:
            documents.load(kind, path)
        said = str(refusal.value)
        assert said.startswith(f"{path}: ")
        assert len(said.splitlines()) == 1
        return said.removeprefix(f"{path}: ")

    return reason


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def test_a_good_file_is_a_profile_and_its_sources_survive(tmp_path: Path):
    path = tmp_path / "shelf.yaml"
    path.write_text(TIER)
    tier = documents.load(Tier, path)
    assert (tier.name, tier.title, tier.medium, tier.links) == ("shelf", "A shelf", "nvme", "per-node")
    assert tier.read.bandwidth.typical.value == 7e9
    source = tier.read.bandwidth.typical.source
    assert (source.title, source.basis, source.checked) == ("Data sheet", "datasheet", date(2026, 11, 29))
    assert tier.sources == {"sheet": source}


def test_a_range_has_a_figure_for_each_corner(tmp_path: Path):
    path = tmp_path / "machine.yaml"
    path.write_text(NODE)
    bandwidth = documents.load(Node, path).tiers[0].bandwidth
    assert bandwidth is not None
    assert [bandwidth.at(corner) for corner in ("slow", "typical", "fast")] == [5e9, 7e9, 8e9]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("7 GB/s [sheet]", "7", "line 9: read.bandwidth: 7 does not name its source"),
        ("7 GB/s [sheet]", "7 GB/s", "line 9: read.bandwidth: '7 GB/s' does not name its source"),
        ("7 GB/s [sheet]", "7 [sheet]", "line 9: read.bandwidth: '7' is not a rate; write one like"),
        ("7 GB/s [sheet]", "7 GB [sheet]", "line 9: read.bandwidth: '7 GB' is not a rate; write one like"),
        ("7 GB/s [sheet]", "7 s [sheet]", "line 9: read.bandwidth: '7 s' is not a rate; write one like"),
        ("100 us [sheet]", "100 [sheet]", "line 10: read.latency: '100' is not a time; write one like"),
        ("7 GB/s [sheet]", "0 GB/s [sheet]", "line 9: read.bandwidth: '0 GB/s' must be above zero"),
        ("7 GB/s [sheet]", "-7 GB/s [sheet]", "line 9: read.bandwidth: '-7 GB/s' is not a rate"),
        ("7 GB/s [sheet]", "7 GB/s [shet]", "line 9: read.bandwidth: source 'shet' is not listed"),
        ("7 GB/s [sheet]", "", "line 9: read.bandwidth: None does not name its source"),
        ("  latency: ", "  latncy: ", "line 10: read.latncy: is not a key known here"),
        ("links: per-node\n", "", "line 1: links: is missing"),
        ("  bandwidth: 7 GB/s [sheet]\n", "", "line 9: read.bandwidth: is missing"),
        ("links: per-node", "links: per-rack", "line 7: links: "),
        ("medium: nvme", "medium: tape", "line 5: medium: "),
        ("name: shelf", "name: A Shelf", "line 3: name: "),
        ("path: PCIe 4.0", "path: ''", "line 6: path: "),
        ("basis: datasheet", "basis: rumour", "line 15: sources.sheet.basis: "),
        ("    basis: datasheet\n", "", "line 13: sources.sheet.basis: is missing"),
        ("checked: 2026-11-29", "checked: lately", "line 16: sources.sheet.checked: "),
        ("basis: datasheet", "basis: datasheet\n    colour: red", "line 16: sources.sheet.colour: is not a key known"),
    ],
)
def test_every_refusal_names_line_and_field(refused: Refused, old: str, new: str, said: str):
    assert refused(Tier, changed(TIER, old, new)).startswith(said)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("context: 4096", "context: true", "line 4: context: "),
        ("context: 4096", "context: 4096.0", "line 4: context: "),
        ("context: 4096", "context: '4096'", "line 4: context: "),
        ("context: 4096", "context: 0", "line 4: context: "),
        ("context: 4096", "context: -1", "line 4: context: "),
        ("context: 4096", "context: .inf", "line 4: context: "),
        ("kv_heads: 2", "kv_heads: true", "line 9: groups.0.kv_heads: "),
        ("kv_heads: 2, ", "", "line 9: groups.0.kv_heads: is missing"),
        ("value_width: 16", "value_width: 16, window: 4", "line 9: groups.0.window: is not a key known here"),
        ("kind: full", "kind: fll", "line 9: groups.0: "),
        ("kind: full, ", "", "line 9: groups.0: "),
        ("tied: true", "tied: 1", "line 7: tied: "),
        ("source: config", "source: confg", "line 3: source: source 'confg' is not listed under 'sources'; listed"),
        ("width: 256", "width: 2.5", "line 11: feed_forward.0.width: "),
        (
            "  - {kind: full, layers: 2, heads: 4, kv_heads: 2, key_width: 16, value_width: 16}",
            "  []",
            "line 9: groups: ",
        ),
    ],
)
def test_a_count_is_a_whole_number_and_nothing_else(refused: Refused, old: str, new: str, said: str):
    assert refused(Model, changed(MODEL, old, new)).startswith(said)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("path: PCIe 4.0", "path: NO", "path"),  # YAML 1.1 reads false
        ("path: PCIe 4.0", "path: 12:30", "path"),  # 750, in base 60
        ("name: shelf", "name: on", "name"),
        ("7 GB/s [sheet]", "1e9", "read.bandwidth"),  # text to PyYAML, a number to others
        ("100 us [sheet]", "12:30", "read.latency"),
        ("100 us [sheet]", "NO", "read.latency"),
    ],
)
def test_what_yaml_takes_for_something_else_is_refused(refused: Refused, old: str, new: str, field: str):
    assert f": {field}: " in refused(Tier, changed(TIER, old, new))


@pytest.mark.parametrize("trap", ["NO", "12:30", "1e9", "1e3", "2026-11-29", "010000"])
def test_a_count_that_yaml_reads_in_its_own_way_is_refused(refused: Refused, trap: str):
    """12:30 is 750 to YAML, 010000 is 4,096."""
    assert ": context: " in refused(Model, changed(MODEL, "context: 4096", f"context: {trap}"))


def test_only_true_and_false_are_switches(refused: Refused):
    assert ": tied: " in refused(Model, changed(MODEL, "tied: true", "tied: 'true'"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{low: '8 GB/s [sheet]', typical: '7 GB/s [sheet]'}", "low, typical and high are not in this order"),
        ("{typical: '7 GB/s [sheet]', high: '6 GB/s [sheet]'}", "low, typical and high are not in this order"),
        ("{low: '6 GB/s [sheet]', high: '8 GB/s [sheet]'}", "typical is required"),
        ("{typical: '7 GB/s [sheet]', most: '8 GB/s [sheet]'}", "a range has the keys low, typical and high"),
        ("{typical: '7 GB/s [sheet]', high: '8 GB/s'}", "'8 GB/s' does not name its source"),
        ("{typical: '7 GB/s [sheet]', high: 8}", "8 does not name its source"),
        ("[5, 7, 8]", "does not name its source"),
    ],
)
def test_a_range_has_low_typical_and_high_in_this_order(refused: Refused, text: str, said: str):
    found = refused(Tier, changed(TIER, "7 GB/s [sheet]", text))
    assert found.startswith("line 9: read.bandwidth: ")
    assert said in found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("50 ms", "50", "line 11: curves.0.points.1000: 50 is not a time with its unit"),
        ("50 ms", "50 MB", "line 11: curves.0.points.1000: '50 MB' is not a time"),
        ("50 ms", "0 ms", "line 11: curves.0.points.1000: "),
        ("50 ms", "-1 ms", "line 11: curves.0.points.1000: '-1 ms' is not a time"),
        ("{1000: 50 ms, 2000: 90 ms}", "{}", "line 11: curves.0.points: "),
        ("1000: 50 ms", "0: 50 ms", "line 11: curves.0.points.0"),
        ("1000: 50 ms", "1.5: 50 ms", "line 11: curves.0.points.1.5"),
        ("kv_bits: 16", "kv_bits: 12", "line 9: curves.0.kv_bits: "),
        ("models: [small]", "models: []", "line 6: curves.0.models: "),
        ("    source: sheet\n", "", "line 6: curves.0.source: is missing"),
        ("13 %", "13", "line 4: live: '13' is not a percentage"),
    ],
)
def test_a_curve_has_times_by_tokens(refused: Refused, old: str, new: str, said: str):
    assert refused(Curves, changed(CURVES, old, new)).startswith(said)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("50 ms", "50", "line 15: prefill.0.points.1000: 50 is not a time with its unit"),
        ("weights: fp8", "weights: fp7", "line 12: prefill.0.weights: "),
        ("    tp: 8\n", "", "line 10: prefill.0.tp: is missing"),
    ],
)
def test_a_nodes_prefill_is_told_what_it_lacks_as_what_it_is(refused: Refused, old: str, new: str, said: str):
    """What has points is a curve: that it has no rate is no news."""
    assert refused(Node, changed(NODE, old, new)).startswith(said)


def test_the_first_finding_is_told_with_how_many_more_there_are(refused: Refused):
    text = changed(changed(MODEL, "hidden: 64", "hidden: none"), "vocabulary: 100", "vocabulary: many")
    assert refused(Model, text).endswith("(and 1 more)")


def test_a_finding_is_counted_once(refused: Refused):
    """A group that is wrong does not leave the list of groups empty."""
    assert "more)" not in refused(Model, changed(MODEL, "kv_heads: 2, ", ""))


UNUSED = TIER + "  other: {title: A paper, address: https://example.com, basis: paper, checked: 2026-11-29}\n"


def test_a_source_that_no_figure_uses_is_refused_with_its_place(refused: Refused):
    assert refused(Tier, UNUSED) == "line 17: sources.other: is used by no figure; use it or take it out"


@pytest.mark.parametrize("field", ["title", "address"])
def test_a_source_without_a_name_is_no_source(refused: Refused, field: str):
    old = next(line for line in TIER.splitlines() if line.startswith(f"    {field}: "))
    assert f": sources.sheet.{field}: " in refused(Tier, changed(TIER, old, f"    {field}: ''"))


def test_a_file_cannot_claim_that_a_number_was_given_as_an_option(refused: Refused):
    assert ": sources.sheet.basis: " in refused(Tier, changed(TIER, "basis: datasheet", "basis: given"))


def test_a_profile_without_sources_is_refused(refused: Refused):
    head = TIER[: TIER.index("sources:")]
    assert "read.bandwidth: source 'sheet' is not listed under 'sources'; listed: none" in refused(Tier, head)
    assert "read.bandwidth: '7 GB/s' does not name its source" in refused(Tier, head.replace(" [sheet]", ""))


def test_a_node_that_only_names_others_has_no_figures_and_needs_no_sources(tmp_path: Path):
    path = tmp_path / "machine.yaml"
    path.write_text("kind: node\nname: machine\ntitle: M\naccelerator: h100-sxm\ngpus: 8\ntiers: [{tier: nvme-gen4}]\n")
    assert documents.load(Node, path).gpus == 8


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "heads: 4, kv_heads: 2",
            "heads: 3, kv_heads: 2",
            "line 9: groups.0.full: 2 KV heads don't divide 3 query heads",
        ),
        (
            "width: 256",
            "width: 256, experts: 4, top_k: 8",
            "line 11: feed_forward.0: a token can't pass 8 of 4 experts",
        ),
        ("context: 4096", "context: 10000000000000", "line 4: context: should be less than or equal to 1000000000000"),
        ("title: Small", "title: ' '", "line 2: title: must be text on one line"),
        ("name: small", "name: My Model", "line 1: name: has letters that a name can't have"),
        ("kind: full", "kind: ful", "line 9: groups.0: kind 'ful' is none of 'full', 'sliding'"),
        ("kind: full, ", "", "line 9: groups.0: has no 'kind'"),
        ("layers: 2, heads", "layer: 2, heads", "line 9: groups.0.layer: is not a key known here (and 1 more)"),
    ],
)
def test_what_can_not_be_is_refused_in_plain_words(refused: Refused, old: str, new: str, said: str):
    assert refused(Model, changed(MODEL, old, new)).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TIER + "name: again\n", "line 17: key 'name' is given twice"),
        (changed(TIER, "  latency: 100 us", "  bandwidth: 8 GB/s"), "line 10: key 'bandwidth' is given twice"),
        (TIER + "true: 1\nyes: 2\n", "line 18: key True is given twice"),
        (changed(TIER, "title: A shelf", "title: [A shelf"), "line 5: "),
        (changed(TIER, "title: A shelf", "title: A: shelf"), "line 4: mapping values are not allowed"),
        (changed(TIER, "title: A shelf", "\ttitle: A shelf"), "line 4: "),
        (changed(TIER, "title: A shelf", "title: *shelf"), "line 4: "),
        (changed(TIER, "title: A shelf", "title: !!python/object:os.system ls"), "line 4: could not determine a con"),
        ("? [a, b]\n: c\n", "line 1: a key must be plain text"),
        ("a: b\n---\nc: d\n", "line 2: "),
        ("[" * 100_000, "line 1: "),
    ],
)
def test_what_is_not_good_yaml_is_refused_with_its_line(refused: Refused, text: str, said: str):
    assert refused(Tier, text).startswith(said)


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n- b\n", "just text\n", "42\n", "null\n"])
def test_what_holds_no_keys_and_values_is_no_profile(refused: Refused, text: str):
    assert "holds no keys and values" in refused(Tier, text)


@pytest.mark.parametrize("when", ["2026-13-45", "2026-02-30"])
def test_a_day_that_does_not_exist_is_refused_with_its_line(refused: Refused, when: str):
    assert refused(Tier, changed(TIER, "2026-11-29", when)).startswith("line 16: ")


def test_a_file_that_is_not_utf_8_is_refused(refused: Refused):
    assert refused(Tier, TIER.replace("A shelf", "Ein Brett für Bücher").encode("latin-1")) == (
        "is not a text file in UTF-8"
    )


def test_a_file_with_control_characters_is_refused(refused: Refused):
    assert "not allowed" in refused(Tier, TIER.replace("A shelf", "A \x07shelf"))


def test_a_file_too_long_for_a_profile_is_refused(refused: Refused):
    assert refused(Tier, TIER + "#" * 1_000_000).endswith("bytes long, too long for a profile")


def test_a_folder_is_no_profile(tmp_path: Path):
    with pytest.raises(UserError) as refusal:
        documents.load(Tier, tmp_path)
    assert str(refusal.value) == f"{tmp_path}: is not a plain file"


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(UserError) as refusal:
        documents.load(Tier, tmp_path / "none.yaml")
    assert str(refusal.value) == f"{tmp_path / 'none.yaml'}: no such file or directory"


def test_a_long_value_does_not_make_a_long_line(refused: Refused):
    said = refused(Tier, changed(TIER, "7 GB/s [sheet]", f"[{'a, ' * 5000}b]"))
    assert len(said) < 1000


@pytest.mark.parametrize("value", ["!!bool x", "!!int [1]", "!!timestamp [1]", "!!map [1]"])
def test_a_value_that_does_not_suit_its_tag_is_refused(tmp_path: Path, value: str):
    path = tmp_path / "odd.yaml"
    path.write_text(f"name: {value}\n")
    with pytest.raises(UserError, match="leave the tag out"):
        documents.load(Tier, path)


def test_many_aliases_of_aliases_are_quoted_in_no_time(tmp_path: Path):
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    path = tmp_path / "bomb.yaml"
    path.write_text("a0: &a0 [x]\n" + "\n".join(levels) + "\nsource: *a8\nname: [*a8]\n")
    with pytest.raises(UserError) as refusal:
        documents.load(Model, path)
    assert len(str(refusal.value)) < 500


def test_a_node_with_a_tier_twice_is_refused(tmp_path: Path):
    path = tmp_path / "machine.yaml"
    path.write_text(NODE.replace("tiers:", "tiers:\n  - tier: nvme-gen5\n  - tier: nvme-gen5"))
    with pytest.raises(UserError, match="tier 'nvme-gen5' is listed twice"):
        documents.load(Node, path)
