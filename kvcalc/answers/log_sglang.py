"""SGLang's pools of tokens: each 'KV Cache is allocated' line is one, and the model's layers tell which."""

from dataclasses import replace
from itertools import permutations

from kvcalc.frozen import frozen
from kvcalc.observe.observation import Observation, Pool, PoolKind
from kvcalc.physics.engines import sglang
from kvcalc.profiles.model import Chunked, Model, Sliding

NEAR = 0.02  # of a pool's bytes of a token to those of its layers; engines print sizes with two decimals


@frozen
class Widths:
    """Bytes of one token on one rank, of the full layers and of the windowed ones."""

    full: float
    window: float

    def of(self, kind: PoolKind) -> float:
        """Of a pool of this kind."""
        return self.window if kind == "window" else self.full


def widths(model: Model, kv_format: str, tp: int) -> Widths | None:
    """None for a model without windows, and where the pools are not known."""
    if not any(isinstance(group, Sliding | Chunked) for group in model.groups):
        return None
    plan = sglang.plan(model, kv_format, tp)
    if not plan.modelled:
        return None
    growing = [each for each in plan.segments if not each.constant]
    return Widths(
        full=sum(each.block_bytes for each in growing if each.window is None),
        window=sum(each.block_bytes for each in growing if each.window is not None),
    )


def sorted_pools(log: Observation, model: Model | None, kv_format: str | None, tp: int) -> Observation:
    """The log with its pools named by what a token takes in them, where no line of it says which is which.

    The whole of a rank is the sum of both; its tokens are those of the full layers.
    """
    known = widths(model, kv_format, tp) if model and kv_format and log.engine == "sglang" else None
    sized = _sized(log)
    if known is None or not sized or any(pool.kind == "window" for pool in log.pools):
        return log
    kinds: tuple[PoolKind, ...] = ("full", "window")
    found = [
        (pools, _error(pools, known)) for pools in (_named(sized, each) for each in permutations(kinds, len(sized)))
    ]
    pools, error = min(found, key=lambda each: (round(each[1], 3), -_tokens(each[0])))
    if error > NEAR:
        return log
    others = tuple(pool for pool in log.pools if pool.kind == "state")
    size = sum(pool.bytes or 0.0 for pool in pools)
    return replace(log, pools=(*pools, *others), available_kv_bytes=size, kv_tokens=_tokens(pools))


def _sized(log: Observation) -> tuple[Pool, ...]:
    """The pools of tokens whose bytes are stated, if they are one or two; a second one was taken for a draft's."""
    rows = tuple(pool for pool in log.pools if pool.kind in ("full", "draft"))
    if not rows and log.available_kv_bytes and log.kv_tokens:
        rows = (Pool("full", tokens=log.kv_tokens, bytes=log.available_kv_bytes),)
    return rows if len(rows) <= 2 and all(pool.bytes and pool.tokens for pool in rows) else ()


def _named(pools: tuple[Pool, ...], kinds: tuple[PoolKind, ...]) -> tuple[Pool, ...]:
    return tuple(replace(pool, kind=kind) for pool, kind in zip(pools, kinds, strict=True))


def _error(pools: tuple[Pool, ...], known: Widths) -> float:
    """The largest deviation of a pool's bytes of a token from those of its layers."""
    ratios = [(pool.bytes or 0.0) / (pool.tokens or 1) / known.of(pool.kind) for pool in pools if known.of(pool.kind)]
    return max((abs(ratio - 1) for ratio in ratios), default=1.0)


def _tokens(pools: tuple[Pool, ...]) -> int:
    """Of the full layers, where they have a pool here."""
    full = next((pool for pool in pools if pool.kind == "full"), pools[0])
    return full.tokens or 0
