"""What ships is whole: every profile loads, is named after its file, and says where each number was read."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from kvcalc.profiles import catalog, documents, places
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.hardware import Accelerator, Curve, Curves, Engine, Fit, Node, Tier
from kvcalc.profiles.model import Model
from kvcalc.profiles.sources import Range

DATA = Path(__file__).resolve().parents[1] / "data"
FILES = [
    pytest.param(kind, path, id=f"{kind.__name__.lower()}-{path.stem}")
    for kind, folder in places.FOLDERS.items()
    for path in sorted((places.shipped() / folder).glob("*.yaml"))
]
EVERY = pytest.mark.parametrize(("kind", "path"), FILES)
FACTS: dict[str, dict[str, Any]] = yaml.safe_load((DATA / "accelerator_facts.yaml").read_text())["accelerators"]


def profiles(kind: type[Any]) -> list[Any]:
    return [catalog._load(kind, path.values[1]) for path in FILES if path.values[0] is kind]


def test_no_file_stands_where_nothing_reads_it():
    """A file in the wrong folder, or with another ending, would be left out in silence."""
    root = places.shipped()
    found = {path for top in ("model_profiles", "hardware_profiles") for path in (root / top).rglob("*.y*ml")}
    assert found == {each.values[1] for each in FILES}
    assert len(found) > 150


@EVERY
def test_every_profile_loads_and_is_named_after_its_file(kind: type[Profile], path: Path):
    assert documents.load(kind, path).name == path.stem


@EVERY
def test_every_profile_begins_with_a_schema_that_exists(kind: type[Profile], path: Path):
    first = path.read_text().splitlines()[0]
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert found is not None
    schema = (path.parent / found[1]).resolve()
    assert schema.is_file()
    assert schema.stem == kind.__name__.lower()


def test_the_schemas_are_those_of_the_classes(script: Callable[[str], ModuleType]):
    """`python scripts/write_schemas.py` writes them again."""
    made = script("write_schemas").schemas()
    assert len(made) == 8
    assert [path for path, text in made.items() if path.read_text() != text] == []


def test_the_curves_are_those_of_the_reference_rows(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """`python scripts/write_curves.py` writes them again."""
    writer = script("write_curves")
    monkeypatch.setattr(writer, "FOLDER", tmp_path)
    writer.main()
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text() for path in (places.shipped() / places.FOLDERS[Curves]).iterdir()}
    assert len(made) == 3


@EVERY
def test_every_source_is_named_and_can_be_found(kind: type[Profile], path: Path):
    for key, source in documents.load(kind, path).sources.items():
        assert source.basis != "given", key
        assert source.title.strip(), key
        assert "unnamed" not in source.title.lower(), key
        assert len(source.address.strip()) > 5, key
        assert "unnamed" not in source.address.lower(), key


@EVERY
def test_every_text_of_a_profile_is_one_line_without_control_characters(kind: type[Profile], path: Path):
    """They are printed in tables."""
    profile = documents.load(kind, path)
    texts = [profile.title, *profile.notes]
    texts += [text for each in profile.sources.values() for text in (each.title, each.address, each.note or "")]
    assert [text for text in texts if not text.isprintable() or text != text.strip()] == []


@pytest.mark.parametrize("name", FACTS)
def test_every_known_accelerator_has_a_profile_with_its_vendors_figures(name: str):
    known, gpu = FACTS[name], catalog.accelerator(name)
    devices = known.get("devices", 1)
    found = {
        "memory_gb": gpu.memory.value / 1e9,
        "gb_per_s": gpu.memory_bandwidth.value / 1e9,
        "bf16_tflops": gpu.peak.bf16.value / 1e12,
        "fp8_tflops": gpu.peak.fp8.value / 1e12 if gpu.peak.fp8 else None,
        "fp4_tflops": gpu.peak.fp4.value / 1e12 if gpu.peak.fp4 else None,
    }
    assert {key: value for key, value in found.items() if value is not None} == pytest.approx(
        {key: known[key] / devices for key in found if key in known}, rel=1e-9
    )


def test_the_accelerators_are_those_that_are_known_and_two_of_named_pages():
    assert {profile.name for profile in profiles(Accelerator)} - set(FACTS) == {"h20", "h800-sxm"}


@pytest.mark.parametrize("gpu", profiles(Accelerator), ids=lambda gpu: gpu.name)
def test_an_accelerator_reaches_at_most_its_peak_and_at_most_the_dense_one(gpu: Accelerator):
    """A sparse figure in the place of a dense one would be twice the rate of the next wider format once more."""
    if gpu.achieved and gpu.achieved.bf16:
        assert gpu.achieved.bf16.value < gpu.peak.bf16.value
    if gpu.achieved and gpu.achieved.fp8:
        assert gpu.peak.fp8 is not None
        assert gpu.achieved.fp8.value < gpu.peak.fp8.value
    if gpu.device_memory:
        assert 1 <= gpu.device_memory.value / gpu.memory.value < 1.07  # what is sold is a lower bound
    assert gpu.fit is None or catalog.fit(gpu.fit)


@pytest.mark.parametrize("node", profiles(Node), ids=lambda node: node.name)
def test_every_node_finds_what_it_names(node: Node):
    machine = catalog.machine(node.name)
    names = [tier.name for tier in machine.tiers]
    assert len(set(names)) == len(names)
    models = {name for entry in node.prefill for name in entry.models}
    assert models <= set(places.names(Model))
    assert all(entry.tp <= node.gpus for entry in node.prefill)


def test_every_curve_is_of_a_model_and_an_accelerator_that_ship():
    assert {curves.name for curves in profiles(Curves)} <= set(places.names(Accelerator))
    for curves in profiles(Curves):
        for curve in curves.curves:
            assert isinstance(curve, Curve)
            assert set(curve.models) <= set(places.names(Model))
            assert list(curve.points) == sorted(curve.points)
            assert list(curve.points.values()) == sorted(curve.points.values())  # longer prompts take longer


def everywhere() -> list[Tier]:
    return [*profiles(Tier), *(tier for node in profiles(Node) for tier in catalog.machine(node.name).tiers)]


def test_no_path_is_faster_than_its_line():
    for tier in everywhere():
        for direction in (tier.read, tier.write):
            if tier.line_rate and direction:
                assert direction.bandwidth.high.value <= tier.line_rate.value, tier.name


def test_every_range_is_in_order_on_every_node():
    for tier in everywhere():
        write = tier.write.bandwidth if tier.write else None
        for known in (tier.read.bandwidth, tier.read.latency, write, tier.node_ceiling, tier.pageable):
            if isinstance(known, Range):
                assert known.low.value <= known.typical.value <= known.high.value, tier.name


def test_memory_that_is_not_pinned_is_no_faster():
    for tier in everywhere():
        if tier.pageable:
            assert tier.pageable.typical.value <= tier.read.bandwidth.typical.value, tier.name


def test_models_of_the_same_geometry_have_the_same_layers():
    named = [(model, other) for model in profiles(Model) for other in model.same_geometry]
    assert named
    for model, other in named:
        twin = catalog.model(other)
        assert (model.groups, model.hidden, model.feed_forward) == (twin.groups, twin.hidden, twin.feed_forward)


def test_models_are_told_apart_by_their_hugging_face_names():
    found = [model.huggingface for model in profiles(Model) if model.huggingface]
    assert len(set(found)) == len(found)
    assert all(name.count("/") == 1 for name in found)


def test_every_engine_whose_costs_are_unknown_says_so():
    for engine in profiles(Engine):
        if engine.fixed is None:
            assert any("lower bound" in note for note in engine.notes), engine.name


def test_every_fraction_of_a_fit_is_one():
    """An efficiency above 100 % is no efficiency; the all-reduce links share more than one direction's rate."""
    for fit in profiles(Fit):
        for constants in (fit.named, fit.any):
            gemm = [constants.gemm.bf16, constants.gemm.fp8, constants.gemm.nvfp4]
            attention = [engine.attention_kv16 for engine in constants.engines.values()]
            assert all(0 < figure.value < 1 for figure in [*gemm, *attention] if figure), fit.name
