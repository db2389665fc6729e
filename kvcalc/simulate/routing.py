"""Which replica a request goes to."""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Protocol

from kvcalc.frozen import frozen
from kvcalc.simulate.arrivals import Arrival
from kvcalc.simulate.replica import Replica

PLACES = 64  # of a replica on the ring


@frozen
class Routing:
    """What routers are set by."""

    load_cap: float = 2.0  # of the mean outstanding tokens; what is above it goes elsewhere (Mirrokni et al., 2018)
    hash_blocks: int = 2  # whose content picks the place on the ring
    seed: int = 0  # of the ring


class Router(Protocol):
    """Chooses by what it knows of the replicas."""

    def choose(self, arrival: Arrival, replicas: Sequence[Replica]) -> int:
        """The number of a replica."""


class RoundRobin:
    """Each replica in turn."""

    def __init__(self, replicas: int, routing: Routing) -> None:  # noqa: ARG002
        self._next = -1

    def choose(self, arrival: Arrival, replicas: Sequence[Replica]) -> int:  # noqa: ARG002
        """See Router."""
        self._next = (self._next + 1) % len(replicas)
        return self._next


class LeastLoaded:
    """The replica with the fewest outstanding prompt tokens; of equal ones the one that has waited longest."""

    def __init__(self, replicas: int, routing: Routing) -> None:  # noqa: ARG002
        self._turns = Turns(replicas)

    def choose(self, arrival: Arrival, replicas: Sequence[Replica]) -> int:  # noqa: ARG002
        """See Router."""
        return self._turns.least(range(len(replicas)), lambda number: (replicas[number].outstanding_tokens,))


class LongestPrefix:
    """The replica that has the longest prefix cached, among those below the load cap; of equal ones the least loaded.

    It knows what each replica holds at this moment, as a router does that is told of every block.
    """

    def __init__(self, replicas: int, routing: Routing) -> None:
        self._cap, self._turns = routing.load_cap, Turns(replicas)

    def choose(self, arrival: Arrival, replicas: Sequence[Replica]) -> int:
        """See Router."""

        def worth(number: int) -> tuple[int, int]:
            replica = replicas[number]
            return -replica.manager.cached(arrival.keys), replica.outstanding_tokens

        return self._turns.least(_below_cap(arrival, replicas, self._cap), worth)


class Turns:
    """Chooses the least, and of equals the one that was chosen longest ago."""

    def __init__(self, replicas: int) -> None:
        self._last = [0] * replicas
        self._chosen = 0

    def least(self, numbers: Iterable[int], worth: Callable[[int], tuple[int, ...]]) -> int:
        """The number with the least worth."""
        found = min(numbers, key=lambda number: (worth(number), self._last[number]))
        self._chosen += 1
        self._last[found] = self._chosen
        return found


class ConsistentHash:
    """A ring of places: a prompt's first blocks pick one, and the next replica from there below the load cap serves."""

    def __init__(self, replicas: int, routing: Routing) -> None:
        self._cap, self._blocks, self._seed = routing.load_cap, routing.hash_blocks, routing.seed
        self._ring = sorted(
            (self._place(f"{replica}/{place}"), replica) for replica in range(replicas) for place in range(PLACES)
        )

    def _place(self, what: str) -> int:
        return int.from_bytes(blake2b(f"{self._seed}/{what}".encode(), digest_size=8).digest())

    def choose(self, arrival: Arrival, replicas: Sequence[Replica]) -> int:
        """See Router."""
        allowed = set(_below_cap(arrival, replicas, self._cap))
        first = arrival.keys[: self._blocks][-1:]
        at = bisect(self._ring, (self._place(f"block {first}"), -1))
        return next(
            replica
            for step in range(len(self._ring))
            if (replica := self._ring[(at + step) % len(self._ring)][1]) in allowed
        )


def _below_cap(arrival: Arrival, replicas: Sequence[Replica], cap: float) -> list[int]:
    """Replicas that with this request stay within the cap; the least loaded always does."""
    most = cap * (sum(each.outstanding_tokens for each in replicas) + arrival.tokens) / len(replicas)
    least = min(each.outstanding_tokens for each in replicas)
    return [
        number
        for number, each in enumerate(replicas)
        if each.outstanding_tokens + arrival.tokens <= most or each.outstanding_tokens == least
    ]


ROUTERS: dict[str, Callable[[int, Routing], Router]] = {
    "round-robin": RoundRobin,
    "least-loaded": LeastLoaded,
    "prefix-aware": LongestPrefix,
    "consistent-hash": ConsistentHash,
}
