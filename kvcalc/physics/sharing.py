"""One copy of a prefix for all replicas, against a copy in each."""


def pooled(local: float, remote: float, replicas: int) -> float:
    """Mean seconds of a fetch where the one copy is as likely on one replica's node as on another's."""
    return local / replicas + remote * (replicas - 1) / replicas


def hit_rate_ratio(recompute: float, local: float, pooled: float) -> float | None:
    """By what the hit rate must grow for one copy to serve as quickly as a copy each; None where nothing is enough.

    h1*local + (1 - h1)*recompute = h2*pooled + (1 - h2)*recompute, so h2/h1 = (recompute - local)/(recompute - pooled).
    """
    saved = recompute - pooled
    return max(0.0, recompute - local) / saved if saved > 0 else None
