"""The command line as one function: arguments in, exit code out, every error one line on stderr."""

import os
import sys
from collections.abc import Sequence

import typer

from kvcalc.cli import hardware, margin, models
from kvcalc.errors import UserError

app = typer.Typer(
    name="kvcalc",
    help="Say whether fetching a KV cache from CPU DRAM, NVMe or a shared store beats recomputing it.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)
app.command()(margin.margin)
app.add_typer(models.app, name="models")
app.add_typer(hardware.app, name="hardware")


def main(argv: Sequence[str]) -> int:
    """Run the program. Exit code 0 done, 1 failed, 2 wrong input, 3 a --fail-if condition holds, 130 interrupted."""
    try:
        code = app(args=list(argv), prog_name="kvcalc", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return _said(str(error), 2)
    except typer.TyperException as error:
        return _said(_usage(error), getattr(error, "exit_code", 2))
    except (KeyboardInterrupt, typer.Abort):
        return _said("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: say nothing more
        return 1
    return code if isinstance(code, int) else 0


def _said(message: str, code: int) -> int:
    sys.stderr.write(f"kvcalc: {' '.join(message.split())}\n")
    return code


def _usage(error: typer.TyperException) -> str:
    """What typer found wrong with the options, in one line with the way out."""
    found = error.format_message() if hasattr(error, "format_message") else str(error)
    text = found[:1].lower() + found[1:].rstrip(".")
    return f"{text}; 'kvcalc --help' lists what there is"
