"""Why a printed figure is not the plain formula's: a table of small rules, the surest first."""

from collections.abc import Callable

from kvcalc.answers import log_case
from kvcalc.answers.log_result import Comparison, Reason
from kvcalc.answers.log_setting import Seen, plain_bytes
from kvcalc.answers.log_variants import Variant
from kvcalc.frozen import frozen

Rule = Callable[[log_case.Case], bool]


@frozen
class Named:
    """A rule with the name of its reason."""

    code: str
    rule: Rule
    text: str
    predicted: bool = False  # does the engine's rule take it into account?


RULES = (
    Named(
        "print_definition_old_hybrid",
        log_case.old_print,
        "the token line counts blocks x block size / groups (vLLM up to about 0.19), which is not what fits: "
        "use concurrency x the longest length",
    ),
    Named(
        "print_definition_new_hybrid",
        log_case.new_print,
        "the token line is concurrency x the longest length, and each request has a constant part: the same "
        "pool prints other tokens at another --max-model-len",
    ),
    Named(
        "rounded_short_prompt",
        log_case.rounded,
        "the size has four decimals of a GiB and the prompt is short: the rounding alone is more than 1 %",
    ),
    Named(
        "offload_state_snapshots",
        log_case.snapshots,
        "outside HBM every chunk carries a snapshot of the recurrent state: larger chunks take less a token",
        predicted=True,
    ),
    Named(
        "fixed_per_request_cost",
        log_case.fixed_cost,
        "a request has a large part that does not grow with its length (windows, states of compressors), so "
        "bytes a token depend on the length",
    ),
    Named(
        "mla_expanded",
        log_case.expanded,
        "latent attention was kept as the heads' own keys and values: this build does not know the latent form",
    ),
    Named(
        "mla+linear_hybrid",
        log_case.latent_hybrid,
        "only the latent layers grow with the length; the linear layers keep a state of constant size in a "
        "pool of their own",
        predicted=True,
    ),
    Named(
        "mla+quant_scales",
        log_case.latent_scaled,
        "one latent vector a layer, not K and V of every head, in a format that stores scales beside its elements",
        predicted=True,
    ),
    Named(
        "mla_replicated_under_tp",
        log_case.latent,
        "one latent vector a layer, whole on every rank: tensor parallelism does not divide it, data "
        "parallelism multiplies it",
        predicted=True,
    ),
    Named(
        "hybrid_state_separate_pool",
        log_case.separate,
        "only attention layers grow with the length; SGLang keeps the states of the others in a pool of their own",
        predicted=True,
    ),
    Named(
        "hybrid_state",
        log_case.shared_pool,
        "only attention layers grow with the length, and the states of the others share their pool: a block "
        "is as large as a state",
        predicted=True,
    ),
    Named(
        "pipeline_stage_min",
        log_case.stage,
        "the bytes are of one pipeline stage, the tokens the least of all stages",
    ),
    Named(
        "quant_scales",
        log_case.scaled,
        "the format stores scales beside its elements",
        predicted=True,
    ),
    Named(
        "kv_dtype_ignored",
        log_case.ignored,
        "the pool is what 16-bit KV takes: the smaller format was accepted and not used",
    ),
    Named(
        "hybrid_padding_layers",
        log_case.padding,
        "vLLM fills the block tables of the layer kinds with padding layers, so that all have equally many",
        predicted=True,
    ),
    Named(
        "print_definition_new_hybrid",
        log_case.windows_in_tokens,
        "windowed layers stop growing, and the token line is concurrency x the longest length: the same pool prints "
        "other tokens at another --max-model-len",
        predicted=True,
    ),
    Named(
        "window_separate_pool",
        log_case.two_pools,
        "windowed layers have a pool of their own, smaller than that of full layers",
        predicted=True,
    ),
    Named(
        "checkpoint_kv_format",
        log_case.smaller_format,
        "the pool is what FP8 KV takes: the checkpoint may ask for it (kv_cache_scheme), and engines follow it where "
        "the option is auto",
    ),
    Named(
        "mtp",
        log_case.supposed_draft,
        "draft layers take part of the pool",
        predicted=True,
    ),
    Named(
        "min_over_ranks",
        log_case.ranks,
        "the bytes are of one rank, the tokens the least of all ranks",
    ),
    Named(
        "kernel_padding",
        log_case.kernel,
        "a whole multiple of what the format needs: the kernel pads heads or lanes",
    ),
    Named(
        "pool_far_below",
        log_case.short,
        "less than half of the prediction: look for memory that something else holds, a loader's leak for instance",
    ),
    Named(
        "budget_differs",
        log_case.budget,
        "weights, activations or context take other than vLLM 0.19 took on an H100: a vision tower, another "
        "step, another process on the GPU",
    ),
)
DRAFT = Reason("mtp", "draft layers or draft tokens take part of the pool", True)
UNKNOWN = Reason("not_known", "none of the known reasons fits: check model, degrees and KV format", False)


def reasons(
    seen: Seen, printed: float | None, rule: float | None, found: tuple[Comparison, ...], variant: Variant | None
) -> tuple[tuple[Reason, ...], Reason | None]:
    """Why the plain formula is not met, and what is left where the prediction has that in it and is not met either.

    The first rule that fits, and a draft's part beside it; nothing where the plain formula is met.
    """
    plain = plain_bytes(seen)
    if plain is not None and seen.log.needed_bytes is not None:
        plain *= seen.pp  # the check before the start counts the layers of all stages
    case = log_case.Case(seen, printed, rule, plain, found, variant)
    weighed = printed is not None and plain is not None
    alone = not weighed and all(each.ratio is None for each in found)
    fitting = next((each for each in RULES if each.rule(case)), None)
    off = any(each.differs for each in found)
    if not case.differs and not alone and not log_case.old_print(case):
        return (), None
    if fitting is None:
        return ((UNKNOWN,), None) if off else ((), None)
    chosen = Reason(fitting.code, fitting.text, fitting.predicted)
    gap = _gap(case) if off and fitting.predicted else None
    drafts = fitting.code.startswith("hybrid_state") and log_case.drafts(case)
    return ((chosen, DRAFT) if drafts else (chosen,)), gap


def _gap(case: log_case.Case) -> Reason:
    """A reason that no prediction has in it, else that none is known."""
    other = next((each for each in RULES if not each.predicted and each.rule(case)), None)
    return Reason(other.code, other.text, False) if other else UNKNOWN
