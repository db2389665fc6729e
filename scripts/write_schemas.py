"""Write the JSON Schemas that editors check profiles with, from the classes that read them.

python scripts/write_schemas.py
"""

import json
from pathlib import Path

from pydantic import TypeAdapter

from kvcalc import files
from kvcalc.profiles.catalog import HARDWARE
from kvcalc.profiles.fields import Profile
from kvcalc.profiles.model import Model

ROOT = Path(__file__).resolve().parents[1]


def schemas() -> dict[Path, str]:
    """The text of each schema by its file."""
    wanted: dict[Path, type[Profile]] = {ROOT / "model_profiles/schemas/model.json": Model}
    wanted |= {ROOT / f"hardware_profiles/schemas/{word}.json": kind for word, kind in HARDWARE.items()}
    return {path: schema(kind) for path, kind in wanted.items()}


def schema(kind: type[Profile]) -> str:
    """The JSON Schema of a kind of profile."""
    found = TypeAdapter(kind).json_schema()
    heading = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(heading | found, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path, text in schemas().items():
        files.write(path, text)
