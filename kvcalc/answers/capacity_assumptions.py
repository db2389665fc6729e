"""What a capacity rests on, each with its sources."""

from collections.abc import Iterator
from datetime import date

from kvcalc import units
from kvcalc.answers.capacity_memory import utilization
from kvcalc.answers.capacity_setting import CapacitySetting
from kvcalc.answers.margin_result import Assumption
from kvcalc.physics.engines import rules
from kvcalc.physics.engines.lmcache import CHUNK
from kvcalc.profiles.model import Chunked, Compressed, Full, Latent, Recurrent, Sliding
from kvcalc.profiles.sources import Source, given

CHECKED = date(2026, 11, 29)
PAGES = Source(
    title="vLLM 0.33, kv_cache_planning.py, kv_cache_interface.py and platforms/interface.py",
    address="https://github.com/vllm-project/vllm/tree/v0.33.0/vllm/v1",
    basis="config",
    checked=CHECKED,
)
POOLS = Source(
    title="SGLang 0.5.23, pool_configurator.py and server_args.py",
    address="https://github.com/sgl-project/sglang/tree/v0.5.23/python/sglang/srt",
    basis="config",
    checked=CHECKED,
)
OFFLOAD = Source(
    title="vLLM pull requests 50094 (one region) and 48436, SGLang 36562, PyTorch 171662 (a power of two)",
    address="https://github.com/vllm-project/vllm/pull/50094",
    basis="measured",
    checked=CHECKED,
)


def assumptions(setting: CapacitySetting) -> tuple[Assumption, ...]:
    """Numbered on the page as they stand here."""
    return (
        *_device(setting),
        *_weights(setting),
        *_budget(setting),
        _plan(setting),
        *_draft(setting),
        _lengths(setting),
        *_tiers(setting),
        _store(setting),
        *_host(setting),
    )


def _device(setting: CapacitySetting) -> Iterator[Assumption]:
    gpu, share = setting.machine.accelerator, setting.options.memory_utilization
    figure = gpu.device_memory or gpu.memory
    sold = "as it is sold, a lower bound: devices known here report 0 to 7 % more"
    said = "as the device reports it" if gpu.device_memory else sold
    yield Assumption(f"{gpu.title}: {units.both(figure.value)}, {said}", (figure.source,))
    sources = (given(f"--memory-utilization {share:g}"),) if share is not None else ()
    if setting.budget and setting.budget.utilization and share is None:
        sources = (setting.budget.utilization.source,)
    yield Assumption(f"The engine may use {100 * utilization(setting):g} % of it{_meaning(setting)}", sources)


def _meaning(setting: CapacitySetting) -> str:
    share = setting.budget.share if setting.budget else "of-device"
    return {
        "of-device": " for weights, activations, context and KV cache",
        "of-device-with-activations-beside": " for weights, context and pools; activations and graphs live in the rest",
        "of-free": " that is free once weights, activations and context are there, for KV cache",
    }[share]


def _weights(setting: CapacitySetting) -> Iterator[Assumption]:
    options = setting.options
    if options.weights_bytes is not None:
        yield Assumption("Weights as given, on each GPU", (given("--weights-gib"),))
        return
    text = f"Weights in {setting.weights}, counted from the profile; embedding and LM head in 16 bits"
    if options.dp > 1:
        text += "; experts cut over all replicas, the rest whole in each"
    yield Assumption(
        f"{text}. Vision towers are not counted: give --weights-gib for a multimodal model", (setting.model.source,)
    )


def _budget(setting: CapacitySetting) -> Iterator[Assumption]:
    known = setting.budget
    if known is None:
        yield Assumption("An ideal engine takes nothing but weights and KV cache")
        return
    band = (
        f", pool within {100 * known.error.value:.2g} % in nine runs of ten that it was fitted to"
        if known.error
        else ""
    )
    text = f"Activations, context and CUDA graphs of {known.title.removeprefix('Memory of ').split(' beside')[0]}{band}"
    if setting.options.engine_version is None:
        text += "; --engine-version says how far another version is from it"
    yield Assumption(text, (known.activation.vocabulary.source,))


def _plan(setting: CapacitySetting) -> Assumption:
    stored = "" if setting.kv == setting.options.kv_dtype else f", which engines store as {setting.kv}"
    text = f"KV format {setting.options.kv_dtype}{stored}; blocks by the rule of {setting.options.engine}"
    sources = {"vllm": (PAGES,), "lmcache": (PAGES,), "sglang": (POOLS,)}.get(setting.options.engine, ())
    return Assumption(text, (*sources, setting.model.source))


def _draft(setting: CapacitySetting) -> Iterator[Assumption]:
    count, model = setting.options.draft, setting.model
    if not count:
        return
    if model.mtp:
        layers = units.counted(sum(each.layers for each in model.mtp if each.kind != "indexer"), "draft layer")
        yield Assumption(f"{units.counted(count, 'draft token')} by the model's own {layers}", (model.source,))
    elif not _has(setting, Full, Latent):
        yield Assumption(f"{units.counted(count, 'draft token')} widen the states; no draft layer is known or supposed")
    else:
        yield Assumption(
            f"{units.counted(count, 'draft token')}: {model.name} has no draft layers, so one more layer of its full "
            "attention is supposed, as EAGLE's draft has; the draft's weights are not counted"
        )


def _lengths(setting: CapacitySetting) -> Assumption:
    length = units.count(setting.max_model_len)
    own = "--max-model-len" if setting.options.max_model_len else "the model's context"
    prefix = units.count(setting.prefix)
    return Assumption(
        f"Requests of {length} tokens ({own}) that run, prefixes of {prefix} at rest, none sharing blocks"
    )


def _tiers(setting: CapacitySetting) -> Iterator[Assumption]:
    for tier, size in setting.tiers:
        if size is None:
            continue
        sources = (
            (tier.capacity.source,)
            if tier.capacity and tier.capacity.value == size
            else (given(f"--tier {tier.name}=SIZE"),)
        )
        yield Assumption(
            f"{tier.name}: {units.both(size)}, all of it for KV cache: leave aside what the system and the engine need",
            sources,
        )


def _store(setting: CapacitySetting) -> Assumption:
    kept = "once" if setting.replicas == "once" else "once for each rank that holds it"
    return Assumption(f"What ranks hold alike is stored {kept}{_windows(setting)}{_states(setting)}")


def _windows(setting: CapacitySetting) -> str:
    if setting.options.engine == "ideal" or not _has(setting, Sliding, Chunked):
        return ""
    return "; of windows a prefix takes the last one, up to all of them: engines and connectors differ"


def _states(setting: CapacitySetting) -> str:
    """How often an engine keeps a state of a prefix below HBM."""
    if setting.options.engine == "ideal" or not _has(setting, Recurrent, Compressed):
        return ""
    chunks = rules.chunks(setting.plan(pp=1))
    if not chunks.states:
        return (
            f"; how often {setting.options.engine} keeps a state of a prefix below HBM is not known here: the least is "
            "counted, one state a prefix"
        )
    lmcache = f" (LMCache's {CHUNK} rounded up to vLLM's block)" if setting.options.engine == "lmcache" else ""
    return (
        f"; of states a prefix takes one, up to one for every {units.count(chunks.tokens)} tokens{lmcache}: "
        "engines and connectors differ"
    )


def _has(setting: CapacitySetting, *kinds: type) -> bool:
    return any(isinstance(group, kinds) for group in setting.model.groups)


def _host(setting: CapacitySetting) -> Iterator[Assumption]:
    if setting.options.engine in ("vllm", "sglang"):
        yield Assumption("Pinned buffers that PyTorch's allocator makes are rounded up to a power of two", (OFFLOAD,))
