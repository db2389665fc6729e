"""What `capacity` may be asked with, apart from the model and the node."""

import math
import re
from collections.abc import Mapping
from dataclasses import field
from typing import get_args

from kvcalc import units
from kvcalc.answers.options import Nothing
from kvcalc.errors import UserError, shown
from kvcalc.frozen import frozen
from kvcalc.physics.engines.store import Replicas
from kvcalc.physics.weights import WeightFormat

PREFIX = 20_000  # tokens; the chapter's


@frozen
class CapacityOptions:
    """Choices with the defaults of the command line. Sizes are bytes."""

    kv_dtype: str = "auto"  # the checkpoint's, else bf16
    weights: str | None = None  # None: the checkpoint's format
    weights_bytes: float | None = None  # on one rank, instead of counting them
    tp: int | None = None  # None: all GPUs of the node
    pp: int = 1
    dp: int = 1
    engine: str = "vllm"
    engine_version: str | None = None  # None: the one that figures are known of
    memory_utilization: float | None = None  # None: the engine's default
    max_model_len: int | None = None  # None: the model's context
    prefix: int | None = None  # None: PREFIX, or the longest request if that is shorter
    batch_tokens: int | None = None  # that a step computes; None: as the budget was measured
    draft: int = 0  # tokens of speculative decoding
    reserve: float = 0.0  # bytes of each GPU that something else takes
    tiers: Mapping[str, float] = field(default_factory=lambda: Nothing)  # sizes, by tier
    store_replicas: Replicas | None = None  # None: as the engine does


def check(options: CapacityOptions) -> None:
    """Refuse what no answer can be asked with. Raises UserError."""
    counts = {
        "--tp": options.tp, "--pp": options.pp, "--dp": options.dp, "--prefix": options.prefix,
        "--max-model-len": options.max_model_len, "--batch-tokens": options.batch_tokens,
    }  # fmt: skip
    for name, count in counts.items():
        if count is not None and (type(count) is not int or not 1 <= count <= units.LONGEST_PROMPT):
            raise UserError(f"{name}: {shown(count)} is not a whole number from 1")
    if not 0 <= options.draft <= 64:
        raise UserError(f"--draft-tokens: {shown(options.draft)} is not a number from 0 to 64")
    share = options.memory_utilization
    if share is not None and not 0 < share <= 1:
        raise UserError(f"--memory-utilization: {share:g} is not above 0 and at most 1; 0.9 is usual")
    sizes = {"--weights-gib": options.weights_bytes, "--reserve": options.reserve or None}
    for name, size in (sizes | {f"--tier {tier}": size for tier, size in options.tiers.items()}).items():
        if size is not None and not 0 < size < math.inf:
            raise UserError(f"{name}: a size must be above zero, not {size:g}")
    if options.engine_version is not None and not re.fullmatch(r"v?\d+(\.\d+)*\S*", options.engine_version):
        raise UserError(f"--engine-version: {shown(options.engine_version)} is not a version; write one like 0.19")
    for name, words in {"weights": WeightFormat, "store_replicas": Replicas}.items():
        word = getattr(options, name)
        if word is not None and word not in get_args(words):
            raise UserError(f"--{name.replace('_', '-')}: {shown(word)} is none of {', '.join(get_args(words))}")
