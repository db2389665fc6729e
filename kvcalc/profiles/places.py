"""Where profile files lie: shipped ones, and those in the user's own folder, which come first."""

import os
from functools import cache as once
from pathlib import Path

from kvcalc import files
from kvcalc.profiles.budget import Budget
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.hardware import Accelerator, Curves, Engine, Fit, Node, Tier
from kvcalc.profiles.model import Model

MODELS = "model_profiles"
SUFFIXES = (".yaml", ".yml")  # what ends like this is a path, not a name
FOLDERS: dict[type[Profile], str] = {
    Model: MODELS,
    Node: "hardware_profiles/nodes",  # first of the hardware, where a name is of several kinds
    Tier: "hardware_profiles/tiers",
    Accelerator: "hardware_profiles/accelerators",
    Engine: "hardware_profiles/engines",
    Fit: "hardware_profiles/fits",
    Curves: "hardware_profiles/curves",
    Budget: "hardware_profiles/budgets",
}


@once
def shipped() -> Path:
    """The folder that holds model_profiles and hardware_profiles: in the package, else beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    return package if (package / MODELS).is_dir() else package.parent


def personal() -> Path | None:
    """The user's own folder, laid out like the shipped one: $KVCALC_PROFILES, else ~/.config/kvcalc."""
    return files.own_folder("KVCALC_PROFILES", "XDG_CONFIG_HOME", ".config")


@once
def roots() -> tuple[Path, ...]:
    """Where names are looked for, in this order."""
    own = personal()
    return (own, shipped()) if own else (shipped(),)


def names(kind: type[Profile]) -> list[str]:
    """The names of all profiles of a kind, sorted."""
    return sorted(placed(kind))


def placed(kind: type[Profile]) -> dict[str, Path]:
    """The files of all profiles of a kind, by name."""
    found: dict[str, Path] = {}
    for root in reversed(roots()):
        folder = root / FOLDERS[kind]
        if folder.is_dir():
            found |= {path.stem: path for path in folder.glob("*.yaml") if path.is_file()}
    return found


def find(kind: type[Profile], reference: str) -> Path | None:
    """The file of a profile: a path as it is given, else a name, the user's own folder first."""
    if is_path(reference):
        return Path(reference)
    if os.sep in reference or "\0" in reference:
        return None
    paths = [os.path.join(root, FOLDERS[kind], f"{reference}.yaml") for root in roots()]
    return next((Path(path) for path in paths if os.path.isfile(path)), None)  # none, too, for what can't be a file


def is_path(reference: str) -> bool:
    """Is it a path to a file rather than a name?"""
    return reference.lower().endswith(SUFFIXES) and "\0" not in reference
