"""Parts of the answer to `margin` that are there when they are asked for: partial hits, traffic, the uses."""

from typing import Literal

from kvcalc.frozen import frozen
from kvcalc.physics.crossover import Verdict


@frozen
class PartialHit:
    """A prompt whose head comes over one path and whose new tokens are computed."""

    tier: str
    links: int
    first_token_s: float  # all is loaded, then the new tokens are computed
    first_token_layered_s: float  # each layer is computed while the next is loading
    bound_by: Literal["link", "compute"]  # what the layered time waits for
    cached_to_new: float
    link_bound_short: bool  # does the link decide for the shortest prefix?
    link_bound_turns: tuple[int, ...]  # cached tokens from which that is otherwise, in turn
    linear: bool  # does each cached token add as much as the one before it, so that a ratio says it?
    link_bound_cached_to_new: float | None  # beyond it the link decides; None: it never does, or there is no ratio
    recompute_s_per_token: float  # r: a new token with nothing before it
    fetch_s_per_token: float  # f: a cached token
    pair_s: float  # q: a new token attends to a cached one


@frozen
class Station:
    """A link, or a ceiling that links share, as a queue: what a restore and the requests around it take of it."""

    name: str
    direction: Literal["read", "write", "both"]
    servers: int
    restore_s: float  # that one restore keeps a server busy
    request_s: float | None  # the same for a mean request at the hit rate; None without a rate
    utilisation: float | None
    saturation_per_s: float | None  # requests/s from which its queue only grows


@frozen
class Contention:
    """One path among requests that share it."""

    tier: str
    links: int
    stations: tuple[Station, ...]
    concurrent_fetch_s: float | None  # until all restores that begin together are done
    concurrent_margin: float | None  # those recomputed together over that
    wait_s: float | None  # mean, at the rate; None: not asked, no hits, or a queue only grows
    loaded_fetch_s: float | None  # fetch with that wait
    loaded_margin: float | None  # recompute with its wait for the GPUs over that
    loaded_verdict: Verdict | None  # recompute where a queue only grows; None: not asked, or no hits
    utilisation: float | None  # of the busiest station
    saturation_per_s: float | None  # of the station that is first full

    @property
    def saturated(self) -> bool:
        """Does the queue of a station only grow, of reads or of writes?"""
        return self.utilisation is not None and self.utilisation >= 1

    @property
    def each(self) -> bool:
        """Do several restores run side by side, each over its own links?"""
        return self.stations[0].servers > 1


@frozen
class Traffic:
    """What comes to the node, and what its GPUs and paths make of it."""

    concurrency: int | None
    rate_per_s: float | None
    hit_rate: float | None
    replicas: int  # on the node
    concurrent_recompute_s: float | None
    prefill_utilisation: float | None  # of the GPUs, at the hit rate
    prefill_wait_s: float | None  # mean, for the GPUs; None: not asked, or it only grows
    loaded_recompute_s: float | None  # recompute with that wait
    prefill_saturation_per_s: float | None
    prefill_saturation_without_per_s: float | None  # with no hit
    paths: tuple[Contention, ...]

    @property
    def overloaded(self) -> bool:
        """Are the GPUs asked for more prefill than they can do?"""
        return self.prefill_utilisation is not None and self.prefill_utilisation >= 1


@frozen
class Preemption:
    """A sequence swapped out over one path and back in, against computing it again."""

    tier: str
    links: int
    out_s: float | None  # None: how fast the tier is written is not known
    in_s: float
    margin: float | None  # recompute / (out + in)
    margin_in: float  # recompute / in: what the sequence itself waits, if it left while others ran
    verdict: Verdict | None


@frozen
class Active:
    """KV of decoding sequences in a tier: every step reads it over the path."""

    tier: str
    links: int
    batch: int
    read_bytes: int  # of all sequences, each step
    load_s: float
    step_s: float
    tokens_per_s: float  # of the batch
    hbm_step_s: float  # with the KV in HBM
    hbm_tokens_per_s: float
    slowdown: float
    needed_bytes_per_s: float  # at which the path would not be noticed
    hbm_batch: int | None  # sequences that HBM holds at most


@frozen
class Sharing:
    """One copy for all replicas, over one path between them, against a copy in each replica's DRAM."""

    tier: str
    tier_title: str  # from where it is read over there
    links: int
    replicas: int
    local_s: float  # from the own node's DRAM
    remote_s: float
    pooled_s: float  # mean
    margin: float
    verdict: Verdict
    capacity_ratio: int | None  # times as many different prefixes; None: a store's own size decides
    hit_rate_ratio: float | None  # by what the hit rate must grow to pay for the slower fetch; None: no growth does
