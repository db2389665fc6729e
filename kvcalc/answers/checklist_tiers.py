"""Box 1, the planned tiers: a tier must hold more than what lies above it, and drain faster than it fills."""

from collections.abc import Iterator
from functools import partial

from kvcalc import units
from kvcalc.answers.advice import ADDS
from kvcalc.answers.checklist_ground import Ground
from kvcalc.answers.checklist_result import Figure, Reason
from kvcalc.answers.checklist_sizes import PER_RANK
from kvcalc.observe.observation import Observation
from kvcalc.physics import formats

# TensorRT-LLM 1.0, kvCacheManager: a block goes to the secondary pool when the primary one evicts it
EXCLUSIVE = ("trtllm",)

HARDLY = 0.01  # read of written

said = partial(Reason, 1)


def tokens(count: float) -> str:
    """A count of tokens: "1.12 M tokens"."""
    return f"{units.short(count, '').strip()} tokens" if count >= 1e6 else f"{units.count(count)} tokens"


def sizes(ground: Ground) -> list[tuple[str, float, str]]:
    """Tiers below HBM with the tokens they hold and who says so, from the nearest on."""
    options = ground.options
    found = [(name, ground.kept(amount), "given") for name, amount in options.sizes]
    if ground.host_pool and not any(name.startswith("dram") for name, _, _ in found):
        ranks = ground.tp if PER_RANK.get(ground.engine) else 1
        found.insert(0, ("dram", ground.host_pool * ranks / ground.stored_per_token, "given"))
    if not found:
        read = [(each.kind, host_tokens(each.observation)) for each in options.read]
        found += [("dram", float(held), kind) for kind, held in read if held]
    return found


def host_tokens(seen: Observation) -> int | None:
    """Of a pool that caches prefixes: the CPU blocks of vLLM V0 are swap space for preempted requests."""
    return None if seen.engine == "vllm" else seen.host_tokens


def reasons(ground: Ground) -> Iterator[Reason]:
    """Tiers that add nothing, reuse that no least-recently-used cache serves, tiers that clog, stores never read."""
    yield from _on_trace(ground)
    yield from _inclusive(ground)
    yield from _cyclic(ground)
    yield from _drain(ground)
    yield from _never_read(ground)
    yield from _threshold(ground)


def _on_trace(ground: Ground) -> Iterator[Reason]:
    """What each tier adds to the hits of the tiers above it, on the trace."""
    for place in ground.curve.places if ground.curve else ():
        if place.kv_dtype != curve_format(ground) or place.medium not in ("dram", "nvme"):
            continue
        size = units.short(place.tier_bytes, "B")
        rate = f"{place.tier} of {size} would take the trace's hits to {100 * place.token_rate:.1f} %"
        if place.added_rate < ADDS:
            yield said(
                "note", "adds-nothing-on-the-trace", f"{rate}, {100 * place.added_rate:.1f} points more: nothing"
            )
        else:
            yield said("note", "adds-on-the-trace", f"{rate}, {100 * place.added_rate:.1f} points more")


def curve_format(ground: Ground) -> str:
    """The format on the curve that comes nearest to the one in use."""
    return "bf16" if ground.kv.stored in formats.UNQUANTISED else "fp8"


def _inclusive(ground: Ground) -> Iterator[Reason]:
    if ground.pool is None:
        return
    if ground.engine in EXCLUSIVE:
        return
    above, name_above = ground.pool.value, "HBM, as predicted" if ground.pool.origin == "predicted" else "HBM"
    for name, held, _ in sizes(ground):
        if held <= above:
            yield said(
                "blocks", "tier-not-larger",
                f"{name} is no larger than {name_above}, {tokens(held)} against {tokens(above)}: a tier that also "
                "keeps what is above it adds only what it has beyond that, here nothing",
            )  # fmt: skip
        elif (extra := held - above) < held:
            yield said("note", "tier-adds", f"{name} holds {tokens(held)}, {tokens(extra)} beyond {name_above}")
        above, name_above = max(above, held), name if held > above else name_above


def _cyclic(ground: Ground) -> Iterator[Reason]:
    wanted, found = ground.options.working_set, sizes(ground)
    if wanted is None or not found:
        return
    whole = ground.held(wanted)
    most = max(held for _, held, _ in found)
    if max(most, ground.pool.value if ground.pool else 0.0) >= whole:
        return
    needed = units.both(whole * ground.bytes_per_token)
    each = f", {units.both(whole * ground.bytes_per_token / ground.tp)} a rank" if ground.tp > 1 else ""
    if ground.options.reuse == "cyclic":
        yield said(
            "blocks", "cyclic-reuse",
            f"the working set comes again in a cycle of {tokens(whole)} and the largest tier holds {tokens(most)}: "
            f"least recently used evicts each prefix just before its turn, so about 0 hits; it needs more "
            f"than {needed}{each}",
        )  # fmt: skip
    else:
        yield said(
            "note", "tier-below-working-set",
            f"the largest tier holds {tokens(most)} of a working set of {tokens(whole)} ({needed}{each}); if it comes "
            "again in a cycle, that gives about 0 hits",
        )  # fmt: skip


def written_bytes_per_s(ground: Ground) -> float:
    """What prefill writes down at its full rate where nothing is hit."""
    return ground.margin.recompute.tokens_per_s * ground.bytes_per_token


def _drain(ground: Ground) -> Iterator[Reason]:
    drain, written = ground.options.drain, written_bytes_per_s(ground)
    if drain and drain < written:
        yield said(
            "cheaper", "drain-below-fill",
            f"prefill writes up to {units.short(written, 'B/s')} and the tier below takes {units.short(drain, 'B/s')}: "
            f"it fills {units.times(written / drain)} as fast as it drains, and blocks that wait stay pinned",
        )  # fmt: skip


def _never_read(ground: Ground) -> Iterator[Reason]:
    """Bytes or tokens that went down and none that came back."""
    for traffic in ground.traffics:
        for down in traffic.transfers:
            back = traffic.transfer(down.target, down.source)
            if down.source in ("hbm", "dram") and _moved(down) and back and not _moved(back):
                yield said(
                    "cheaper", "written-never-read",
                    f"{down.target} was written from {down.source} and never read: look whether prefixes are still in "
                    "the tiers above, below the engine's prefetch threshold, or given up before their prefetch ends",
                )  # fmt: skip
            elif down.source in ("hbm", "dram") and back and _moved(back) < HARDLY * _moved(down):
                share = 100 * _moved(back) / _moved(down)
                yield said(
                    "cheaper", "written-hardly-read",
                    f"of what {down.target} was given by {down.source}, {share:.1f} % was read again: storing it costs "
                    "more than it brings; find out what would come again first (kvcalc curve TRACE)",
                )  # fmt: skip


def _moved(transfer: object) -> float:
    return sum(getattr(transfer, name) or 0.0 for name in ("bytes", "tokens", "blocks"))


def _threshold(ground: Ground) -> Iterator[Reason]:
    threshold = ground.options.prefetch_threshold
    if threshold and ground.tokens.value < threshold:
        yield said(
            "blocks", "below-prefetch-threshold",
            f"prefixes of {tokens(ground.tokens.value)} are below the engine's prefetch threshold of "
            f"{tokens(threshold)}: they are written and never read",
        )  # fmt: skip
    elif threshold:
        yield said(
            "note", "prefetch-conditions",
            f"a lower tier is read only for prefixes from {tokens(threshold)} on that no tier above holds, and if the "
            "prefetch ends before its policy (best effort, timeout) gives up",
        )  # fmt: skip


def figures(ground: Ground) -> Iterator[Figure]:
    """What each tier holds, and the traffic of storing."""
    for name, held, origin in sizes(ground):
        yield Figure(f"{name} holds", held, "tokens", origin)
    yield Figure("store traffic at the full prefill rate, nothing hit", written_bytes_per_s(ground), "B/s", "profile")
    if ground.options.drain:
        yield Figure("drain to the tier below", ground.options.drain, "B/s", "given")
    if ground.options.value_bytes:
        yield Figure("tokens in one value", ground.options.value_bytes / ground.bytes_per_token, "tokens", "given")
