"""The uses of an answer to `margin` other than the prefix cache: preemption, decoding from a tier, sharing."""

from collections.abc import Iterator

from kvcalc import units
from kvcalc.answers.margin_parts import Active, Preemption, Sharing
from kvcalc.answers.margin_result import Margin
from kvcalc.tables import words
from kvcalc.tables.page import Cell, Column, Table


def summary(result: Margin) -> str:
    """The answer for this use in one sentence."""
    best = max(result.uses, key=_worth)
    name = words.path(best.tier, best.links)
    match best:
        case Active():
            rates = f"{words.tokens_per_s(best.tokens_per_s)} instead of {words.tokens_per_s(best.hbm_tokens_per_s)}"
            return f"Decoding with the KV in a tier: at best {rates} from HBM, over {name}: {_unheld(best)}."
        case Preemption():
            if best.margin is None:
                return "Preemption: it is not known how fast these tiers are written."
            return f"Preemption: swapping over {name} against recomputing {words.times(best.margin, result)}."
        case Sharing():
            mean = f"{units.short(best.pooled_s, 's')} on average instead of {units.short(best.local_s, 's')}"
            return f"One copy for {best.replicas} replicas over {name}: {mean} from the own DRAM."


def _unheld(use: Active) -> str:
    slower = f"a step takes {_slower(use)} as long"
    if use.hbm_batch is not None and use.batch > use.hbm_batch:
        return f"{slower}, but HBM holds {units.count(use.hbm_batch)} of the {units.count(use.batch)} sequences"
    return slower


def _worth(use: Preemption | Active | Sharing) -> float:
    return use.tokens_per_s if isinstance(use, Active) else use.margin or 0.0


def blocks(result: Margin, on: str) -> Iterator[Table]:
    """The table of the use that was asked for."""
    match result.uses[0]:
        case Preemption():
            yield _preemption(result, on)
        case Active():
            yield _active(result, on)
        case Sharing():
            yield _sharing(result, on)


def _preemption(result: Margin, on: str) -> Table:
    columns = (
        Column("Path", "path"),
        Column("Swap out", "out_s", number=True),
        Column("Swap in", "in_s", number=True),
        Column("Margin, both", "margin", number=True),
        Column("Margin, in alone", "margin_in", number=True),
        Column("Verdict", "verdict"),
    )
    rows = [
        (
            _name(use),
            words.seconds(use.out_s, "not known"),
            words.seconds(use.in_s),
            Cell("" if use.margin is None else words.times(use.margin, result), use.margin),
            Cell(words.times(use.margin_in, result), use.margin_in),
            Cell(use.verdict or "not known", use.verdict),
        )
        for use in result.uses
        if isinstance(use, Preemption)
    ]
    note = "Both: recompute time / (out + in). In alone: what counts where the way out is hidden behind other work."
    return Table(f"Preemption: swap out and in, or recompute{on}", columns, tuple(rows), note)


def _active(result: Margin, on: str) -> Table:
    found = [use for use in result.uses if isinstance(use, Active)]
    first = found[0]
    columns = (
        Column("KV in", "path"),
        Column("Read a step", "read_bytes", number=True),
        Column("Time per token", "step_s", number=True),
        Column("Rate", "tokens_per_s", number=True),
        Column("Against HBM", "slowdown", number=True),
    )
    read = Cell(units.short(first.read_bytes, "B"), first.read_bytes)
    held = first.hbm_batch is None or first.batch <= first.hbm_batch
    kept = Cell("HBM" if held else f"HBM, if it held them: at most {units.count(first.hbm_batch or 0)} fit")
    hbm = (kept, read, words.seconds(first.hbm_step_s), Cell(words.tokens_per_s(first.hbm_tokens_per_s)))
    rows = [
        (_name(use), read, words.seconds(use.step_s), Cell(words.tokens_per_s(use.tokens_per_s)), Cell(_slower(use)))
        for use in found
    ]
    needed = units.short(first.needed_bytes_per_s, "B/s")
    note = f"Only a path that carries {needed} would leave a step as quick as it is from HBM."
    if first.hbm_batch is not None:
        note += f" HBM holds at most {units.count(first.hbm_batch)} sequences of this length beside the weights."
    title = f"Decoding {first.batch} x {units.count(result.tokens)} tokens: every step reads all KV{on}"
    return Table(title, columns, ((*hbm, Cell("1x")), *rows), note)


def _slower(use: Active) -> str:
    return units.times(use.slowdown)


def _sharing(result: Margin, on: str) -> Table:
    found = [use for use in result.uses if isinstance(use, Sharing)]
    first = found[0]
    columns = (
        Column("Path", "path"),
        Column("Over it", "remote_s", number=True),
        Column("Mean", "pooled_s", number=True),
        Column("Margin", "margin", number=True),
        Column("Verdict", "verdict"),
        Column("Different prefixes", "capacity_ratio", number=True),
        Column("Pays if the hit rate", "hit_rate_ratio"),
    )
    rows = [
        (
            _name(use),
            words.seconds(use.remote_s),
            words.seconds(use.pooled_s),
            Cell(words.times(use.margin, result), use.margin),
            Cell(use.verdict, use.verdict),
            Cell("its own size" if use.capacity_ratio is None else f"{use.capacity_ratio}x", use.capacity_ratio),
            Cell(_grow(use), use.hit_rate_ratio),
        )
        for use in found
    ]
    own = units.short(first.local_s, "s")
    read = "; ".join(dict.fromkeys(f"{use.tier}: {use.tier_title}" for use in found))
    note = (
        f"A copy in each replica's DRAM comes in {own}. Prefix-aware routing keeps one copy and moves nothing. "
        f"The one copy is read from: {read}."
    )
    return Table(f"One copy for {first.replicas} replicas, or one in each{on}", columns, tuple(rows), note)


def _grow(use: Sharing) -> str:
    if use.hit_rate_ratio is None:
        return "can't pay: recomputing is quicker"
    more = 100 * (use.hit_rate_ratio - 1)
    return f"grows by {units.ratio(more)} %" if more > 0 else "stays"


def _name(use: Preemption | Active | Sharing) -> Cell:
    return Cell(words.path(use.tier, use.links))


def arithmetic(result: Margin) -> Iterator[str]:
    """One line a path."""
    yield from (_line(use, result) for use in result.uses)


def _line(use: Preemption | Active | Sharing, result: Margin) -> str:
    name, recompute = words.path(use.tier, use.links), units.short(result.recompute.seconds, "s")
    match use:
        case Preemption():
            if use.out_s is None or use.margin is None:
                return f"{name}: swap in = {units.short(use.in_s, 's')}; the way out is not known"
            both = f"({units.short(use.out_s, 's')} out + {units.short(use.in_s, 's')} in)"
            return f"{name}: margin = {recompute} / {both} = {words.times(use.margin, result)}"
        case Active():
            step = f"max({units.short(use.hbm_step_s, 's')} from HBM, {units.short(use.load_s, 's')} over the path)"
            rate = words.tokens_per_s(use.tokens_per_s)
            return f"{name}: step = {step} = {units.short(use.step_s, 's')}; {use.batch} / step = {rate}"
        case Sharing():
            if use.capacity_ratio is None:
                return f"{name}: all hits come over it in {units.short(use.remote_s, 's')}"
            others = f"{units.short(use.remote_s, 's')} x {use.replicas - 1}/{use.replicas}"
            mean = f"{units.short(use.local_s, 's')} / {use.replicas} + {others}"
            return f"{name}: mean fetch = {mean} = {units.short(use.pooled_s, 's')}"
