"""What a planner should hear before believing a capacity: nothing fits, a tier adds nothing, a known limit is met."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.capacity_host import ONE_CALL, REGISTER_LIMIT
from kvcalc.answers.capacity_options import PREFIX
from kvcalc.answers.capacity_result import Fits, HbmBudget, HostAsk, TierSize
from kvcalc.answers.capacity_setting import FITTED, CapacitySetting
from kvcalc.physics.engines.plan import Plan


def warnings(
    setting: CapacitySetting,
    plan: Plan,
    hbm: HbmBudget,
    found: tuple[Fits, tuple[TierSize, ...], tuple[HostAsk, ...]],
    remedies: tuple[str, ...],
) -> tuple[str, ...]:
    """In the order in which a plan fails by them; `found` is what fits in HBM and below, and what to ask for."""
    fits, tiers, host = found
    below = (*_tiers(setting, tiers), *_pinned(setting, tiers, host)) if tiers else ()
    return (
        *(_short(setting, hbm, remedies) if hbm.short_bytes else _hbm(setting, fits)),
        *_asked(setting),
        *plan.notes,
        *_graphs(setting, hbm),
        *_version(setting),
        *below,
    )


def _short(setting: CapacitySetting, hbm: HbmBudget, remedies: tuple[str, ...]) -> Iterator[str]:
    lacking = units.both(hbm.short_bytes)
    by = "--reserve" if remedies and "--reserve" in remedies[0] else f"{setting.weights} weights"
    by = "the weights" if setting.options.weights_bytes is not None and by != "--reserve" else by
    yield f"nothing is left for KV cache beside {by}: {lacking} are lacking on each GPU, and the engine does not start"
    yield from remedies


def _hbm(setting: CapacitySetting, fits: Fits) -> Iterator[str]:
    length = units.count(setting.max_model_len)
    if fits.requests < 1:
        yield (
            f"not one request of {length} tokens fits in HBM; the longest has {units.count(fits.longest)}: "
            "engines refuse to start with that --max-model-len"
        )
    if setting.prefix > fits.longest:
        yield f"the prefix of {units.count(setting.prefix)} tokens does not fit in HBM beside what runs"
    step = setting.batch.tokens
    if fits.requests >= 1 and fits.tokens < step:
        held = units.count(fits.tokens)
        yield f"a step computes up to {units.count(step)} tokens and the pool holds {held}: not one full batch fits"


def _asked(setting: CapacitySetting) -> Iterator[str]:
    """Defaults that are not what one would take them for."""
    options, gpus = setting.options, setting.machine.node.gpus
    if options.prefix is None and setting.prefix < PREFIX:
        yield (
            f"prefixes are of {units.count(setting.prefix)} tokens, the longest request, not of the usual "
            f"{units.count(PREFIX)}"
        )
    if setting.idle_gpus:
        replica = setting.tp * options.pp
        more = gpus // replica
        all_of = "all" if gpus % replica == 0 else "more"
        hint = f"; --dp {more} would use {all_of}" if more > options.dp else ""
        yield (
            f"{setting.idle_gpus} of {gpus} GPUs are idle, and what runs on the rest has the whole node's host "
            f"memory{hint}"
        )


def _graphs(setting: CapacitySetting, hbm: HbmBudget) -> Iterator[str]:
    left = hbm.withheld_bytes
    beside = hbm.graphs_bytes
    if setting.budget and setting.budget.share == "of-device-with-activations-beside":
        beside += hbm.activation_bytes
    if setting.budget and left < beside:
        yield (
            f"{units.both(beside)} are taken after the pool and the utilization leaves {units.both(max(left, 0.0))}: "
            "the engine may run out of memory when it starts"
        )


def _version(setting: CapacitySetting) -> Iterator[str]:
    known, gpu = setting.budget, setting.machine.accelerator
    if known is None:
        return
    engine, version = setting.options.engine, setting.options.engine_version
    if setting.other_version:
        yield f"activations, context and graphs are those of {known.name}: for {engine} {version} it extrapolates"
    if known.engine != "vllm":
        yield f"activations, context and graphs are vLLM's, no figures of {engine} were found: it extrapolates"
    if gpu.name != FITTED:
        yield f"activations, context and graphs were measured on an H100: for {gpu.title} it extrapolates"
    if known.engine == "vllm" and setting.release and setting.release < (0, 17):
        yield "activations fell by about 60 % in vLLM 0.17: an earlier version leaves less for KV cache than this says"


def _tiers(setting: CapacitySetting, tiers: tuple[TierSize, ...]) -> Iterator[str]:
    for tier in tiers:
        if tier.adds_prefixes_high is None or tier.adds_prefixes_low:
            continue
        if not tier.prefixes_high:
            yield f"{tier.tier}: holds not one prefix of {units.count(setting.prefix)} tokens"
            continue
        held = units.counted(
            tier.prefixes_high if not tier.adds_prefixes_high else tier.prefixes_low or 0, "prefix", "prefixes"
        )
        sure = "this one adds nothing"
        if tier.adds_prefixes_high:
            sure = "this one adds nothing, unless the engine stores windows and states in the least form"
        yield (
            f"{tier.tier}: its {held} are no more than a tier above it holds: "
            f"where a tier also keeps what is above it, {sure}"
        )
    unknown = [tier.tier for tier in tiers if tier.capacity_bytes is None]
    if unknown:
        yield f"size not known of {', '.join(unknown)}: give it with --tier NAME=SIZE"


def _pinned(setting: CapacitySetting, tiers: tuple[TierSize, ...], host: tuple[HostAsk, ...]) -> Iterator[str]:
    dram = next((tier.capacity_bytes for tier in tiers if tier.medium == "dram" and tier.capacity_bytes), None)
    if dram is None or setting.options.engine == "ideal":
        return
    if setting.options.engine == "vllm" and dram >= REGISTER_LIMIT and setting.release in (None, *ONE_CALL):
        yield (
            "vLLM 0.26 and 0.27 pin host memory in one cudaHostRegister call, which fails from 512 GiB on (issue "
            "51080): ask them for less, or use a version that registers in parts (pull request 51081, after 0.26)"
        )
    if any(ask.whole_takes_bytes > dram for ask in host):
        (worst, *_) = sorted(host, key=lambda ask: -ask.whole_takes_bytes)
        yield (
            f"asking {worst.option} for all of the host's memory would take {units.both(worst.whole_takes_bytes)} "
            f"of {units.both(dram)}: pinned buffers are rounded up to a power of two"
        )
    if setting.machine.accelerator.name.startswith("rtx"):
        yield "under Windows (WDDM, WSL) pinned host memory is charged to the GPU's own memory"
    if setting.machine.accelerator.name.startswith("mi"):
        yield "under ROCm host registration failed between 128 and 512 GB (vLLM issue 52656): try the size first"
    yield "pinned memory counts against the locked-memory limit ('ulimit -l') and takes 0.1 to 1 s a GB at start-up"
