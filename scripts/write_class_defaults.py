"""Write the defaults of configuration classes, from the transformers that is installed; only for entries that are read.

pip install transformers==5.24.0 && python scripts/write_class_defaults.py

The values are facts about the classes of transformers (Apache-2.0, Hugging Face); no code of it is copied.
"""

import ast
import json
from pathlib import Path

from kvcalc import files
from kvcalc.profiles.huggingface.families import KNOWN

PACKAGE = Path(__file__).resolve().parents[1] / "kvcalc" / "profiles" / "huggingface"
HEAD = """# The defaults of configuration classes, for entries that a file leaves out; nulls and lists have no row.
# Written by scripts/write_class_defaults.py from transformers {version} (Apache-2.0): facts, not code.
classes:
"""
# Never what an engine falls back to: a file whose class is right has them.
LEFT_OUT = {"model_type", "architectures", "dtype", "is_encoder_decoder", "add_cross_attention"}


def names() -> set[str]:
    """Every word that the importer has in its code."""
    found: set[str] = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
                found.add(node.value)
    return found - LEFT_OUT


def defaults(wanted: set[str]) -> dict[str, dict[str, object]]:
    """The defaults of each known model type that transformers has a class for."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

    found: dict[str, dict[str, object]] = {}
    for name in sorted(set(KNOWN) & set(CONFIG_MAPPING_NAMES)):
        made = CONFIG_MAPPING[name]
        raw = {key: value for each in reversed(made.__mro__) for key, value in vars(each).items()}
        kept = {key: raw[key] for key in sorted(wanted & set(raw)) if isinstance(raw[key], bool | int | float | str)}
        found[name] = {"class": made.__name__} | kept
    return found


def main() -> None:
    """Write the file."""
    import transformers

    lines = [HEAD.format(version=transformers.__version__)]
    for name, entries in defaults(names()).items():
        inside = ", ".join(f"{key}: {json.dumps(value)}" for key, value in entries.items())
        lines.append(f"  {json.dumps(name)}: {{{inside}}}\n")
    files.write(PACKAGE / "defaults.yaml", "".join(lines))


if __name__ == "__main__":
    main()
