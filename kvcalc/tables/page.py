"""Neutral tables: what every renderer can show. They know nothing of KV caches, renderers nothing of questions."""

from collections.abc import Callable, Iterable
from typing import Any

from kvcalc.frozen import frozen


@frozen
class Cell:
    """Text for people, and the plain SI number behind it for CSV."""

    text: str
    value: float | int | str | bool | None = None

    @property
    def raw(self) -> float | int | str | bool:
        """The number if there is one, else the text."""
        return self.text if self.value is None else self.value


@frozen
class Column:
    """A heading, its key in CSV (with the unit), and whether numbers stand in it."""

    title: str
    key: str
    number: bool = False


@frozen
class Table:
    """Rows of cells under columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""  # how to read it, in one line
    repeated: int = 0  # first columns that stand in every part where it is parted to fit; 0: it is not parted


@frozen
class Rows:
    """The same for scripts alone: plain values under their keys, made one after the other."""

    keys: tuple[str, ...]
    rows: Iterable[tuple[Any, ...]]


@frozen
class Lines:
    """Sentences under a title, numbered or not."""

    title: str
    lines: tuple[str, ...]
    numbered: bool = False


@frozen
class Page:
    """Everything that an answer prints, in order."""

    title: str
    summary: str  # the answer in one sentence, or nothing
    blocks: tuple[Table | Lines, ...]
    main: Callable[[], Table | Rows]  # what CSV writes, made when it is asked for
