"""What offloading is for, apart from a prefix cache: preemption, decoding from a tier, sharing among replicas."""

from kvcalc.answers import memory, offload
from kvcalc.answers.margin_parts import Active, Preemption, Sharing
from kvcalc.answers.paths import Path, Way, available
from kvcalc.answers.setting import Setting
from kvcalc.errors import UserError
from kvcalc.physics import coefficients, crossover, decode, kv, sharing

ALONE, PAIR = 1, 2  # the batch and the replicas that are meant where none are given
BETWEEN = ("network", "store")  # media that lead to other nodes


def uses(setting: Setting) -> tuple[Preemption, ...] | tuple[Active, ...] | tuple[Sharing, ...]:
    """One row for each path that serves the use. The prefix cache has none: it is the answer itself.

    Raises UserError where nothing serves it.
    """
    match setting.options.use:
        case "preempt":
            return tuple(_preempt(setting, path) for path in setting.paths)
        case "active":
            return _active(setting)
        case "shared":
            return _shared(setting)
        case _:
            return ()


def _preempt(setting: Setting, path: Path) -> Preemption:
    load = setting.loads(setting.tokens)
    recompute = setting.recompute(setting.ways.chosen, setting.tokens)
    back, inwards = offload.route(path, setting), path.typical.seconds(load)
    outwards = back.seconds(load) if back else None
    margin = None if outwards is None else recompute / (outwards + inwards)
    return Preemption(
        tier=path.tier.name,
        links=path.links,
        out_s=outwards,
        in_s=inwards,
        margin=margin,
        margin_in=recompute / inwards,
        verdict=None if margin is None else crossover.verdict(margin, setting.options.min_margin),
    )


def _active(setting: Setting) -> tuple[Active, ...]:
    """Every path, against the KV in HBM. Raises UserError where the weights are not known."""
    model, batch, gpu = setting.model, setting.options.batch or ALONE, setting.machine.accelerator
    hbm = setting.tp * gpu.memory_bandwidth.value
    width = coefficients.WEIGHT_BYTES
    dense, experts = decode.weights(model, batch)
    weights = dense * width[memory.dense_weights(setting.weights)] + experts * width[setting.weights]
    size = kv.logical(model, setting.tokens, setting.kv)
    read = batch * decode.read_bytes(model, setting.tokens, setting.kv)
    held = setting.tp * kv.resident(model, setting.tokens, setting.kv, setting.tp) / size
    reading = (weights + read * held) / hbm
    needed = memory.needs(setting)
    fits = None if needed is None else memory.room(setting, needed).hbm_prefixes
    return tuple(_decode(setting, path, read, reading, fits) for path in setting.paths)


def _decode(setting: Setting, path: Path, read: int, reading: float, fits: int | None) -> Active:
    fetch = path.typical.fetch(setting.loads(setting.tokens))
    size = kv.logical(setting.model, setting.tokens, setting.kv)
    loading = fetch.fixed + (fetch.seconds - fetch.fixed) * read / size
    step, batch = decode.step(reading, loading), setting.options.batch or ALONE
    return Active(
        tier=path.tier.name,
        links=path.links,
        batch=batch,
        read_bytes=read,
        load_s=loading,
        step_s=step,
        tokens_per_s=batch / step,
        hbm_step_s=reading,
        hbm_tokens_per_s=batch / reading,
        slowdown=step / reading,
        needed_bytes_per_s=read / reading,
        hbm_batch=fits,
    )


def _shared(setting: Setting) -> tuple[Sharing, ...]:
    """The paths that lead to other nodes. Raises UserError where none does, or the node has no DRAM to compare with."""
    if setting.options.replicas == 1:
        raise UserError("--replicas: sharing needs two of them, not 1")
    paths = [path for path in setting.paths if path.tier.medium in BETWEEN]
    if not paths:
        raise UserError("no tier here leads to another node; add one, such as --tier infiniband-400g")
    host = paths[0].way.host
    if host is None:
        raise UserError(f"{setting.machine.name!r} has no DRAM to keep a copy of its own in; add it with --tier")
    local = Way(host, host, setting.tp, setting.engine).route(available(host, setting.tp), "typical")
    seconds = local.seconds(setting.loads(setting.tokens))
    return tuple(_share(setting, path, seconds) for path in paths)


def _share(setting: Setting, path: Path, local: float) -> Sharing:
    replicas, stored = setting.options.replicas or PAIR, path.tier.medium == "store"
    remote = path.typical.seconds(setting.loads(setting.tokens))
    pooled = remote if stored else sharing.pooled(local, remote, replicas)
    recompute = setting.recompute(setting.ways.chosen, setting.tokens)
    return Sharing(
        tier=path.tier.name,
        tier_title=path.tier.title,
        links=path.links,
        replicas=replicas,
        local_s=local,
        remote_s=remote,
        pooled_s=pooled,
        margin=recompute / pooled,
        verdict=crossover.verdict(recompute / pooled, setting.options.min_margin),
        capacity_ratio=None if stored else replicas,
        hit_rate_ratio=sharing.hit_rate_ratio(recompute, local, pooled),
    )
