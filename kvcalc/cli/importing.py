"""`kvcalc models import`: a Hugging Face configuration becomes a model profile."""

from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvcalc import files, units
from kvcalc.cli import import_checks
from kvcalc.cli.options import optional
from kvcalc.errors import UserError, printable

if TYPE_CHECKING:
    from kvcalc.profiles.huggingface.importer import Label


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
    force: Annotated[bool, typer.Option("--force", help="Write over a file that isn't this model's profile")] = False,
) -> None:
    """Make a model profile from a config.json; what it assumes is said on stderr."""
    from kvcalc.profiles import documents
    from kvcalc.profiles.huggingface import importer, reading, writing
    from kvcalc.profiles.model import Model

    path, hub_quant = _path(file, from_hub)
    import_checks.other_file(output, path, hf_quant)
    config, in_folder = reading.file(path)
    beside = hf_quant or in_folder or hub_quant
    option = "--hf-quant" if hf_quant else ""
    quant_where = f"{option} {printable(str(beside))}".lstrip() if beside else ""
    quant = reading.parsed(reading.text(beside, reading.QUANT, option), quant_where, reading.QUANT) if beside else None
    count = partial(units.parameters, least=FEWEST)
    total, active = optional("--params", params, count), optional("--active-params", active_params, count)
    given = importer.Given(quant, quant_where, total, active)
    where = "stdin" if str(path) == "-" else printable(str(path))
    label, notes = _label(path, config, name or (output.stem if output else None), from_hub, bool(name))
    found = importer.document(config, label, given, where)
    if label.name == UNNAMED:
        raise UserError(f"{where}: nothing says what the model is called; add --name")
    text = writing.text(found.document)
    model = documents.loads(Model, text, Path(where))
    counted = import_checks.parameters(model, given, found.assumed)
    if output:
        import_checks.same_model(output, label, force)
        files.write(output, text)
        notes.append(f"wrote {printable(str(output))}")
    also = [f"read {printable(str(beside))} too"] if beside and beside != hf_quant else []
    for line in (*also, *found.assumed, counted, *notes):
        typer.echo(f"kvcalc: {printable(line)}", err=True)
    if not output:
        typer.echo(text, nl=False)


FEWEST = 1_000_000  # parameters; a smaller number is one in billions without its B
UNNAMED = "unnamed"  # until a file that is no configuration is refused for that


def _path(file: Path | None, from_hub: str | None) -> tuple[Path, Path | None]:
    """The configuration, and the file of its quantisation where it was fetched."""
    from kvcalc.profiles.huggingface import hub

    if (file is None) == (from_hub is None):
        raise UserError("give one of FILE and --from-hub: kvcalc models import path/to/config.json")
    if from_hub:
        return hub.fetch(from_hub)
    assert file is not None
    return file, None


def _label(
    path: Path, config: dict[str, object], wanted: str | None, from_hub: str | None, exact: bool
) -> tuple["Label", list[str]]:
    """What the profile is called, with a note where that is not what the user wrote."""
    from kvcalc.profiles.huggingface import naming
    from kvcalc.profiles.huggingface.importer import Label

    place = None if str(path) == "-" else path
    title = from_hub.partition("/")[2] if from_hub else naming.title(place, config)
    if exact and wanted:
        naming.checked(wanted)
    chosen = naming.plain(wanted or title or "") or UNNAMED
    chosen = wanted if exact and wanted else chosen
    today = date.today()
    notes = [f"the profile is called {chosen}"] if wanted and chosen != wanted else []
    address = naming.address(place, from_hub, today.isoformat())
    return Label(chosen, title or chosen, address, today, huggingface=from_hub), notes
