"""The command line as one function: arguments in, exit code out, every error one line on stderr."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from kvcalc.cli import curve, hardware, margin, models, route, simulate
from kvcalc.errors import UserError, shown

app = typer.Typer(
    name="kvcalc",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)
app.command(short_help="Fetch or recompute, tier by tier.")(margin.margin)
app.command(short_help="Hit rate of a request trace by cache capacity.")(curve.curve)
app.command(short_help="A request trace against a node's tiers, with time.")(simulate.simulate)
app.command(short_help="Several replicas: routing by prefix against a shared store.")(route.route)
app.add_typer(models.app, name="models")
app.add_typer(hardware.app, name="hardware")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kvcalc {version('kvcalc')}")
        raise typer.Exit


@app.callback()
def kvcalc(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Say whether fetching a KV cache from CPU DRAM, NVMe or a shared store beats recomputing it."""


def main(argv: Sequence[str]) -> int:
    """Run the program. Exit code 0 done, 1 failed, 2 wrong input, 3 a --fail-if condition holds, 130 interrupted."""
    if sys.stdout is None:
        return _said("stdout is closed; send it to a file or to /dev/null", 1)
    try:
        code = app(args=list(argv), prog_name="kvcalc", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return _said(str(error), 2)
    except typer.TyperException as error:
        return _misused(error)
    except (KeyboardInterrupt, typer.Abort):
        return _said("interrupted", 130)
    except OSError as error:
        if error.filename is not None:
            return _said(f"{shown(str(error.filename))}: {(error.strerror or '').lower()}", 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left can't be written
        return 1 if isinstance(error, BrokenPipeError) else _said(f"stdout: {(error.strerror or '').lower()}", 1)
    return code if isinstance(code, int) else 0


def _said(message: str, code: int) -> int:
    if sys.stderr is not None:
        line = " ".join(message.split()).encode("utf-8", "backslashreplace").decode()  # paths may not be text
        sys.stderr.write(f"kvcalc: {line}\n")
    return code


def _misused(error: typer.TyperException) -> int:
    """What typer found wrong with the options, in one line with the way out; a command without any gets its help."""
    found = error.format_message() if hasattr(error, "format_message") else str(error)
    if found.startswith("Usage:"):
        sys.stderr.write(f"{found}\n")
        return 2
    text = found[:1].lower() + found[1:].rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "kvcalc"
    return _said(f"{text}; '{command} --help' lists what there is", 2)
