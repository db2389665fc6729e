"""A configuration file as a JSON object; whatever is not one is refused in a line that says what it is.

Files have bare `Infinity` (Nemotron's time_step_limit), which no strict JSON has; it is read, and no field that matters
takes it.
"""

import codecs
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from kvcalc.errors import UserError, printable, shown

LARGEST_FILE = 4_000_000  # bytes; the largest known has 800,000: names of layers that are not quantised
CONFIG, QUANT = "config.json", "hf_quant_config.json"

# What else lies in a model's folder, told by keys that a config.json doesn't have together.
_TOKENIZER = "a tokenizer's file"
_OTHERS = (
    (_TOKENIZER, ("added_tokens", "pre_tokenizer")),
    ("a tokenizer's configuration", ("tokenizer_class",)),
    ("an index of the weights", ("weight_map",)),
    ("the configuration of a LoRA adapter; its base model's is needed", ("peft_type",)),
    ("the model's quantisation; give it with --hf-quant beside config.json", ("quantization",)),
    ("the configuration of a preprocessor", ("image_processor_type",)),
    ("the configuration of a preprocessor", ("feature_extractor_type",)),
    ("Mistral's own params.json", ("n_layers", "n_kv_heads", "dim")),
    ("the configuration of text generation", ("_from_model_config",)),
)


def file(path: Path) -> tuple[dict[str, object], Path | None]:
    """The object in a file or in a folder's config.json, and the hf_quant_config.json beside a config.json."""
    if str(path) == "-":
        return parsed(_decoded(sys.stdin.buffer.read(LARGEST_FILE + 1), "stdin", CONFIG), "stdin"), None
    if path.is_dir():
        if not (path / CONFIG).is_file():
            raise UserError(f"{printable(str(path))}: has no {CONFIG}; give the file itself or a model's folder")
        path = path / CONFIG
    quant = path.with_name(QUANT)
    return parsed(text(path), printable(str(path))), quant if path.name == CONFIG and quant.is_file() else None


def text(path: Path, wanted: str = CONFIG, option: str = "") -> str:
    """A file's text. Raises UserError for one that can't be read, is too long or is not text; it names the option."""
    where = f"{option} {printable(str(path))}".lstrip()
    try:
        plain = path.is_file() or not path.exists()
        found = b""
        if plain:
            with path.open("rb") as stream:
                found = stream.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "cannot be read"
        raise UserError(f"{where}: {reason.lower()}; give a {wanted}") from error
    if not plain:
        pipe = ", or - for stdin" if wanted == CONFIG else ""
        raise UserError(f"{where}: is not a plain file; give a {wanted}{pipe}")
    return _decoded(found, where, wanted)


def _decoded(found: bytes, where: str, wanted: str) -> str:
    if len(found) > LARGEST_FILE:
        if b'"added_tokens"' in found or b'"pre_tokenizer"' in found:
            raise UserError(f"{where}: is {_TOKENIZER}, not a {wanted}; give that")
        raise UserError(f"{where}: is longer than {LARGEST_FILE:,} bytes, too long for a {wanted}")
    marked = found.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # PowerShell's > writes it
    try:
        return found.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: is not a text file in UTF-8; give a {wanted}") from error


def parsed(found: str, where: str, wanted: str = CONFIG) -> dict[str, object]:
    """The object in a text, without keys that are given twice. Raises UserError with the line of what is wrong."""
    if not found.strip():
        raise UserError(f"{where}: is empty; give a {wanted}")
    conflict = next((at for at, line in enumerate(found.splitlines(), 1) if line.startswith(("<<<<<<<", ">>>>>>>"))), 0)
    if conflict:
        raise UserError(f"{where}: line {conflict}: has an unresolved git conflict; resolve it first")
    try:
        document = json.loads(found, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        ended = error.pos >= len(found.rstrip()) or error.msg.startswith("Unterminated")
        cut = "; is the file cut off?" if ended else ""
        raise UserError(f"{where}: line {error.lineno}: is not JSON: {error.msg.lower()}{cut}") from error
    except RecursionError as error:
        raise UserError(f"{where}: is nested too deep for a {wanted}") from error
    except ValueError as error:  # a key given twice, or a number of too many digits
        raise UserError(f"{where}: {str(error).split(';')[0]}") from error
    if not isinstance(document, dict):
        raise UserError(f"{where}: holds {_what(document)} and no object; give a {wanted}")
    return document


def _what(document: object) -> str:
    return "a list" if isinstance(document, list) else "a single value"


def _once(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise UserError(f"key {shown(key)} is given twice")
        found[key] = value
    return found


def refuse_others(document: dict[str, object], where: str) -> None:
    """Refuse what is a model's file, but another. Raises UserError that says which."""
    if "model_type" in document or "architectures" in document:
        return
    for what, keys in _OTHERS:
        if all(key in document for key in keys):
            raise UserError(f"{where}: is {what}, not its {CONFIG}; give that")
