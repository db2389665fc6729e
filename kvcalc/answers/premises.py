"""Assumptions of the parts of `margin` that are there when they are asked for."""

from collections.abc import Iterator

from kvcalc.answers.margin_result import Assumption
from kvcalc.answers.setting import Setting

USES = {
    "preempt": "Preemption: the sequence is written to the tier and later fetched back, nothing of it hidden",
    "active": (
        "Decoding: a step reads the weights and all KV of the batch, from HBM at its full bandwidth, over a path while "
        "HBM is read (FlexGen, Sheng et al. 2023); launches, communication and arithmetic are left out"
    ),
    "shared": "Sharing: of n replicas each keeps a part of the one copy, so 1/n of the hits are local; a store has all",
}


def premises(setting: Setting) -> Iterator[Assumption]:
    """One sentence each."""
    options = setting.options
    if options.use in USES:
        yield Assumption(USES[options.use])
    if options.new:
        yield Assumption("Layer by layer: layers are loaded in order, as if all were equally large")
    if options.concurrency is not None or options.rate is not None:
        yield Assumption(
            "Shared links: each is a server; a drive reads and writes in turn, and the ceiling of the host's DRAM "
            "counts both directions, while links and NICs carry both at once"
        )
    if options.rate is not None:
        yield Assumption(
            "Under load: requests come at random and spread evenly over equal links; a miss is computed and written "
            "down, a hit is restored and its new tokens are written down, unless the tier's writing is not known"
        )
