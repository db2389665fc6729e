"""Which engine's rule serves: the plan of its pool, the chunks it stores, how often it stores what ranks share."""

from dataclasses import replace

from kvcalc.frozen import frozen
from kvcalc.physics import kv
from kvcalc.physics.engines import ideal, lmcache, sglang, store, trtllm, vllm
from kvcalc.physics.engines.plan import Plan
from kvcalc.profiles.model import Chunked, Cross, Full, Latent, Model, Recurrent, Sliding


@frozen
class Account:
    """Bytes of one prefix, wherever they are."""

    logical: int  # one copy
    resident_rank: int  # in the HBM of one rank, in the engine's blocks
    resident_node: int  # of all ranks together
    stored: int  # below HBM, with the least that resumes it
    stored_whole: int  # with windows in full and a state for every chunk
    moved: int  # over all links, when every rank loads what it holds


@frozen
class Run:
    """How a model runs."""

    tp: int = 1
    pp: int = 1
    step: int = 0  # tokens that are computed at once
    draft: int = 0  # tokens of speculative decoding


def plan(engine: str, model: Model, kv_format: str, run: Run) -> Plan:
    """The pool of one rank; of a pipeline, of the stage with the most layers."""
    part = stage(drafting(model) if run.draft else model, run.pp)
    if engine == "vllm":
        return vllm.plan(part, kv_format, run.tp, run.step, run.draft)
    if engine == "lmcache":
        return lmcache.plan(part, kv_format, run.tp, run.step, run.draft)
    if engine == "sglang":
        return sglang.plan(part, kv_format, run.tp)
    return trtllm.plan(part, kv_format, run.tp) if engine == "trtllm" else ideal.plan(part, kv_format, run.tp)


def drafting(model: Model) -> Model:
    """The model with its draft layers; where none are known, with one more layer of its full attention."""
    if model.mtp:
        return replace(model, groups=(*model.groups, *model.mtp))
    one = next((replace(group, layers=1) for group in model.groups if isinstance(group, Full | Latent)), None)
    return replace(model, groups=(*model.groups, one)) if one else model


def stage(model: Model, pp: int) -> Model:
    """The layers of the largest stage of a pipeline, kinds spread evenly."""
    if pp == 1:
        return model
    return replace(model, groups=tuple(replace(each, layers=-(-each.layers // pp)) for each in model.groups))


def chunks(found: Plan) -> store.Chunks:
    """The unit in which an engine stores and reuses.

    A block of vLLM's hybrids is as large as a state, and LMCache's chunk is a multiple of it. How often SGLang
    (`--mamba-track-interval` with one of its strategies) and TensorRT-LLM keep a state of a prefix is not known here.
    """
    block = max((each.block_tokens for each in found.segments if not each.entries), default=0)
    if found.engine == "sglang":
        return store.Chunks(max(sglang.HICACHE_PAGE, block), states=False)
    if found.engine == "lmcache" and block:
        return store.Chunks(lmcache.chunk(block), states=found.modelled)
    return store.Chunks(max(block, 1), states=found.engine in ("vllm", "lmcache") and found.modelled and block > 0)


def replicas(engine: str, model: Model, pp: int) -> store.Replicas:
    """How an engine stores what several ranks hold alike.

    vLLM 0.33 keeps purely latent caches once where a node runs no pipeline (v1/kv_offload, `replicated_layout`),
    LMCache 0.4 saves them from the first rank (`save_only_first_rank`); HiCache and TensorRT-LLM have a pool a rank.
    """
    latent = not any(isinstance(group, Full | Sliding | Chunked | Cross | Recurrent) for group in model.groups)
    if engine == "ideal" or (engine == "vllm" and latent and pp == 1) or (engine == "lmcache" and latent):
        return "once"
    return "per-rank"


def _partly(found: Plan, model: Model) -> bool:
    """Does less than all that an engine may store resume a prefix? LMCache cuts no windows."""
    windowed = found.engine != "lmcache" and any(isinstance(group, Sliding | Chunked) for group in model.groups)
    return windowed or (chunks(found).states and any(isinstance(group, Recurrent) for group in model.groups))


def account(found: Plan, model: Model, kv_format: str, tp: int, tokens: int, copies: store.Replicas) -> Account:
    """Bytes of a prefix of `tokens` tokens by an engine's rule; `found` is its plan of the whole model."""
    least = whole = store.least(model, tokens, kv_format, tp, copies)
    if found.engine != "ideal":
        whole = max(least, store.whole(model, tokens, kv_format, tp, copies, chunks(found)))
        least = least if _partly(found, model) else whole
    resident = found.resident(tokens)
    return Account(
        logical=kv.logical(model, tokens, kv_format),
        resident_rank=resident,
        resident_node=resident * tp,
        stored=least,
        stored_whole=whole,
        moved=store.least(model, tokens, kv_format, tp, "per-rank"),
    )
