"""Markdown: GitHub tables whose columns also line up as plain text."""

import re
from collections.abc import Iterator

from kvcalc.tables.page import Lines, Page, Table

_MARKUP = re.compile(r"[\\*`~]|&(?=[#\w])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?])|\](?=\()")


def render(page: Page) -> str:
    """The page as markdown."""
    parts = [f"## {_escaped(page.title)}", *([_escaped(page.summary)] if page.summary else [])]
    for block in page.blocks:
        parts.append(f"### {_escaped(block.title)}")
        parts.append("\n".join(_table(block) if isinstance(block, Table) else _lines(block)))
        if isinstance(block, Table) and block.note:
            parts.append(_escaped(block.note))
    return "\n\n".join(parts) + "\n"


def _lines(block: Lines) -> Iterator[str]:
    for number, line in enumerate(block.lines, 1):
        yield f"{number}. {_escaped(line)}" if block.numbered else f"- {_escaped(line)}"


def _table(table: Table) -> Iterator[str]:
    texts = [[_cell(column.title) for column in table.columns]]
    texts += [[_cell(cell.text) for cell in row] for row in table.rows]
    widths = [max(3, *(len(row[place]) for row in texts)) for place in range(len(table.columns))]
    numbers = [column.number for column in table.columns]

    def line(cells: list[str]) -> str:
        padded = (
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(cells, widths, numbers, strict=True)
        )
        return "| " + " | ".join(padded) + " |"

    yield line(texts[0])
    rules = ("-" * (width - 1) + ":" if number else "-" * width for width, number in zip(widths, numbers, strict=True))
    yield "| " + " | ".join(rules) + " |"
    yield from (line(row) for row in texts[1:])


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split())).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Without what markdown would read as markup: emphasis, code, tags. Within a word an underscore is harmless."""
    return _MARKUP.sub(r"\\\g<0>", text)
