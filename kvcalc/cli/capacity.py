"""`kvcalc capacity`: what fits where, or what an engine's log says of it.

What it needs is imported when it is asked, so that the other commands start as quickly without it.
"""

from typing import Annotated, Literal

import typer

from kvcalc import units
from kvcalc.cli.options import FormatOption, OutputOption, by_tier, optional
from kvcalc.errors import UserError
from kvcalc.physics import formats
from kvcalc.physics.engines.store import Replicas
from kvcalc.physics.weights import WeightFormat
from kvcalc.profiles.hardware import EngineName
from kvcalc.render import show

DEFAULT_NODE = "h100-pcie5"
WITH_LOG = {
    "log", "model", "tp", "pp", "kv_dtype", "max_model_len", "hardware", "memory_utilization", "weights_gib", "form",
    "output",
}  # fmt: skip


def capacity(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model profile: a name, a Hugging Face name, or a YAML file", show_default="with --log the log's"
        ),
    ] = None,
    log: Annotated[
        str | None, typer.Option(help="Start-up log of an engine to explain instead; - is stdin", show_default="none")
    ] = None,
    hardware: Annotated[str, typer.Option(help="Node profile: a name, or a YAML file")] = DEFAULT_NODE,
    tp: Annotated[
        int | None, typer.Option(min=1, help="Tensor-parallel degree", show_default="all GPUs of the node")
    ] = None,
    pp: Annotated[int | None, typer.Option(min=1, help="Pipeline stages", show_default="1")] = None,
    dp: Annotated[int, typer.Option(min=1, help="Data-parallel replicas on the node")] = 1,
    kv_dtype: Annotated[
        str, typer.Option(help=f"KV element format: {', '.join(formats.NAMES)}; or as engines spell it, fp8_e4m3")
    ] = "auto",
    weights: Annotated[WeightFormat | None, typer.Option(help="Weight format", show_default="the checkpoint's")] = None,
    weights_gib: Annotated[
        float | None, typer.Option(help="Weights on one GPU in GiB, as the engine printed them", show_default="counted")
    ] = None,
    memory_utilization: Annotated[
        float | None, typer.Option(help="Fraction of the GPU that the engine may use", show_default="the engine's")
    ] = None,
    max_model_len: Annotated[
        str | None, typer.Option(help="Longest request in tokens", show_default="the model's context")
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(help="Length of a cached prefix in tokens; k is 10^3, Ki is 2^10", show_default="20000"),
    ] = None,
    batch_tokens: Annotated[
        str | None, typer.Option(help="Tokens that a step computes", show_default="as the budget was measured")
    ] = None,
    engine: Annotated[EngineName, typer.Option(help="Whose blocks, pools and memory budget")] = "vllm",
    engine_version: Annotated[
        str | None, typer.Option(help="Its version", show_default="the one whose budget is known")
    ] = None,
    draft_tokens: Annotated[int, typer.Option(min=0, help="Tokens of speculative decoding, which widen states")] = 0,
    reserve: Annotated[str | None, typer.Option(help="Memory of each GPU to leave aside", show_default="0")] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="TIER=SIZE of one of the node's tiers or one it lacks, the whole node's (--dp replicas share it): "
            "dram=1.5TB; repeatable"
        ),
    ] = None,
    store_replicas: Annotated[
        Replicas | None, typer.Option(help="How often what ranks hold alike is stored", show_default="the engine's")
    ] = None,
    fail_if: Annotated[
        Literal["does-not-fit"] | None,
        typer.Option(help="Exit with 3 if the weights or one longest request do not fit", show_default="never"),
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Say how many tokens, requests and cached prefixes fit in HBM, in host memory, on disk and in the store.

    Its defaults are what a server would run, vLLM and the checkpoint's KV format; those of `margin` are an ideal engine
    and FP8 KV.
    """
    if log is not None:
        from kvcalc.answers.capacity_log import compare
        from kvcalc.answers.log_setting import Setup
        from kvcalc.observe import logs
        from kvcalc.profiles import catalog
        from kvcalc.tables.capacity_log import page as explained

        given = _only(context)
        setup = Setup(
            max_model_len=optional("--max-model-len", max_model_len, units.tokens),
            hardware=catalog.machine(hardware) if "hardware" in given else None,
            memory_utilization=memory_utilization,
            weights_bytes=_gib(weights_gib),
        )
        seen = compare(logs.read(log), model, tp, pp, kv_dtype, setup)
        show.show([seen], explained(seen), form, output)
        return 0
    if model is None:
        raise UserError("--model is missing: name a profile, or give an engine's log with --log")
    from kvcalc.answers.capacity import capacity as answer
    from kvcalc.answers.capacity_options import CapacityOptions
    from kvcalc.tables.capacity import page

    options = CapacityOptions(
        kv_dtype=kv_dtype,
        weights=weights,
        weights_bytes=_gib(weights_gib),
        tp=tp,
        pp=pp or 1,
        dp=dp,
        engine=engine,
        engine_version=engine_version,
        memory_utilization=memory_utilization,
        max_model_len=optional("--max-model-len", max_model_len, units.tokens),
        prefix=optional("--prefix", prefix, units.tokens),
        batch_tokens=optional("--batch-tokens", batch_tokens, units.tokens),
        draft=draft_tokens,
        reserve=optional("--reserve", reserve, units.size) or 0.0,
        tiers=by_tier(tier or [], "--tier", "2TB", units.size),
        store_replicas=store_replicas,
    )
    result = answer(model, hardware, options)
    show.show([result], page(result), form, output)
    return 3 if fail_if and result.fits.requests < 1 else 0


def _gib(weights_gib: float | None) -> float | None:
    return None if weights_gib is None else units.size(f"{weights_gib!r} GiB")


def _only(context: typer.Context) -> set[str]:
    """The options given with a log; those of a plan would be left out in silence. Raises UserError that names them."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    wrong = [f"--{name.replace('_', '-')}" for name in context.params if name in given - WITH_LOG]
    if wrong:
        raise UserError(
            f"{', '.join(wrong)}: --log goes with --model, --tp, --pp, --kv-dtype, --max-model-len, --hardware, "
            "--memory-utilization and --weights-gib only"
        )
    return given
