"""Text for a terminal, as wide as it is: tables by rich, no cell ever cut."""

import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Literal

from kvcalc.tables.page import Lines, Page, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

_TOGETHER = re.compile(r"[\d.,]+ (?:[kMGT]?i?B(?:/s)?|[mu]?s|tok/s)(?!\w)|\S+")  # a number and its unit, or a word
STYLES = {"restore": "green", "marginal": "yellow", "recompute": "red"}


def render(page: Page, width: int, colour: bool) -> str:
    """The page as lines of at most `width` columns, where no single word is longer."""
    from rich.console import Console
    from rich.text import Text

    stream = StringIO()
    console = Console(
        file=stream, width=width, force_terminal=colour, no_color=not colour, highlight=False, legacy_windows=False
    )
    console.print(Text(page.title, style="bold"))
    if page.summary:
        console.print(Text(page.summary))
    for block in page.blocks:
        console.print()
        console.print(Text(block.title, style="bold"))
        for part in parted(block, width) if isinstance(block, Table) else ():
            console.print(_table(part, width))
        if isinstance(block, Lines):
            console.print(_lines(block))
        if isinstance(block, Table) and block.note:
            console.print(Text(block.note, style="dim"))
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n"))


def _lines(block: Lines) -> "RenderableType":
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 1))
    grid.add_column(justify="right")
    grid.add_column(overflow="fold")
    for number, line in enumerate(block.lines, 1):
        grid.add_row(Text(f"{number}." if block.numbered else "-"), Text(line))
    return Padding(grid, (0, 0, 0, 1))


def _table(table: Table, width: int) -> "RenderableType":
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    roomy = sum(_widths(table, _cells)) + 3 * len(table.columns) <= width
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1 if roomy else 0), show_edge=False)
    widths = fitted(table, width - len(table.columns) + 1)
    for column, room in zip(table.columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.number else "left"
        fixed = None if roomy else room
        grid.add_column(Text(column.title), justify=justify, overflow="fold", vertical="top", width=fixed)
    for row in table.rows:
        grid.add_row(*(Text(cell.text, style=STYLES.get(str(cell.value), "")) for cell in row))
    return grid


def parted(table: Table, width: int) -> list[Table]:
    """The table, or parts of it with its first columns in each, where its words and numbers would have to be broken."""
    widths, first = [room + 1 for room in _widths(table, _together)], table.repeated
    if not first or sum(widths) <= width + 1:
        return [table]
    parts: list[list[int]] = [[]]
    for place in range(first, len(widths)):
        if parts[-1] and sum(widths[:first]) + sum(widths[each] for each in parts[-1]) + widths[place] > width + 1:
            parts.append([])
        parts[-1].append(place)
    return [_part(table, [*range(first), *part]) for part in parts]


def _part(table: Table, places: list[int]) -> Table:
    rows = tuple(tuple(row[place] for place in places) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in places), rows=rows)


def fitted(table: Table, width: int) -> list[int]:
    """Column widths that add up to at most `width`: the longest word each, then room for the longest cells.

    Where numbers don't fit with their units they are parted, and where words don't fit the longest are broken.
    """
    natural, least = _widths(table, _cells), _widths(table, _together)
    if sum(least) > width:
        least = _widths(table, _longest_word)
    while sum(least) > width:
        least[least.index(max(least))] -= 1
    spare = width - sum(least)
    order = sorted(range(len(least)), key=lambda place: natural[place] - least[place])
    for number, place in enumerate(order):
        more = max(0, min(spare // (len(order) - number), natural[place] - least[place]))
        least[place] += more
        spare -= more
    return least


def _cells(text: str) -> int:
    """Columns of a terminal that a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def _together(text: str) -> int:
    """The longest part that stays on one line if it can: a word, or a number with its unit."""
    return max(map(_cells, _TOGETHER.findall(text)), default=1)


def _longest_word(text: str) -> int:
    return max(map(_cells, text.split()), default=1)


def _widths(table: Table, measure: Callable[[str], int]) -> list[int]:
    """The largest measure of each column's heading and cells."""
    rows = [[column.title for column in table.columns], *([cell.text for cell in row] for row in table.rows)]
    return [max(measure(row[place]) for row in rows) for place in range(len(table.columns))]
