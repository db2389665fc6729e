"""LMCache's metrics, its own or among vLLM's. Every tensor-parallel worker counts every request.

Names that begin with `mp_` are those of a server of its own (docs/source/mp/observability/metrics.rst of LMCache).
"""

from kvcalc.observe.observation import Lookup, Observation, Traffic, Transfer
from kvcalc.observe.rates import fraction
from kvcalc.observe.samples import Window

PREFIX = "lmcache:"
WORKERS = ("worker_id", "worker")


def observed(window: Window) -> Observation:
    """What LMCache's metrics say; a counter that workers repeat is read once."""
    evicted = window.count("lmcache:local_cpu_evict_keys_count", "lmcache:mp_l1_evicted_chunks", repeated=WORKERS)
    return Observation(
        engine="lmcache",
        model=window.label("model_name"),
        traffic=Traffic(
            elapsed_s=window.elapsed_s,
            lookups=(*_lookups(window), *_server_lookups(window)),
            transfers=(*_transfers(window), *_server_transfers(window)),
            evicted=evicted,
            evicted_unit=None if evicted is None else "chunks",
            prompt_tokens=_count(window, "num_prompt_tokens"),
        ),
        notes=tuple(window.notes),
    )


def _count(window: Window, name: str) -> float | None:
    return window.count(f"lmcache:{name}", repeated=WORKERS)


def _lookups(window: Window) -> tuple[Lookup, ...]:
    """What was looked up comes before what was retrieved, which leaves out what the engine holds itself."""
    lookups: list[Lookup] = []
    for asked_name, found_name, rate_name in (
        ("num_lookup_tokens", "num_lookup_hits", "lookup_hit_rate"),
        ("num_requested_tokens", "num_hit_tokens", "retrieve_hit_rate"),
    ):
        asked, found = _count(window, asked_name), _count(window, found_name)
        rate = fraction(window, f"lmcache:{rate_name}")
        if asked is not None or found is not None or rate is not None:
            tier = "retrieved" if lookups else "external"
            lookups.append(Lookup(tier, "tokens", asked=asked, found=found, stated_rate=rate))
    requests = ((kind, _count(window, f"num_{kind}_requests")) for kind in ("lookup", "retrieve"))
    return (*lookups, *(Lookup(kind, "requests", asked=number) for kind, number in requests if number is not None))


def _server_lookups(window: Window) -> tuple[Lookup, ...]:
    """L1 is the server's DRAM; L2 is asked for what L1 lacks."""
    asked, found, first, second = (
        _count(window, f"mp_lookup_{name}_tokens") for name in ("requested", "hit", "hit_l1", "hit_l2")
    )
    if asked is None:
        return ()
    lookups = [Lookup("external", "tokens", asked=asked, found=found)]
    if first is not None:
        lookups.append(Lookup("dram", "tokens", asked=asked, found=first))
        lookups.append(Lookup("store", "tokens", asked=asked - first, found=second))
    return tuple(lookups)


def _transfers(window: Window) -> tuple[Transfer, ...]:
    """Speeds are tokens a second, not bytes; without a count their sum says nothing."""
    moved = []
    for way, tokens_name, source, target in (
        ("retrieve", "num_hit_tokens", "lmcache", "hbm"),
        ("store", "num_stored_tokens", "hbm", "lmcache"),
    ):
        speed, seconds = _speed(window, way), _count(window, f"time_to_{way}_sum")
        tokens = _count(window, tokens_name)
        if speed is not None or seconds is not None:
            moved.append(Transfer(source, target, tokens=tokens, seconds=seconds, tokens_per_s=speed))
    for way, source, target in (("read", "store", "lmcache"), ("write", "lmcache", "store")):
        size = window.count(f"lmcache:num_remote_{way}_bytes")  # each worker moves its own
        if size is not None:
            moved.append(Transfer(source, target, bytes=size))
    return tuple(moved)


def _server_transfers(window: Window) -> tuple[Transfer, ...]:
    """The copies between GPU and host memory alone: the kernel's phase counts the same bytes, and waits for the GPU."""
    moved = []
    for direction, source, target in (("h2d", "dram", "hbm"), ("d2h", "hbm", "dram")):
        size, seconds = (
            window.count(f"lmcache:mp_transfer_phase_{name}", phase="staging", direction=direction)
            for name in ("bytes", "elapsed_seconds")
        )
        if size is not None:  # the seconds of all GPUs are added up
            moved.append(Transfer(source, target, bytes=size, seconds=seconds, thread_seconds=True))
    return tuple(moved)


def _speed(window: Window, way: str) -> float | None:
    name = f"lmcache:{way}_speed"
    mean, number = window.mean(name)
    if mean is None and number is None and window.series(f"{name}_sum"):
        window.notes.append(f"{name} has a sum of tokens a second but no count: its mean is unknown")
    return mean
