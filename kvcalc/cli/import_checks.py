"""What `kvcalc models import` checks before it writes: the file that it would replace, and counts that users give."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from kvcalc import units
from kvcalc.errors import UserError, printable, shown

if TYPE_CHECKING:
    from kvcalc.profiles.huggingface.importer import Given, Label
    from kvcalc.profiles.model import Model

APART = 0.02  # a given count of parameters may differ by biases and norms, which aren't counted


def other_file(output: Path | None, path: Path, hf_quant: Path | None) -> None:
    """Raise UserError where the profile would replace the file that it is made from."""
    sources = (path, path / "config.json", path / "hf_quant_config.json", hf_quant)
    for each in sources:
        if output and each and output.exists() and each.exists() and os.path.samefile(output, each):
            raise UserError(f"--output {printable(str(output))} is the file that is read; name another")


def same_model(output: Path, label: "Label", force: bool) -> None:
    """Raise UserError for a file that is there and is not a profile of this model, unless `force`."""
    if force or not output.is_file():
        return
    text = output.read_text(encoding="utf-8", errors="replace")
    found = {key: value.strip("\"'") for key, value in re.findall(r"^(name|title): (.*?)\s*$", text, re.MULTILINE)}
    if text.strip() and found != {"name": label.name, "title": label.title}:
        what = f"the profile of {shown(found['title'])}" if "title" in found else "no profile"
        raise UserError(f"{printable(str(output))} is there and is {what}; add --force to write over it")


def parameters(model: "Model", given: "Given", assumed: tuple[str, ...]) -> str:
    """What is known of the parameters, and how. Raises UserError for given counts that the file contradicts."""
    from kvcalc.physics import work

    try:
        counted = work.parameters(model)
    except UserError:
        if model.total_parameters:
            return f"parameters: {units.billions(model.total_parameters)} as given"
        return "parameters: the file's fields don't suffice to count them; give --params and --active-params"
    active, total = units.billions(counted.active), units.billions(counted.total)
    if given.parameters and abs(given.parameters / counted.total - 1) > APART:
        raise UserError(
            f"--params {units.billions(given.parameters)} is not within {APART:.0%} of the {total} that the fields of "
            "the language model make; leave it out, or see if the file is that model's"
        )
    if given.active and given.active > counted.total:
        raise UserError(f"--active-params {units.billions(given.active)} is more than all parameters, {total}")
    also = f"; given: {units.billions(given.parameters)}" if given.parameters else ""
    if any(line.startswith("tie_word_embeddings") for line in assumed):
        matrices = "one matrix" if model.tied else "two matrices"
        also += f"; {matrices} for embedding and LM head, as assumed above"
    return f"parameters: {total} counted from the file, {active} a token without embedding and LM head{also}"
