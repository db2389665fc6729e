"""`kvcalc models import`: a Hugging Face configuration becomes a model profile."""

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvcalc import files, units
from kvcalc.errors import UserError, shown

if TYPE_CHECKING:
    from kvcalc.profiles.huggingface.importer import Given, Label
    from kvcalc.profiles.model import Model


def import_(
    file: Annotated[
        Path | None, typer.Argument(help="config.json, a folder that has one, or - for stdin", show_default=False)
    ] = None,
    hf_quant: Annotated[
        Path | None, typer.Option(help="The model's hf_quant_config.json", show_default="the folder's, if it has one")
    ] = None,
    from_hub: Annotated[str | None, typer.Option(help="ORGANISATION/NAME to fetch from the Hugging Face hub")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the profile", show_default="by the file")] = None,
    params: Annotated[
        str | None, typer.Option(help="All parameters, as '70.6B'", show_default="counted where the file suffices")
    ] = None,
    active_params: Annotated[
        str | None, typer.Option(help="Parameters that one token passes, as '37B'", show_default="counted, or all")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write to this file", show_default="stdout")] = None,
) -> None:
    """Make a model profile from a config.json; what it assumes is said on stderr."""
    from kvcalc.profiles import documents
    from kvcalc.profiles.huggingface import importer, reading, writing
    from kvcalc.profiles.model import Model

    config, beside, where = _read(file, from_hub, hf_quant)
    quant = reading.parsed(reading.text(beside), str(beside)) if beside else None
    given = importer.Given(quant, _parameters(params), _parameters(active_params))
    label = _label(where, name or (output.stem if output else None), from_hub)
    found = importer.document(config, label, given, where)
    text = writing.text(found.document)
    model = documents.loads(Model, text, Path(where))
    if output:
        files.write(output, text)
    also = [f"read {beside} too"] if beside and beside != hf_quant else []
    for line in (*also, *found.assumed, _counted(model, given)):
        typer.echo(f"kvcalc: {line}", err=True)
    if not output:
        typer.echo(text, nl=False)


def _read(file: Path | None, from_hub: str | None, hf_quant: Path | None) -> tuple[dict[str, object], Path | None, str]:
    """The configuration, the file of its quantisation, and the name of the file for messages."""
    from kvcalc.profiles.huggingface import hub, reading

    if (file is None) == (from_hub is None):
        raise UserError("give one of FILE and --from-hub: kvcalc models import path/to/config.json")
    path, beside = hub.fetch(from_hub) if from_hub else (file, None)
    assert path is not None
    config, in_folder = reading.file(path)
    return config, hf_quant or in_folder or beside, "stdin" if str(path) == "-" else str(path)


def _label(where: str, name: str | None, from_hub: str | None) -> "Label":
    from kvcalc.profiles.huggingface.importer import Label

    title = from_hub.partition("/")[2] if from_hub else _title(where)
    chosen = name or re.sub(r"[^a-z0-9.+-]+", "-", title.lower()).strip("-.+") or "model"
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", chosen):
        raise UserError(f"--name: {shown(chosen)} is no name of a profile; small letters, digits and . + - only")
    address = f"https://huggingface.co/{from_hub}" if from_hub else where
    return Label(chosen, title, address, date.today(), huggingface=from_hub)


def _title(where: str) -> str:
    """The model's name by its file or folder: config.json says nothing, its folder does."""
    if where == "stdin":
        return "model"
    path = Path(where).absolute()
    stem = path.parent.name if path.name == "config.json" else path.name
    if path.is_dir():
        stem = path.name
    plain = re.sub(r"([._-]config)?\.json$", "", stem)
    return re.split(r"__|--", plain)[-1] or "model"


def _parameters(text: str | None) -> int | None:
    return None if text is None else units.parameters(text)


def _counted(model: "Model", given: "Given") -> str:
    """What is known of the parameters, and how."""
    from kvcalc.physics import work

    try:
        counted = work.parameters(model)
    except UserError:
        if model.total_parameters:
            return f"parameters: {units.billions(model.total_parameters)} as given"
        return "parameters: the file's fields don't suffice to count them; give --params and --active-params"
    also = f"; given: {units.billions(given.parameters)}" if given.parameters else ""
    active, total = units.billions(counted.active), units.billions(counted.total)
    return f"parameters: {total} counted from the file, {active} a token without embedding and LM head{also}"
