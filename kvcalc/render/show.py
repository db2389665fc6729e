"""A result and its page to stdout or to a file, in the format asked for or the one that suits where it goes."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from kvcalc import files
from kvcalc.errors import printable
from kvcalc.render import csv, json, markdown, text
from kvcalc.tables.page import Page

Format = Literal["text", "markdown", "json", "csv"]
Nothing: Mapping[Path, bytes] = MappingProxyType({})


def show(
    results: Sequence[object],
    page: Page,
    form: Format | None,
    output: Path | None,
    plots: Mapping[Path, bytes] = Nothing,
) -> None:
    """Text on a terminal, markdown where it is pasted from: in a pipe and in a file. Files come last."""
    terminal = output is None and sys.stdout.isatty()
    rendered = _render(results, page, form or ("text" if terminal else "markdown"), terminal)
    outputs: dict[Path, str | bytes] = {**plots}
    if output is not None:
        outputs[output] = rendered
    for path, content in outputs.items():
        files.write(path, content)
        sys.stderr.write(f"kvcalc: wrote {printable(str(path))}\n")
    if output is None:
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
