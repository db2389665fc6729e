"""Box 3: is there host memory to spare for the pinned pools?"""

from collections.abc import Iterator
from functools import partial

from kvcalc import units
from kvcalc.answers import checklist_sizes
from kvcalc.answers.checklist_ground import Ground, Known
from kvcalc.answers.checklist_result import Figure, Reason
from kvcalc.answers.checklist_sizes import HostPool
from kvcalc.answers.placement import MEMORY_SHARE

QUESTION = "Is there host memory to spare for pinned pools?"
REGISTER_LIMIT = 549_755_813_888  # bytes; one cudaHostRegister of so much fails (vLLM issue 51080)
PIN_S_PER_GB = (0.1, 1.0)  # seconds at start-up, as users report
ALL_OF_IT = ("the working set", "the trace, to its knee")  # nobody's plan: what a tier that holds everything would take

said = partial(Reason, 3)


def needed(ground: Ground) -> Known | None:
    """Bytes of all ranks together, as they are taken: of the option, the planned tier, the working set, or the knee."""
    options = ground.options
    if found := pool(ground):
        return Known(found.used_bytes, "given")
    planned = next((ground.kept(size) for name, size in options.sizes if name.startswith("dram")), None)
    if planned is not None:
        return Known(planned * ground.stored_per_token, "given")
    if options.working_set and ground.pool:
        lacking = ground.held(options.working_set)
        if lacking > ground.pool.value:
            return Known(lacking * ground.stored_per_token, "the working set")
    if ground.curve and ground.pool and (knee := ground.curve.knee.capacity_tokens) > ground.pool.value:
        return Known(knee * ground.stored_per_token, "the trace, to its knee")
    swapped = [
        each for each in options.read if each.observation.engine == "vllm" and each.observation.cpu_blocks
    ]  # of V0
    read = [(each.kind, each.observation.host_pool_bytes) for each in options.read if each not in swapped]
    return next((Known(size * ground.tp, kind) for kind, size in read if size), None)


def pool(ground: Ground) -> HostPool | None:
    """What the engine's option comes to."""
    if ground.host_pool is None:
        return None
    return checklist_sizes.pool(ground.engine, ground.options.engine_version, ground.host_pool, ground.tp)


def spare(ground: Ground) -> Known | None:
    """Bytes that the host has for it; the profile knows what is there, not what is free."""
    options = ground.options
    if options.host_memory is not None:
        return Known(options.host_memory, "given")
    return None if options.host is None else Known(options.host.spare_bytes, "this host")


def reasons(ground: Ground) -> Iterator[Reason]:
    """Whether it is enough, and what keeps it from being pinned."""
    want, have = needed(ground), spare(ground)
    whole = ground.machine.node.host_memory
    if pool(ground):
        yield _asked(ground, pool(ground))
    if want is None:
        yield said("unknown", "no-size", "no size is planned: say what the tier takes with --host-pool or --tier-size")
    elif want.origin in ALL_OF_IT and ground.options.reuse != "cyclic" and _short(ground, want):
        yield said("unknown", "host-holds-a-part", _part(ground, want))
    elif have is not None and want.value > have.value:
        yield said("blocks", "host-memory-short", f"{_wants(want)} and the host has {units.both(have.value)} to spare")
    elif have is not None and want.value * ground.together > have.value:
        every = units.both(want.value * ground.together)
        yield said(
            "unknown", "replicas-share-the-host",
            f"{_wants(want)} for each replica; {ground.together} on one host would take {every} and it has "
            f"{units.both(have.value)} to spare",
        )  # fmt: skip
    elif have is not None:
        yield said(
            "supports", "host-memory-spare", f"{_wants(want)} and the host has {units.both(have.value)} to spare"
        )
    elif whole is not None and want.value > whole.value:
        yield said("blocks", "host-memory-short", f"{_wants(want)} and the node has {units.both(whole.value)} in all")
    else:
        yield said("unknown", "spare-not-known", f"{_wants(want)}; what the host has to spare is not known")
    yield from _locked(ground, want)
    yield from _overhead(ground)
    yield from _gpu(ground)


def _short(ground: Ground, want: Known) -> float | None:
    """What the host has, if that is less."""
    have, whole = spare(ground), ground.machine.node.host_memory
    most = have.value if have else whole.value if whole else None
    return most if most is not None and want.value > most else None


def _part(ground: Ground, want: Known) -> str:
    """A tier need not hold everything, unless all of it comes again in turn."""
    most = _short(ground, want) or 0.0
    return (
        f"{want.origin} would take {units.both(want.value)} and the host has {units.both(most)}: a tier of that holds "
        f"{100 * most / want.value:.0f} % of it, which helps unless it comes again in a cycle; plan it with --tier-size"
    )


def _wants(want: Known) -> str:
    return f"{units.both(want.value)} of pinned memory are needed"


def _asked(ground: Ground, found: HostPool | None) -> Reason:
    assert found is not None
    number = ground.together
    times = f", and {number} replicas on one node take {units.both(number * found.used_bytes)}" if number > 1 else ""
    whose = f"each of {found.ranks} ranks" if found.ranks > 1 else "all ranks together"
    used = ", pinned buffers rounded up to a power of two" if found.rounded else ", not rounded"
    return said(
        "note", "asked-and-used",
        f"{found.option} of {units.both(found.said_bytes)} is of {whose}: {units.both(found.asked_bytes)} asked, "
        f"{units.both(found.used_bytes)} used{used}{times}",
    )  # fmt: skip


def _locked(ground: Ground, want: Known | None) -> Iterator[Reason]:
    """What stands in the way of pinning."""
    options = ground.options
    limit = options.memlock
    if limit is None and options.host is not None:
        limit = options.host.locked_limit_bytes
    if want and limit is not None and want.value > limit:
        yield said(
            "note" if want.origin in ALL_OF_IT else "cheaper", "locked-memory-limit",
            f"{_wants(want)} and the locked-memory limit is {units.both(limit)}: raise it ('ulimit -l unlimited', or "
            "the container's), and look at the driver and WSL, before planning capacity",
        )  # fmt: skip
    if want:
        quick, slow = (units.short(units.gb(want.value) * each, "s") for each in PIN_S_PER_GB)
        yield said("note", "pin-time", f"pinning {units.both(want.value)} takes {quick} to {slow} at start-up")
    if want and ground.engine == "vllm" and want.value >= REGISTER_LIMIT:
        yield said("note", "register-limit", "pinning 512 GiB or more in one call fails in some vLLM (issue 51080)")


def _overhead(ground: Ground) -> Iterator[Reason]:
    used, found = ground.options.host_used, pool(ground)
    if used is None:
        return
    if found is None:
        text = f"{units.both(used)} of host memory were used; give what was asked with --host-pool"
        ratio = ground.options.host_ratio
        yield said("note", "used-alone", f"{text}{', and --pool: it is a multiple of that' if ratio else ''}")
        return
    ratio = used / found.asked_bytes
    text = f"{units.both(used)} were used where {units.both(found.asked_bytes)} were asked, {units.times(ratio)}"
    yield said("note", "used-against-asked", f"{text}: plan with what is used")


def _gpu(ground: Ground) -> Iterator[Reason]:
    """Copies to the host need buffers on the GPU too, which come out of what the engine leaves."""
    utilization, fits = ground.options.memory_utilization, ground.capacity
    if utilization is None or fits is None:
        return
    left = (1 - utilization) * fits.hbm.device_bytes - fits.hbm.reserved_bytes
    text = (
        f"a memory fraction of {utilization:g} leaves {units.both(max(left, 0.0))} on each GPU for graphs, activations "
        "and the staging buffers of host transfers, small pages needing more"
    )
    if utilization > MEMORY_SHARE:
        yield said("cheaper", "gpu-staging", f"{text}: lower it before host transfers are turned on")
    else:
        yield said("note", "gpu-staging", text)


def figures(ground: Ground) -> Iterator[Figure]:
    """Asked, used, spare, and the limits of this host."""
    found, want, have, host = pool(ground), needed(ground), spare(ground), ground.options.host
    if found:
        yield Figure("asked, all ranks", found.asked_bytes, "B", "given")
        yield Figure("used, all ranks", found.used_bytes, "B", "the engine's rule")
    if want:
        yield Figure("needed, pinned", want.value, "B", want.origin)
    yield Figure("host memory to spare", have.value if have else None, "B", have.origin if have else "")
    whole = ground.machine.node.host_memory
    yield Figure("host memory in all", whole.value if whole else None, "B", "profile" if whole else "")
    if host:
        yield Figure("this host in all", host.total_bytes, "B", "this host")
        yield Figure("locked-memory limit", host.locked_limit_bytes, "B", "this host")
        yield Figure("left in the control group", host.group_left_bytes, "B", "this host")


def run(ground: Ground) -> Iterator[str]:
    """What would tell."""
    if spare(ground) is None:
        yield "kvcalc checklist ... --host-memory here, on the serving host (what is free, and the limits)"
    if needed(ground) is None:
        yield "kvcalc capacity --model MODEL --hardware NODE (what to ask for, and what is used)"
