"""Profiles are found by name or path, the user's own first, and a wrong name gets a suggestion."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.profiles import catalog, check, places
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.hardware import Accelerator, Curves, Engine, Fit, Node, Tier
from kvcalc.profiles.model import Model

SOURCES = """\
sources:
  sheet: {title: Data sheet, address: "https://example.com/sheet.pdf", basis: datasheet, checked: 2026-11-29}
"""

TIER = f"""\
kind: tier
name: shelf
title: A shelf
medium: nvme
path: PCIe 4.0
links: per-node
read:
  bandwidth: 7 GB/s [sheet]
{SOURCES}"""

NODE = f"""\
kind: node
name: machine
title: A machine
accelerator: h100-sxm
gpus: 8
tiers:
  - tier: shelf.yaml
    bandwidth: 6 GB/s [sheet]
  - tier: dram-pcie5
{SOURCES}"""

MODEL = (
    """\
name: llama3-70b
title: A model of my own
source: sheet
context: 10
hidden: 64
vocabulary: 100
groups:
  - {kind: full, layers: 2, heads: 4, kv_heads: 2, key_width: 16, value_width: 16}
"""
    + SOURCES
)


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_model_is_found_by_its_name():
    assert catalog.model("llama3-70b").huggingface == "meta-llama/Meta-Llama-3-70B"


@pytest.mark.parametrize("reference", ["LLAMA3-70B", "Llama3-70b"])
def test_a_model_is_found_in_any_case(reference: str):
    assert catalog.model(reference).name == "llama3-70b"


@pytest.mark.parametrize("reference", ["meta-llama/Meta-Llama-3-70B", "META-LLAMA/meta-llama-3-70b"])
def test_a_model_is_found_by_its_hugging_face_name(reference: str):
    assert catalog.model(reference).name == "llama3-70b"


@pytest.mark.parametrize(
    ("find", "reference", "said"),
    [
        (catalog.model, "llama3-7b", "no model 'llama3-7b'; did you mean 'llama3-70b'?"),
        (catalog.model, "DeepSeek V3", "no model 'DeepSeek V3'; did you mean 'deepseek-v3'?"),
        (catalog.machine, "h100-pcie", "no node 'h100-pcie'; did you mean 'h100-pcie5'? (it is of kind 'accelerator')"),
        (catalog.tier, "dram-pcie", "no tier 'dram-pcie'; did you mean 'dram-pcie5'?"),
        (catalog.engine, "vlm", "no engine 'vlm'; did you mean 'vllm'?"),
        (catalog.accelerator, "H100-SXM", "no accelerator 'H100-SXM'; did you mean 'h100-sxm'?"),
        (catalog.hardware, "hoper", "no hardware 'hoper'; did you mean 'hopper'?"),
        (catalog.model, "xyzzy", "no model 'xyzzy'; 'kvcalc models list' lists them"),
        (catalog.model, "", "no model ''; 'kvcalc models list' lists them"),
        (catalog.model, "nobody/nothing", "no model 'nobody/nothing'; 'kvcalc models list' lists them"),
        (catalog.machine, "xyzzy", "no node 'xyzzy'; 'kvcalc hardware list' lists them"),
        (catalog.hardware, "xyzzy", "no hardware 'xyzzy'; 'kvcalc hardware list' lists them"),
    ],
)
def test_a_wrong_name_is_told_the_closest_one(find: Callable[[str], object], reference: str, said: str):
    with pytest.raises(UserError) as refusal:
        find(reference)
    assert str(refusal.value) == said


@pytest.mark.parametrize("reference", ["../model_profiles/llama3-70b", "/etc/passwd", "a/b/c", "x" * 300])
def test_a_name_is_not_a_way_out_of_the_folder(reference: str):
    with pytest.raises(UserError, match="no model"):
        catalog.model(reference)


def test_a_name_that_ends_like_a_file_is_a_path(own: Path):
    path = put(own / "mine.yaml", MODEL)
    assert catalog.model(str(path)).title == "A model of my own"
    with pytest.raises(UserError, match=r"^none.yaml: no such file"):
        catalog.model("none.yaml")


def test_a_path_keeps_its_case(own: Path):
    with pytest.raises(UserError) as refusal:
        catalog.model(str(own / "None.YML"))
    assert "None.YML" in str(refusal.value)


def test_the_users_own_folder_comes_first(own: Path):
    put(own / "model_profiles" / "llama3-70b.yaml", MODEL)
    assert catalog.model("llama3-70b").title == "A model of my own"
    assert catalog.model("llama3-8b").title != "A model of my own"


def test_the_users_own_profiles_are_listed_among_the_shipped_ones(own: Path):
    before = places.names(Tier)
    put(own / "hardware_profiles" / "tiers" / "shelf.yaml", TIER)
    put(own / "hardware_profiles" / "tiers" / "notes.txt", "not a profile")
    assert set(places.names(Tier)) - set(before) == {"shelf"}
    assert places.names(Tier) == sorted(places.names(Tier))
    assert catalog.tier("shelf").title == "A shelf"
    with pytest.raises(UserError, match="did you mean 'shelf'"):
        catalog.tier("shelv")


def test_the_users_own_folder_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("KVCALC_PROFILES", str(tmp_path / "chosen"))
    assert places.personal() == tmp_path / "chosen"
    monkeypatch.delenv("KVCALC_PROFILES")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert places.personal() == tmp_path / "xdg" / "kvcalc"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert places.personal() == tmp_path / ".config" / "kvcalc"


def test_a_node_has_its_accelerator_and_its_tiers():
    machine = catalog.machine("h100-pcie5")
    assert machine.accelerator.name == machine.node.accelerator == "h100-sxm"
    assert [tier.name for tier in machine.tiers] == [use.tier for use in machine.node.tiers]


def test_a_tier_on_a_node_has_the_nodes_figures_and_keeps_the_rest():
    """The chapter's 55 GB/s beside the 55.43 GB/s of the tier profile."""
    alone = catalog.tier("dram-pcie5")
    (on_node,) = (tier for tier in catalog.machine("h100-pcie5").tiers if tier.name == "dram-pcie5")
    assert alone.read.bandwidth.typical.value == 55.43e9
    assert on_node.read.bandwidth.typical.value == 55e9
    assert on_node.read.bandwidth.typical.source.basis == "textbook"
    assert (on_node.read.per_copy, on_node.node_ceiling) == (alone.read.per_copy, alone.node_ceiling)


def test_a_node_may_name_a_tier_file_beside_it(own: Path, monkeypatch: pytest.MonkeyPatch):
    put(own / "hosts" / "shelf.yaml", TIER)
    node = put(own / "hosts" / "machine.yaml", NODE)
    found = catalog.machine(str(node))
    assert [tier.name for tier in found.tiers] == ["shelf", "dram-pcie5"]
    assert found.tiers[0].read.bandwidth.typical.value == 6e9
    monkeypatch.chdir(node.parent)
    assert catalog.machine("machine.yaml") == found


def test_a_node_may_change_every_figure_of_a_tier(own: Path):
    changes = {
        "title": "Our shelf",
        "bandwidth": "6 GB/s [sheet]",
        "write_bandwidth": "2 GB/s [sheet]",
        "latency": "50 us [sheet]",
        "node_ceiling": "30 GB/s [sheet]",
        "capacity": "4 TB [sheet]",
    }
    whole = TIER.replace("sources:", "  latency: 90 us [sheet]\nwrite:\n  bandwidth: 3 GB/s [sheet]\nsources:")
    put(own / "shelf.yaml", whole)
    uses = "".join(f"    {key}: {text}\n" for key, text in changes.items())
    plain = NODE.replace("    bandwidth: 6 GB/s [sheet]\n", "").replace("tiers:", "host_memory: 2 TB [sheet]\ntiers:")
    changed = plain.replace("  - tier: shelf.yaml\n", f"  - tier: shelf.yaml\n{uses}")
    kept = catalog.machine(str(put(own / "plain.yaml", plain))).tiers[0]
    found = catalog.machine(str(put(own / "changed.yaml", changed))).tiers[0]
    assert [figures(tier) for tier in (kept, found)] == [
        ("A shelf", 7e9, 3e9, 90e-6, None, None),
        ("Our shelf", 6e9, 2e9, 50e-6, 30e9, 4e12),
    ]


def figures(tier: Tier) -> tuple[str | float | None, ...]:
    """What a node may change of a tier."""
    write, latency, ceiling = tier.write, tier.read.latency, tier.node_ceiling
    return (
        tier.title,
        tier.read.bandwidth.typical.value,
        write.bandwidth.typical.value if write else None,
        latency.typical.value if latency else None,
        ceiling.typical.value if ceiling else None,
        tier.capacity.value if tier.capacity else None,
    )


def test_a_node_in_the_users_own_folder_may_name_the_users_own_tier(own: Path):
    put(own / "hardware_profiles" / "tiers" / "shelf.yaml", TIER)
    put(own / "hardware_profiles" / "nodes" / "machine.yaml", NODE.replace("shelf.yaml", "shelf"))
    assert [tier.name for tier in catalog.machine("machine").tiers] == ["shelf", "dram-pcie5"]


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("h100-pcie5", Node),
        ("dram-pcie5", Tier),
        ("h100-sxm", Accelerator),
        ("vllm", Engine),
        ("hopper", Fit),
    ],
)
def test_hardware_of_any_kind_is_found_by_its_name(reference: str, kind: type[Profile]):
    found = catalog.hardware(reference)
    assert type(found) is kind
    assert found.name == reference


def test_all_hardware_is_listed_with_its_kind():
    listed = catalog.all_hardware()[0]
    assert {word for word, _ in listed} == {"node", "tier", "accelerator", "engine", "fit", "curves", "budget"}
    assert len(listed) == sum(len(places.names(kind)) for kind in catalog.HARDWARE.values())
    assert all(type(profile) is catalog.HARDWARE[word] for word, profile in listed)


def test_an_accelerator_without_curves_has_none():
    assert catalog.curves("l4") is None
    curves = catalog.curves("h100-sxm")
    assert curves is not None
    assert curves.name == "h100-sxm"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Node, "h100-pcie5"),
        (Tier, "dram-pcie5"),
        (Accelerator, "h100-sxm"),
        (Engine, "vllm"),
        (Fit, "hopper"),
        (Curves, "h100-sxm"),
    ],
)
def test_a_file_of_any_kind_of_hardware_can_be_checked(kind: type[Profile], name: str, own: Path):
    path = places.shipped() / places.FOLDERS[kind] / f"{name}.yaml"
    copy = put(own / f"{name}.yaml", path.read_text())
    found = check.check(copy, catalog.HARDWARE)
    assert type(found) is kind
    assert found.name == name


def test_a_model_file_can_be_checked(own: Path):
    assert check.check(put(own / "mine.yaml", MODEL), {"model": Model}).title == "A model of my own"


@pytest.mark.parametrize("kind", ["", "kind: nod\n", "kind: 5\n", "kind: [node]\n", "kind: {node: 1}\n"])
def test_a_file_of_no_known_kind_is_told_the_kinds(own: Path, kind: str):
    path = put(own / "it.yaml", TIER.replace("kind: tier\n", kind))
    with pytest.raises(UserError, match=r"it.yaml: .*kind.*one of node, tier, accelerator, engine, fit, curves"):
        check.check(path, catalog.HARDWARE)


def test_a_checked_node_is_checked_with_the_files_it_names(own: Path):
    put(own / "shelf.yaml", TIER.replace("7 GB/s [sheet]", "7 [sheet]"))
    with pytest.raises(UserError, match=r"shelf.yaml: line 8: read.bandwidth: '7' is not a rate"):
        check.check(put(own / "machine.yaml", NODE), catalog.HARDWARE)


@pytest.mark.parametrize(
    ("text", "field", "suggestion"),
    [
        (NODE.replace("tier: dram-pcie5", "tier: dram-pcie"), "tiers.1.tier", "dram-pcie5"),
        (NODE.replace("h100-sxm", "h100-smx"), "accelerator", "h100-sxm"),
    ],
)
def test_a_node_that_names_what_is_not_there_is_told_file_and_field(own: Path, text: str, field: str, suggestion: str):
    put(own / "shelf.yaml", TIER)
    path = put(own / "machine.yaml", text)
    with pytest.raises(UserError, match=f"did you mean '{suggestion}'") as refusal:
        check.check(path, catalog.HARDWARE)
    assert str(refusal.value).startswith(f"{path}: ")
    assert field in str(refusal.value)
