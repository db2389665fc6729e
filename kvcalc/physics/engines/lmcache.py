"""LMCache: vLLM's blocks in HBM, chunks of its own below, latent caches from one rank only."""

from dataclasses import replace

from kvcalc.physics.engines import vllm
from kvcalc.physics.engines.plan import Plan
from kvcalc.profiles.model import Model

CHUNK = 256  # tokens; `chunk_size` of LMCache's configuration


def chunk(block: int, asked: int = CHUNK) -> int:
    """Tokens of a chunk: as asked for, but whole blocks of vLLM's, which in a hybrid are as large as a state."""
    return -(-asked // block) * block


def plan(model: Model, kv_format: str, tp: int, in_flight: int = 0, draft: int = 0) -> Plan:
    """The pool is vLLM's."""
    return replace(vllm.plan(model, kv_format, tp, in_flight, draft), engine="lmcache")
