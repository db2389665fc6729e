"""The command line as one function: arguments in, exit code out, every error one line on stderr."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

from kvcalc.cli.commands import Commands
from kvcalc.errors import UserError, printable, shown

INTERRUPTED = 130
app = typer.Typer(
    name="kvcalc",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)


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
        group = get_command(app)
        group.commands = Commands()  # type: ignore[attr-defined]
        code = group(args=list(argv), prog_name="kvcalc", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return _said(str(error), 2)
    except typer.TyperException as error:
        return _misused(error)
    except (KeyboardInterrupt, typer.Abort):
        return _said("interrupted", INTERRUPTED)
    except OSError as error:
        if error.filename is not None:
            return _said(f"{shown(str(error.filename))}: {(error.strerror or '').lower()}", 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left can't be written
        return 1 if isinstance(error, BrokenPipeError) else _said(f"stdout: {(error.strerror or '').lower()}", 1)
    if code == INTERRUPTED:  # typer 0.28 catches Ctrl-C in a command and returns this code (typer/core.py, _main)
        return _said("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _said(message: str, code: int) -> int:
    if sys.stderr is not None:
        line = printable(" ".join(message.split()))
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
