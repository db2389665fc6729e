"""Write model_profiles/ from the configuration files in tests/data/hf_configs; scripts/models.yaml names them.

python scripts/import_models.py
"""

from pathlib import Path
from typing import Any

import yaml

from kvcalc import files
from kvcalc.profiles.huggingface import importer, reading, writing

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "tests" / "data" / "hf_configs"
TABLE = Path(__file__).with_name("models.yaml")
FOLDER = ROOT / "model_profiles"


def profiles() -> dict[str, str]:
    """The text of each profile by its name."""
    table: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {name: profile(name, row, table["checked"]) for name, row in table["models"].items()}


def profile(name: str, row: dict[str, Any], checked: Any) -> str:
    """One profile's text."""
    path = CONFIGS / f"{row['huggingface'].replace('/', '__')}.json"
    config, _ = reading.file(path)
    label = importer.Label(
        name=name,
        title=row["title"],
        address=row["address"],
        checked=checked,
        source=row["source"],
        note=row.get("note"),
        huggingface=row["huggingface"],
        notes=tuple(row.get("notes", ())),
        same_geometry=tuple(row.get("same_geometry", ())),
    )
    given = importer.Given(parameters=row.get("params"), active=row.get("active"))
    found = importer.document(config | row.get("also", {}), label, given, path.name)
    return writing.text(found.document)


def main() -> None:
    """One file a model."""
    for name, text in profiles().items():
        files.write(FOLDER / f"{name}.yaml", text)


if __name__ == "__main__":
    main()
