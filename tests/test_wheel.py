"""The wheel holds everything that the program reads."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROFILES = ("model_profiles", "hardware_profiles")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built with the tools at hand, without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def files(wheel: zipfile.ZipFile) -> set[str]:
    return set(wheel.namelist())


@pytest.mark.parametrize("top", PROFILES)
def test_the_wheel_holds_every_profile_and_every_schema(wheel: zipfile.ZipFile, top: str):
    """hatchling leaves out what .gitignore names, so the files are counted."""
    here = {f"kvcalc/{path.relative_to(ROOT)}" for path in (ROOT / top).rglob("*") if path.suffix in (".yaml", ".json")}
    assert {each for each in files(wheel) if each.startswith(f"kvcalc/{top}/")} == here
    assert len(here) > 40
    assert any(each.startswith(f"kvcalc/{top}/schemas/") for each in here)


def test_the_profiles_in_the_wheel_are_those_of_the_checkout(wheel: zipfile.ZipFile):
    for each in files(wheel):
        if each.startswith(tuple(f"kvcalc/{top}/" for top in PROFILES)):
            assert wheel.read(each) == (ROOT / each.removeprefix("kvcalc/")).read_bytes(), each


def test_the_wheel_holds_every_module_and_nothing_else(wheel: zipfile.ZipFile):
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "kvcalc").rglob("*.py")}
    assert {each for each in files(wheel) if each.endswith(".py")} == modules
    assert {each.split("/")[0] for each in files(wheel)} == {"kvcalc", next(iter(info(wheel))).split("/")[0]}


def test_the_wheel_holds_the_defaults_that_the_importer_reads(wheel: zipfile.ZipFile):
    assert "kvcalc/profiles/huggingface/defaults.yaml" in files(wheel)


def info(wheel: zipfile.ZipFile) -> set[str]:
    return {each for each in files(wheel) if ".dist-info/" in each}


def test_the_wheel_has_its_licence_and_its_command(wheel: zipfile.ZipFile):
    names = {each.split("/", 1)[1] for each in info(wheel)}
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= names
    (entry,) = (each for each in info(wheel) if each.endswith("entry_points.txt"))
    assert "kvcalc = kvcalc.__main__:run" in wheel.read(entry).decode()


def test_the_unpacked_wheel_answers_without_the_checkout(wheel: zipfile.ZipFile, tmp_path: Path):
    """The chapter's recompute time, from the profiles inside: 20,000 tokens at 50,000 a second."""
    wheel.extractall(tmp_path / "site")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); "
        "import kvcalc; from kvcalc.profiles import places; "
        "print(kvcalc.margin('llama3-70b', 'h100-pcie5', 20_000).recompute.seconds, places.shipped())"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stdout.split() == ["0.4", str(tmp_path / "site" / "kvcalc")]
