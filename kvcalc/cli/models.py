"""`kvcalc models`: list the model profiles, show one, check a file, import one."""

from pathlib import Path
from typing import Annotated

import typer

from kvcalc.cli import importing
from kvcalc.cli.options import FormatOption, OutputOption, left_out
from kvcalc.errors import printable
from kvcalc.profiles import catalog
from kvcalc.profiles import check as checking
from kvcalc.profiles.model import Model
from kvcalc.render import show as render

app = typer.Typer(
    help="List model profiles, show one, check a file, import one.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)
app.command("import")(importing.import_)


@app.command("list")
def list_(form: FormatOption = None, output: OutputOption = None) -> None:
    """List the models with the bytes that a sequence keeps."""
    from kvcalc.tables import profiles

    found, refused = catalog.every(Model)
    render.show(found, profiles.models(found), form, output)
    left_out(refused)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Model profile: a name, a Hugging Face name, or a YAML file")],
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Show a model: its layers, its bytes by length and rank, its sources."""
    from kvcalc.tables import profiles

    found = catalog.model(name)
    render.show([found], profiles.model(found), form, output)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="YAML file")]) -> None:
    """Check a model profile of your own."""
    found = checking.check(file, {"model": Model})
    typer.echo(f"{printable(str(file))}: model {found.name!r} is well formed, with sources {', '.join(found.sources)}")
