"""Numbered assumptions with the sources that they cite, for every answer that has them."""

from collections.abc import Iterator, Sequence

from kvcalc.answers.margin_result import Assumption
from kvcalc.profiles.sources import Source
from kvcalc.tables import words
from kvcalc.tables.page import Lines
from kvcalc.tables.words import Answer


def blocks(results: Sequence[Answer]) -> Iterator[Lines]:
    """Each assumption once, with the nodes that it is made for where these differ."""
    said: dict[Assumption, list[str]] = {}
    for result in results:
        for each in dict.fromkeys(result.assumptions):
            said.setdefault(each, []).append(result.hardware)
    sources = dict.fromkeys(_source(source) for each in said for source in each.sources)
    names = {source: f"S{number}" for number, source in enumerate(sources, 1)}
    texts = []
    for each, nodes in words.apart(results, said):
        cited = ", ".join(dict.fromkeys(names[_source(source)] for source in each.sources))
        texts.append(f"{nodes}{each.text} [{cited}]" if cited else f"{nodes}{each.text}")
    yield Lines("Assumptions", tuple(texts), numbered=True)
    yield Lines("Sources", tuple(f"{name} {source}" for source, name in names.items()))


def _source(source: Source) -> str:
    checked = f", {source.checked}" if source.checked else ""
    return f"{source.basis}{checked}: {source.title}; {source.address}"
