"""`kvcalc hardware`: list the hardware profiles, show one, check a file."""

from pathlib import Path
from typing import Annotated

import typer

from kvcalc.cli.options import FormatOption, OutputOption, left_out
from kvcalc.errors import printable
from kvcalc.profiles import catalog
from kvcalc.profiles import check as checking
from kvcalc.render import show as render

app = typer.Typer(
    help="List hardware profiles, show one, check a file.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)


@app.command("list")
def list_(form: FormatOption = None, output: OutputOption = None) -> None:
    """List the nodes, tiers, accelerators, engines and prefill constants."""
    from kvcalc.tables import profiles

    found, refused = catalog.all_hardware()
    render.show([profile for _, profile in found], profiles.hardware(found), form, output)
    left_out(refused)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Node, tier, accelerator, engine or fit: a name, or a YAML file")],
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Show a hardware profile: every figure with its unit and its source."""
    from kvcalc.tables import profiles

    found = catalog.hardware(name)
    render.show([found], profiles.profile(found), form, output)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="YAML file")]) -> None:
    """Check a hardware profile of your own, with the profiles that it names."""
    found = checking.check(file, catalog.HARDWARE)
    kind = getattr(found, "kind", "profile")
    sources = (
        f"with sources {', '.join(found.sources)}" if found.sources else "all its figures are those of other profiles"
    )
    typer.echo(f"{printable(str(file))}: {kind} {found.name!r} is well formed, {sources}")
