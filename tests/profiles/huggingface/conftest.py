"""Importing configurations: as dictionaries, and the files in tests/data/hf_configs."""

import copy
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from kvcalc.profiles import documents
from kvcalc.profiles.huggingface import importer, writing
from kvcalc.profiles.model import Model

CONFIGS = Path(__file__).resolve().parents[2] / "data" / "hf_configs"
LABEL = importer.Label("made", "Made", "tests", date(2026, 11, 29))

Config = dict[str, Any]


@pytest.fixture(scope="session")
def imported() -> Callable[..., importer.Imported]:
    """Import a configuration; other things the user says by name."""

    def make(config: Config, **given: Any) -> importer.Imported:
        return importer.document(copy.deepcopy(config), LABEL, importer.Given(**given))

    return make


@pytest.fixture(scope="session")
def model(imported: Callable[..., importer.Imported]) -> Callable[..., Model]:
    """The model that a configuration becomes, through the text of its profile."""

    def make(config: Config, **given: Any) -> Model:
        return documents.loads(Model, writing.text(imported(config, **given).document), Path("made.yaml"))

    return make


@pytest.fixture(scope="session")
def config() -> Callable[..., Config]:
    """A file of tests/data/hf_configs by the model's name, with changes by keyword; None takes an entry out."""

    def read(name: str, **changes: Any) -> Config:
        found = json.loads((CONFIGS / f"{name.replace('/', '__')}.json").read_text())
        inside = found.get("text_config", found)
        for key, value in changes.items():
            if value is OUT:
                inside.pop(key, None)
            else:
                inside[key] = value
        return dict(found)

    return read


OUT = object()


@pytest.fixture(scope="session")
def out() -> object:
    """In `config(name, entry=out)`: take the entry out."""
    return OUT
