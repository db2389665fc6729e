"""What tells one reason from another in a log: small questions, each of one reason."""

from kvcalc import units
from kvcalc.answers import log_pool, log_variants
from kvcalc.answers.log_result import Comparison
from kvcalc.answers.log_setting import Seen, expanded_bytes
from kvcalc.answers.log_variants import Variant
from kvcalc.frozen import frozen
from kvcalc.physics import formats, kv
from kvcalc.physics.engines import vllm
from kvcalc.profiles.model import Chunked, Compressed, Latent, Recurrent, Sliding

ENOUGH = 0.01


@frozen
class Case:
    """A log, its bytes per token and what the rules may look at."""

    seen: Seen
    printed: float | None  # bytes of a token on one rank
    rule: float | None
    plain: float | None
    found: tuple[Comparison, ...]
    variant: Variant | None

    def has(self, *kinds: type) -> bool:
        """Has the model a layer group of one of these kinds?"""
        model = self.seen.model
        return model is not None and any(isinstance(group, kinds) for group in model.groups)

    def near(self, size: float | None) -> bool:
        """Is the printed figure this one, within 1 %?"""
        return self.printed is not None and bool(size) and abs(self.printed / (size or 1) - 1) <= ENOUGH

    @property
    def differs(self) -> bool:
        """From the plain formula, or from the prediction, by more than 1 %?"""
        off = self.printed is not None and self.plain is not None and not self.near(self.plain)
        return off or any(each.differs for each in self.found)


def old_print(case: Case) -> bool:
    """The token line is not concurrency x longest length: blocks x block size / groups."""
    log = case.seen.log
    if log.kv_tokens is None or not log.max_concurrency or not log.max_model_len:
        return False
    span = log.max_concurrency * log.max_model_len
    return abs(log.kv_tokens / span - 1) > ENOUGH + 0.005 / log.max_concurrency


def new_print(case: Case) -> bool:
    """A token count that is no number of blocks, and nothing to weigh it with."""
    log = case.seen.log
    growing = log.kv_tokens is not None and log.kv_tokens % vllm.BLOCK != 0 and log.engine == "vllm"
    return growing and case.printed is None and log.max_concurrency is not None and not case.has(Latent, Compressed)


def fixed_cost(case: Case) -> bool:
    """A request's bytes are not in proportion to its tokens."""
    log = case.seen.log
    if log.needed_bytes and log.max_model_len and log.fitting_tokens and log.available_kv_bytes:
        long, short = log.needed_bytes / log.max_model_len, log.available_kv_bytes / log.fitting_tokens
        return abs(short / long - 1) > ENOUGH and not case.has(Recurrent, Sliding, Chunked)
    return case.has(Compressed) and case.printed is not None


def rounded(case: Case) -> bool:
    """A size printed with four decimals of a GiB, of so few tokens that the last one counts."""
    return any(
        moved.bytes is not None and moved.tokens is not None and units.gib(moved.bytes) < 0.00005 / ENOUGH
        for each in (case.seen.log, *case.seen.log.beside)
        if each.traffic
        for moved in each.traffic.transfers
    )


def snapshots(case: Case) -> bool:
    """LMCache keeps a state with each chunk."""
    return case.seen.log.engine == "lmcache" and case.has(Recurrent)


def expanded(case: Case) -> bool:
    """Does a token take what the keys and values of all heads take?"""
    model = case.seen.model
    return model is not None and case.has(Latent) and case.near(expanded_bytes(model, 2))


def scaled(case: Case) -> bool:
    """Does the format store scales beside its elements?"""
    found = formats.FORMATS.get(case.seen.kv or "")
    return found is not None and (found.scale_bytes > 0 or found.block > 2)


def latent_scaled(case: Case) -> bool:
    """Latent attention in a format with scales."""
    return case.has(Latent) and scaled(case)


def latent_hybrid(case: Case) -> bool:
    """By the model, or by SGLang's lines: one size for K and V together, and a pool of states."""
    log = case.seen.log
    joined = log.engine == "sglang" and log.available_kv_bytes is not None and log.k_bytes is None
    return (case.has(Latent) and case.has(Recurrent)) or (case.seen.model is None and joined and states(case))


def latent(case: Case) -> bool:
    """One vector a layer for all ranks."""
    return case.has(Latent, Compressed)


def drafts(case: Case) -> bool:
    """Does the log, the model's name or the prediction speak of draft tokens?"""
    drafting = any(pool.kind == "draft" for pool in case.seen.log.pools)
    named = any(word in (case.seen.log.model or "").lower() for word in ("mtp", "eagle"))
    return drafting or named or bool(case.variant and case.variant.draft)


def states(case: Case) -> bool:
    """Has the log a pool of states?"""
    return any(pool.kind == "state" for pool in case.seen.log.pools)


def separate(case: Case) -> bool:
    """States beside the pool of tokens, in one of their own."""
    return case.seen.log.engine == "sglang" and (case.has(Recurrent) or states(case))


def shared_pool(case: Case) -> bool:
    """States in the blocks of the pool."""
    return case.has(Recurrent)


def padding(case: Case) -> bool:
    """Windowed layers whose block tables vLLM fills up."""
    if case.seen.model is None or case.seen.log.engine not in ("vllm", "dynamo") or not case.has(Sliding, Chunked):
        return False
    plan = log_variants.plan(case.seen, case.seen.model, case.variant or log_variants.Variant())
    return any(segment.padding_layers for segment in plan.segments)


def windows_in_tokens(case: Case) -> bool:
    """Windowed layers stop growing, and vLLM's tokens are concurrency x the longest length."""
    return case.has(Sliding, Chunked) and case.seen.log.kv_tokens_meaning == "concurrency"


def two_pools(case: Case) -> bool:
    """Windowed layers in a pool of their own."""
    return case.has(Sliding, Chunked) and case.seen.log.engine in ("sglang", "trtllm")


def stage(case: Case) -> bool:
    """Is the model cut into pipeline stages?"""
    return case.seen.pp > 1


def ranks(case: Case) -> bool:
    """Up to 16 % more bytes than tokens explain: they are of different ranks."""
    if case.printed is None or case.rule is None or case.seen.tp * (case.seen.log.dp or 1) == 1:
        return False
    return ENOUGH < case.printed / case.rule - 1 < 0.16


def ignored(case: Case) -> bool:
    """What a 16-bit cache takes, though a smaller format was asked for."""
    seen = case.seen
    if seen.model is None or seen.kv in (None, *formats.UNQUANTISED):
        return False
    return case.near(kv.marginal(seen.model, 10_000_000, "bf16", seen.tp) / seen.pp)


def supposed_draft(case: Case) -> bool:
    """Does the pool fit only with draft layers in it?"""
    return bool(case.variant and case.variant.draft)


def smaller_format(case: Case) -> bool:
    """What FP8 takes, though the log tells of a 16-bit cache."""
    seen = case.seen
    if seen.model is None or seen.kv not in formats.SIXTEEN_BIT or seen.model.groups[0].kind == "compressed":
        return False
    return case.near(kv.marginal(seen.model, 10_000_000, formats.stored(seen.model, "fp8"), seen.tp) / seen.pp)


def kernel(case: Case) -> bool:
    """A whole multiple of the rule: heads or lanes padded by the kernel."""
    if case.printed is None or case.rule is None:
        return False
    times = case.printed / case.rule
    return round(times) in (2, 4, 8) and abs(times / round(times) - 1) <= ENOUGH


def short(case: Case) -> bool:
    """Far fewer bytes or tokens than predicted."""
    return any(each.ratio is not None and each.ratio < 0.5 for each in case.found)


def budget(case: Case) -> bool:
    """Is the pool itself another than its budget gives?"""
    return any(each.differs for each in case.found if each.figure == log_pool.FIGURE)
