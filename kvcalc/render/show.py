"""A result and its page to stdout or to a file, in the format asked for or the one that suits where it goes."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from kvcalc import files
from kvcalc.render import csv, json, markdown, text
from kvcalc.tables.page import Page

Format = Literal["text", "markdown", "json", "csv"]


def show(results: Sequence[object], page: Page, form: Format | None, output: Path | None) -> None:
    """Text on a terminal, markdown where it is pasted from: in a pipe and in a file."""
    terminal = output is None and sys.stdout.isatty()
    rendered = _render(results, page, form or ("text" if terminal else "markdown"), terminal)
    if output is not None:
        files.write(output, rendered)
    else:
        sys.stdout.write(_encodable(rendered))


def _render(results: Sequence[object], page: Page, form: Format, terminal: bool) -> str:
    if form == "json":
        return json.render(results)
    if form == "csv":
        return csv.render(page)
    if form == "markdown":
        return markdown.render(page)
    width = _columns()
    return text.render(page, width, colour=terminal and not os.environ.get("NO_COLOR"))


def _encodable(rendered: str) -> str:
    """With lines of hyphens and `?` where the terminal's encoding lacks a character."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        rendered.encode(encoding)
    except UnicodeEncodeError:
        return rendered.replace("\u2500", "-").encode(encoding, "replace").decode(encoding)
    return rendered


def _columns() -> int:
    from shutil import get_terminal_size

    return get_terminal_size((100, 24)).columns
