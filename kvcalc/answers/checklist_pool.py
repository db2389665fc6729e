"""Box 1, the pool of HBM: what runs must fit in it, and a hit rate that rises is no success by itself."""

from collections.abc import Iterator
from functools import partial

from kvcalc import units
from kvcalc.answers.checklist_ground import Ground
from kvcalc.answers.checklist_result import Reason
from kvcalc.answers.checklist_tiers import tokens

FAR = 0.1  # a pool that is so small against its prediction has lost memory to something else
OFF = 0.1  # by how much a pool may differ from its prediction

said = partial(Reason, 1)


def reasons(ground: Ground) -> Iterator[Reason]:
    """In the order in which a plan fails by them."""
    yield from _one_request(ground)
    yield from _far_below(ground)
    yield from _reach(ground)
    yield from _together(ground)
    yield from _rising(ground)


def _one_request(ground: Ground) -> Iterator[Reason]:
    """A running request's KV must be in HBM: a tier below doesn't help it."""
    length = ground.options.max_model_len or ground.options.tokens
    if ground.lacking and (ground.pool is None or ground.pool.origin == "predicted"):
        lacking = units.both(ground.lacking)
        yield said("blocks", "no-pool", f"the weights leave no HBM for KV: {lacking} are lacking on each GPU")
    elif length and ground.pool and ground.pool.value < length:
        yield said(
            "blocks", "pool-below-one-request",
            f"the pool is below one request: it holds {tokens(ground.pool.value)} and a request has up to "
            f"{tokens(length)}; what runs must be in HBM, so a tier below does not help",
        )  # fmt: skip


def _far_below(ground: Ground) -> Iterator[Reason]:
    options, fits, pool = ground.options, ground.capacity, ground.pool
    sure = options.tp is not None or any(each.observation.tp for each in options.read)
    if fits is None or pool is None or pool.origin == "predicted" or not sure or not fits.fits.tokens:
        return
    share = pool.value / fits.fits.tokens
    if share >= FAR and not 1 - OFF <= share <= 1 + OFF:
        yield said(
            "note", "pool-against-prediction",
            f"the pool holds {tokens(pool.value)}, {units.times(share)} of the {tokens(fits.fits.tokens)} that "
            "capacity predicts: compare weights, KV format, memory fraction and what counts as a token",
        )  # fmt: skip
    elif share < FAR:
        yield said(
            "cheaper", "pool-far-below-prediction",
            f"the pool holds {tokens(pool.value)} where {tokens(fits.fits.tokens)} are expected, "
            f"{units.times(1 / share)} as many: find what takes the memory first (kvcalc capacity --log FILE)",
        )  # fmt: skip


def _reach(ground: Ground) -> Iterator[Reason]:
    options, pool = ground.options, ground.pool
    if options.max_sequences is None or options.max_model_len is None or pool is None:
        return
    reach = options.max_sequences * options.max_model_len
    if pool.value > reach:
        beyond = pool.value - reach
        yield said(
            "note", "pool-beyond-reach",
            f"running requests reach {tokens(reach)} of the pool's {tokens(pool.value)}: {tokens(beyond)} "
            f"({units.both(beyond * ground.margin.kv_bytes_per_token)}) serve cached prefixes only",
        )  # fmt: skip


def _together(ground: Ground) -> Iterator[Reason]:
    number, pool, length = ground.options.concurrency, ground.pool, ground.tokens.value
    if number and pool and number * length > pool.value >= length:
        yield said(
            "note", "not-all-run-together",
            f"{number} requests of {tokens(length)} need {tokens(number * length)} and the pool holds "
            f"{tokens(pool.value)}: {int(pool.value / length)} run together, whatever lies below HBM",
        )  # fmt: skip


def _rising(ground: Ground) -> Iterator[Reason]:
    """More hits and later first tokens: what is fetched takes longer than it saves."""
    rates, times = ground.options.hit_rates, ground.options.first_token_s
    if len(rates) > 1 and rates[-1] > rates[0] and times[-1] > times[0]:
        yield said(
            "unknown", "hit-rate-and-first-token-rise",
            f"the hit rate rose from {100 * rates[0]:.1f} to {100 * rates[-1]:.1f} % while the time to first token "
            f"rose from {units.short(times[0], 's')} to {units.short(times[-1], 's')}: a hit rate alone is no success; "
            "look at the bytes fetched a second and who shares the tier",
        )  # fmt: skip
