"""What a log may leave unsaid of a run, and the pool that follows from it."""

from collections.abc import Iterator
from dataclasses import replace

from kvcalc.answers.log_setting import Seen
from kvcalc.frozen import frozen
from kvcalc.physics.engines import rules
from kvcalc.physics.engines.plan import Plan
from kvcalc.profiles.model import Chunked, Full, LayerGroup, Model, Recurrent, Sliding

STEPS = (8192, 2048, 16384)  # tokens of a step: vLLM's defaults by GPU and entry point
DRAFTS = range(1, 9)


@frozen
class Variant:
    """What is supposed of a run beyond what its log states."""

    step: int = STEPS[0]
    draft: int = 0  # tokens of speculative decoding, with the draft layers
    prefix_caching: bool = True
    whole_windows: bool = False  # the hybrid cache manager is off, as in V0 and with some connectors

    @property
    def text(self) -> str | None:
        """What is supposed, if anything is."""
        said = []
        if self.step != STEPS[0]:
            said.append(f"steps of {self.step:,} tokens")
        if self.draft:
            said.append(f"draft layers and {self.draft} draft token{'s' if self.draft > 1 else ''}")
        if not self.prefix_caching:
            said.append("no prefix caching")
        if self.whole_windows:
            said.append("windows allocated in full (hybrid KV cache manager off)")
        return ", ".join(said) or None


def variants(seen: Seen, model: Model) -> Iterator[Variant]:
    """The defaults first."""
    yield Variant()
    if seen.log.engine not in ("vllm", "dynamo"):
        return
    if any(isinstance(group, Sliding | Chunked) for group in model.groups):
        yield from (Variant(step) for step in STEPS[1:])
        yield Variant(whole_windows=True)
    if any(isinstance(group, Recurrent) for group in model.groups):
        yield from (Variant(draft=draft) for draft in DRAFTS)
        yield Variant(prefix_caching=False)
    elif model.mtp:
        yield Variant(draft=1)


def plan(seen: Seen, model: Model, variant: Variant, kv_format: str | None = None) -> Plan:
    """The engine's pool on one rank; llama.cpp keeps the whole model's cache and pads nothing."""
    engine = {"llamacpp": "ideal", "dynamo": "vllm"}.get(seen.log.engine, seen.log.engine)
    tp, pp = (1, 1) if seen.log.engine == "llamacpp" else (seen.tp, seen.pp)
    if variant.whole_windows:
        model = replace(model, groups=tuple(map(_unwindowed, model.groups)))
    run = rules.Run(tp, pp, variant.step, variant.draft)
    found = rules.plan(engine, model, kv_format or seen.kv or "bf16", run)
    if variant.prefix_caching:
        return found
    states = (replace(each, constant=1) if each.kind == "recurrent" else each for each in found.segments)
    return replace(found, segments=tuple(states))


def _unwindowed(group: LayerGroup) -> LayerGroup:
    if not isinstance(group, Sliding | Chunked):
        return group
    shape = {name: getattr(group, name) for name in ("layers", "heads", "kv_heads", "key_width", "value_width")}
    return Full(kind="full", **shape)
