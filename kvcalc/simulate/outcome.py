"""How a replay went."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvcalc.frozen import frozen
from kvcalc.simulate.replica import Replica
from kvcalc.simulate.service import Service
from kvcalc.simulate.store import Line
from kvcalc.tiered.blocks import GPU

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@frozen
class LinkUse:
    """What one direction of a link carried, of all replicas together."""

    source: str
    target: str
    bytes_per_s: float  # of one replica's, while it is busy
    blocks: int
    bytes: float
    utilisation: float  # share of `over_s`
    over_s: float  # the duration, or until the last copy has ended where that is later; of several replicas the mean


@frozen
class Outcome:
    """Counts and times of all replicas together, and by replica where that matters."""

    requests: int
    duration_s: float  # from the first arrival to the last first token
    ttft_s: "NDArray[np.float64]"  # by request, in the order of arrival
    tiers: tuple[str, ...]  # HBM first, the shared store last
    hits: tuple[int, ...]  # blocks, by tier
    blocks: int
    hit_tokens: int
    tokens: int
    prefill_s: float  # GPU time, of a replica's GPUs together
    prefill_by_replica_s: tuple[float, ...]
    held_s: float  # GPUs wait for blocks
    uncached_prefill_s: float  # if nothing were cached
    links: tuple[LinkUse, ...]
    evicted: tuple[int, ...]  # blocks, by tier of a replica
    fetched_requests: int
    lost_requests: int  # whose blocks came later than computing them would have taken

    @property
    def token_rate(self) -> float:
        """Tokens hit."""
        return self.hit_tokens / self.tokens if self.tokens else 0.0

    @property
    def utilisation(self) -> float:
        """Share of the time that the GPUs compute."""
        whole = self.duration_s * len(self.prefill_by_replica_s)
        return self.prefill_s / whole if whole else 0.0


def collect(service: Service, replicas: Sequence[Replica], lines: Sequence[tuple[Line, ...]]) -> Outcome:
    """The outcome of replicas that have served all."""
    import numpy as np

    tallies = [replica.tally for replica in replicas]
    duration = max((tally.last_s for tally in tallies), default=0.0)
    numbers = np.concatenate([np.frombuffer(tally.numbers, np.int64) for tally in tallies])
    ttft = np.concatenate([np.frombuffer(tally.ttft_s) for tally in tallies])
    return Outcome(
        requests=len(numbers),
        duration_s=duration,
        ttft_s=ttft[np.argsort(numbers, kind="stable")],
        tiers=("HBM", *(tier.name for tier in service.tiers), "store"),
        hits=tuple(sum(each) for each in zip(*(tally.hits for tally in tallies), strict=True)),
        blocks=sum(tally.blocks for tally in tallies),
        hit_tokens=sum(tally.hit_tokens for tally in tallies),
        tokens=sum(tally.tokens for tally in tallies),
        prefill_s=sum(tally.busy_s for tally in tallies),
        prefill_by_replica_s=tuple(tally.busy_s for tally in tallies),
        held_s=sum(tally.held_s for tally in tallies),
        uncached_prefill_s=sum(tally.whole_s for tally in tallies),
        links=(*_links(service, replicas, duration), *_lines(service, lines, duration)),
        evicted=tuple(sum(each) for each in zip(*(replica.manager.evicted for replica in replicas), strict=True)),
        fetched_requests=sum(tally.fetched for tally in tallies),
        lost_requests=sum(tally.lost for tally in tallies),
    )


def _links(service: Service, replicas: Sequence[Replica], duration: float) -> list[LinkUse]:
    found = []
    for number, tier in enumerate(service.tiers, 1):
        above = service.tiers[number - 2].name if number > 1 else "HBM"
        for source, target, pair, link in (
            (tier.name, "HBM", (number, GPU), tier.read),
            (above, tier.name, (number - 1, number), tier.write),
        ):
            line, copies = Line(link, service.block_bytes), sum(replica.mover.copies[pair] for replica in replicas)
            over = [max(duration, replica.mover.free_at(pair)) for replica in replicas]
            found.append(_use(source, target, copies, (service.block_bytes, line.copy_s, over)))
    return found


def _lines(service: Service, lines: Sequence[tuple[Line, ...]], duration: float) -> list[LinkUse]:
    found = []
    for way, (source, target) in enumerate((("store", "HBM"), ("HBM", "store"))):
        used = [pair[way] for pair in lines if pair]
        if used:
            copies = sum(line.copies for line in used)
            over = [max(duration, line.free_at) for line in used]
            found.append(_use(source, target, copies, (service.block_bytes, used[0].copy_s, over)))
    return found


def _use(source: str, target: str, copies: int, of: tuple[float, float, list[float]]) -> LinkUse:
    """`of` are the bytes and the time of a copy, and for how long each replica's link is looked at."""
    size, copy_s, over = of
    rate = size / copy_s if copy_s else float("inf")
    share = copies * copy_s / sum(over) if sum(over) else 0.0
    return LinkUse(source, target, rate, copies, copies * size, share, sum(over) / len(over))
