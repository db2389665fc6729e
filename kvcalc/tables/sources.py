"""Numbered assumptions and the sources they name, as every question prints them."""

from collections.abc import Iterator, Sequence

from kvcalc.answers.margin_result import Assumption
from kvcalc.profiles.sources import Source
from kvcalc.tables.page import Lines


def blocks(assumptions: Sequence[Assumption]) -> Iterator[Lines]:
    """The assumptions, each once, and their sources, each with its number."""
    every = list(dict.fromkeys(assumptions))
    sources = dict.fromkeys(_source(source) for each in every for source in each.sources)
    names = {source: f"S{number}" for number, source in enumerate(sources, 1)}
    texts = []
    for each in every:
        cited = ", ".join(dict.fromkeys(names[_source(source)] for source in each.sources))
        texts.append(f"{each.text} [{cited}]" if cited else each.text)
    yield Lines("Assumptions", tuple(texts), numbered=True)
    yield Lines("Sources", tuple(f"{name} {source}" for source, name in names.items()))


def _source(source: Source) -> str:
    checked = f", {source.checked}" if source.checked else ""
    return f"{source.basis}{checked}: {source.title}; {source.address}"
