"""Requests that share links, in an answer to `margin`: each path under load, then every link and ceiling."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.margin_parts import Contention, Station, Traffic
from kvcalc.answers.margin_result import Margin
from kvcalc.tables import words
from kvcalc.tables.page import Cell, Column, Table


def blocks(result: Margin, on: str) -> Iterator[Table]:
    """What was asked for: the restores that begin together, the load at a rate with every link, or both."""
    traffic = result.traffic
    if traffic is None:
        return
    if traffic.concurrency is not None:
        yield _together(traffic, result, on)
    if traffic.rate_per_s is not None:
        yield _loaded(traffic, result, on)
        yield _stations(traffic, on)


def _together(traffic: Traffic, result: Margin, on: str) -> Table:
    columns = (
        Column("Path", "path"),
        Column("Fetch alone", "fetch_s", number=True),
        Column("All fetched", "concurrent_fetch_s", number=True),
        Column("All recomputed", "concurrent_recompute_s", number=True),
        Column("Margin", "concurrent_margin", number=True),
    )
    rows = [
        (
            _name(each),
            words.seconds(path.fetch_s),
            words.seconds(each.concurrent_fetch_s),
            words.seconds(traffic.concurrent_recompute_s),
            Cell(words.times(each.concurrent_margin or 0.0, result), each.concurrent_margin),
        )
        for each, path in zip(traffic.paths, result.paths, strict=True)
    ]
    replicas = units.counted(traffic.replicas, "replica")
    title = f"{traffic.concurrency} restores at once, on a node of {replicas}{on}"
    return Table(title, columns, tuple(rows))


def _loaded(traffic: Traffic, result: Margin, on: str) -> Table:
    columns = (
        Column("Path", "path"),
        Column("Busiest link", "utilisation", number=True),
        Column("Saturates at", "saturation_per_s", number=True),
        Column("Fetch alone", "fetch_s", number=True),
        Column("Wait", "wait_s", number=True),
        Column("Fetch under load", "loaded_fetch_s", number=True),
        Column("Margin", "loaded_margin", number=True),
        Column("Verdict", "loaded_verdict"),
    )
    rows = [
        (
            _name(each),
            _share(each.utilisation),
            _rate(each.saturation_per_s),
            words.seconds(path.fetch_s),
            words.seconds(each.wait_s, _without(each)),
            words.seconds(each.loaded_fetch_s, _without(each)),
            Cell("" if each.loaded_margin is None else words.times(each.loaded_margin, result), each.loaded_margin),
            Cell("over capacity" if each.saturated else each.loaded_verdict or "", each.loaded_verdict),
        )
        for each, path in zip(traffic.paths, result.paths, strict=True)
    ]
    return Table(f"Under load, {_asked(traffic)}{on}", columns, tuple(rows), _prefill(traffic))


def _without(each: Contention) -> str:
    """Why there is no wait."""
    return "grows" if each.saturated else "no hits"


def over(result: Margin) -> str:
    """A sentence for the headline on what the rate is too much for; nothing where all bear it."""
    traffic = result.traffic
    if traffic is None or traffic.rate_per_s is None:
        return ""
    tiers = {each.tier for each in traffic.paths} - {each.tier for each in traffic.paths if not each.saturated}
    tiers &= {use.tier for use in result.uses} or tiers
    full = [each.tier for each in traffic.paths if each.tier in tiers]
    named = [*(["the GPUs"] if traffic.overloaded else []), *dict.fromkeys(full)]
    return f" At {_asked(traffic)} over capacity: {', '.join(named)}." if named else ""


def _asked(traffic: Traffic) -> str:
    return f"{_rate(traffic.rate_per_s).text}, hit rate {_share(traffic.hit_rate).text}"


def _prefill(traffic: Traffic) -> str:
    busy, full = _share(traffic.prefill_utilisation).text, _rate(traffic.prefill_saturation_per_s).text
    without = _rate(traffic.prefill_saturation_without_per_s).text
    replicas = units.counted(traffic.replicas, "replica")
    return (
        f"Prefill keeps the node's {replicas} {busy} busy and saturates at {full or 'no rate'}; "
        f"with no hit at {without}. {_waits(traffic)} Mean waits by Pollaczek and Khinchine, requests at random."
    )


def _waits(traffic: Traffic) -> str:
    """What the margin has above its line."""
    if not traffic.hit_rate:
        return "Nothing hits, so nothing is fetched."
    if traffic.loaded_recompute_s is None:
        return "Recomputing has a queue that only grows, so there is no margin."
    waits, loaded = (units.short(each, "s") for each in (traffic.prefill_wait_s or 0.0, traffic.loaded_recompute_s))
    return f"Margin: a recompute waits {waits} for the GPUs, {loaded} in all, over the fetch under load."


def _stations(traffic: Traffic, on: str) -> Table:
    columns = (
        Column("Path", "path"),
        Column("Link or ceiling", "name"),
        Column("Direction", "direction"),
        Column("Servers", "servers", number=True),
        Column("A request takes", "request_s", number=True),
        Column("Utilisation", "utilisation", number=True),
        Column("Saturates at", "saturation_per_s", number=True),
    )
    rows = tuple((_name(path), *_station(each)) for path in traffic.paths for each in path.stations)
    note = (
        "Read: what is restored. Write: what is computed and written down. A request takes: mean over hits and misses."
    )
    return Table(f"Links under load{on}", columns, rows, note)


def _station(each: Station) -> tuple[Cell, ...]:
    return (
        Cell(each.name),
        Cell(each.direction),
        Cell(str(each.servers), each.servers),
        words.seconds(each.request_s),
        _share(each.utilisation),
        _rate(each.saturation_per_s),
    )


def _name(path: Contention) -> Cell:
    return Cell(_path(path))


def _path(path: Contention) -> str:
    """One link each: several restores run side by side."""
    return f"{words.path(path.tier, path.links)}{' each' if path.each else ''}"


def _share(value: float | None) -> Cell:
    return Cell("" if value is None else f"{units.ratio(100 * value)} %", value)


def _rate(value: float | None) -> Cell:
    return Cell("" if value is None else f"{units.ratio(value)} req/s", value)


def arithmetic(result: Margin) -> Iterator[str]:
    """One line a path and figure."""
    traffic = result.traffic
    for path in traffic.paths if traffic else ():
        name = _path(path)
        for each in path.stations:
            if each.utilisation is not None and each.saturation_per_s is not None:
                busy = f"{_asked_rate(traffic)} x {words.seconds(each.request_s).text} / {each.servers}"
                full = f"saturates at {each.servers} / {words.seconds(each.request_s).text}"
                share, rate = _share(each.utilisation).text, _rate(each.saturation_per_s).text
                yield f"{name}: {each.name}, {each.direction}: {busy} = {share} busy; {full} = {rate}"
        if path.wait_s is not None:
            wait = units.short(path.wait_s, "s")
            yield f"{name}: wait = sum of rate x service^2 / (2 x (1 - utilisation)) = {wait}, the longest on its way"


def _asked_rate(traffic: Traffic | None) -> str:
    return _rate(traffic.rate_per_s).text if traffic else ""
