"""Numbered assumptions, and below them the sources that they cite."""

from collections.abc import Iterable, Iterator

from kvcalc.answers.margin_result import Assumption
from kvcalc.profiles.sources import Source
from kvcalc.tables.page import Lines


def blocks(said: Iterable[tuple[Assumption, str]]) -> Iterator[Lines]:
    """Each assumption with the words that begin its line, if it doesn't hold of everything."""
    told = list(said)
    sources = dict.fromkeys(_source(source) for each, _ in told for source in each.sources)
    names = {source: f"S{number}" for number, source in enumerate(sources, 1)}
    texts = []
    for each, whose in told:
        cited = ", ".join(dict.fromkeys(names[_source(source)] for source in each.sources))
        texts.append(f"{whose}{each.text} [{cited}]" if cited else f"{whose}{each.text}")
    yield Lines("Assumptions", tuple(texts), numbered=True)
    yield Lines("Sources", tuple(f"{name} {source}" for source, name in names.items()))


def _source(source: Source) -> str:
    checked = f", {source.checked}" if source.checked else ""
    return f"{source.basis}{checked}: {source.title}; {source.address}"
