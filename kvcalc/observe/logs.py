"""An engine's log -> one Observation."""

from collections.abc import Callable, Iterable

from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.observe import lines, llamacpp, lmcache, sglang, trtllm, vllm, vllm_forms
from kvcalc.observe.forms import Form
from kvcalc.observe.observation import Engine, Observation
from kvcalc.observe.stated import Stated


@frozen
class Reader:
    """How the log of one engine is read."""

    title: str
    forms: tuple[Form, ...]
    figures: frozenset[str]
    looks_for: str
    observed: Callable[[Stated], Observation]


READERS: dict[Engine, Reader] = {
    "vllm": Reader("vLLM", vllm_forms.FORMS, vllm.FIGURES, vllm.LOOKS_FOR, vllm.observed),
    "sglang": Reader("SGLang", sglang.FORMS, sglang.FIGURES, sglang.LOOKS_FOR, sglang.observed),
    "trtllm": Reader("TensorRT-LLM", trtllm.FORMS, trtllm.FIGURES, trtllm.LOOKS_FOR, trtllm.observed),
    "llamacpp": Reader("llama.cpp", llamacpp.FORMS, llamacpp.FIGURES, llamacpp.LOOKS_FOR, llamacpp.observed),
}
_FORMS = tuple(form for reader in READERS.values() for form in reader.forms)
REPEATED = frozenset(form.marker for form in _FORMS if form.kind == "repeats")
MARKERS = lmcache.MARKERS.union(form.marker for form in _FORMS) - REPEATED


def read(source: str) -> Observation:
    """What the log at a path says, or that on stdin for `-`; it is streamed, so it may be long.

    Raises UserError for what is not a log, a log of no engine known here, and one of two engines.
    """
    return _observed(lines.marked(source, MARKERS, REPEATED), "stdin" if source == "-" else repr(source))


def parse(text: str) -> Observation:
    """What a log that is held already says. Raises UserError as `read` does."""
    return _observed(lines.of_text(text, MARKERS, REPEATED), "the log")


def _observed(marked: Iterable[tuple[int, str]], name: str) -> Observation:
    stated = {engine: Stated(reader.forms, reader.figures) for engine, reader in READERS.items()}
    cache = lmcache.Reader()
    for number, line in marked:
        if not cache.feed(number, line):
            for each in stated.values():
                each.feed(number, line)
    standing = [engine for engine, each in stated.items() if each.stands()]
    if len(standing) > 1:
        titles = " and ".join(READERS[engine].title for engine in standing)
        raise UserError(f"{name} holds lines of {titles}; give the log of one engine")
    if standing:
        beside = (cache.observation(),) if cache.stands() else ()
        return READERS[standing[0]].observed(stated[standing[0]]).with_beside(beside)
    if cache.stands():
        return cache.observation()
    doubts = [doubt for each in stated.values() for doubt in each.doubts] + ([cache.doubt] if cache.doubt else [])
    if doubts:
        raise UserError(f"{name}: {doubts[0]}, and states no other; give the log as the engine printed it")
    raise _nothing(name, [engine for engine, each in stated.items() if each.findings])


def _nothing(name: str, seen: list[Engine]) -> UserError:
    looks_for = "; ".join(f"{reader.title}: {reader.looks_for}" for reader in READERS.values())
    if seen:
        titles = " and ".join(READERS[engine].title for engine in seen)
        return UserError(f"{name} looks like {titles} but states no KV pool; give the whole start-up log ({looks_for})")
    return UserError(f"no line of {name} states a KV pool; looked for {looks_for}; LMCache: {lmcache.LOOKS_FOR}")
