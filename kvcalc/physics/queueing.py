"""What waits for a link that requests share: an M/G/1 queue of requests that come at random.

Kleinrock, Queueing Systems I (1975), section 5.6: the mean wait by Pollaczek and Khinchine. Transfers of one size make
it M/D/1. Several links are as many queues, each with its share of the requests.
"""

from kvcalc.frozen import frozen


@frozen
class Flow:
    """Transfers of one size."""

    rate: float  # a second
    service: float  # s of each, alone on the link


def utilisation(flows: tuple[Flow, ...], servers: int) -> float:
    """The share of time in which a server is busy; from 1 on the queue only grows."""
    return sum(flow.rate * flow.service for flow in flows) / servers


def saturation(service: float, servers: int) -> float:
    """Requests a second at which all servers are always busy; `service` is what one request takes of them."""
    return servers / service


def wait(flows: tuple[Flow, ...], servers: int) -> float | None:
    """Mean seconds until a transfer begins: sum(rate*service^2) / (2*(1 - utilisation)); None where it only grows."""
    busy = utilisation(flows, servers)
    if busy >= 1:
        return None
    return sum(flow.rate * flow.service**2 for flow in flows) / servers / (2 * (1 - busy))


def together(service: float, servers: int, concurrent: int) -> float:
    """Seconds until all of so many transfers that begin together are through, spread evenly over the servers."""
    return -(-concurrent // servers) * service
