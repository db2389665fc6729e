"""docs/accuracy.md, second part: how far fetch times and crossovers are from what was published."""

from collections.abc import Iterator
from dataclasses import replace

from prefill_report import table
from prefill_rows import cases, curve

from kvcalc.answers.margin import margin
from kvcalc.answers.options import Options
from kvcalc.physics import crossover, recompute
from kvcalc.physics.transfer import Hop
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Full, Model

HEADER = """
## Fetch model

### Copies from host memory, one H100

The tier `dram-pcie5` (3.5 us a copy, 55.43 GB/s) against vLLM's figure 4 (blog of 2026-01-08, read off the chart): one
copy for each block, 4 KiB to 16 MiB.
"""

LOADS = """
### Restores from host memory by vLLM, one H100

`--engine vllm` against the same blog's figures 1 and 5. Its constants were fitted to these points at the 52.5 GB/s that
figure 4 reaches; the tier's 55.43 GB/s is quicker, so every error leans to the same side. The 10.2 ms are those of the
8B model: a hit still computes the last tokens, which takes a 1B model less.
"""

PULLS = """
### Recompute against a pull from a peer (llm-d, H200)

Measured recompute curves and the published constants of the pull as inputs (gpt-oss-120b: 22 ms and the slope of the
table itself; GLM-5.2: 1.66 s and 6.0 us a token); who wins at each length, and where it turns.
"""


def report() -> str:
    """The page's part on fetching."""
    copies = table(("block", "measured", "model", "error"), _copies())
    loads = table(("", "measured", "model", "error"), _loads())
    pulls = table(("", "tokens", "recompute", "pull", "model's pull", "winner", "model's winner"), _pulls())
    return "\n".join([HEADER, copies, LOADS, loads, PULLS, pulls, _turn()])


def _copies() -> Iterator[tuple[str, ...]]:
    read = catalog.tier("dram-pcie5").read
    per_copy = read.per_copy.value if read.per_copy else 0.0
    hop = Hop(read.bandwidth.typical.value, per_copy, None, 1, broadcast=False)
    for case in sorted(cases("vllm-h100-dma-h2d"), key=lambda case: _kib(case["block_or_transfer_size"])):
        size = 1024 * _kib(case["block_or_transfer_size"])
        model = size / (hop.per_copy + size / hop.bandwidth) / 1e9
        yield _row(f"{size // 1024:,} KiB", case["value"], model, "GB/s")


def _kib(text: str) -> int:
    return int(text.split()[0])


def _loads() -> Iterator[tuple[str, ...]]:
    options = Options(kv_dtype="bf16", weights="bf16", tp=1, engine="vllm", tiers=("dram",), links=1)
    for case in cases("vllm-h100-l31-8b-cpuload"):
        found = margin("llama3.1-8b", "h200-pcie5", case["seq_len"], options)
        yield _row(f"llama3.1-8b, {case['seq_len']:,} tokens", case["value"], 1e3 * found.paths[0].fetch_s, "ms")
    small = _one_b()
    for case in cases("vllm-h100-l32-1b-cpuload"):
        found = margin(small, "h200-pcie5", case["seq_len"], options)
        yield _row(f"llama3.2-1b, {case['seq_len']:,} tokens", case["value"], 1e3 * found.paths[0].fetch_s, "ms")


def _one_b() -> Model:
    """Llama 3.2 1B: 16 layers of 8 KV heads of 64, 32,768 B a token."""
    group = Full(kind="full", layers=16, heads=32, kv_heads=8, key_width=64, value_width=64)
    return replace(catalog.model("llama3.2-3b"), name="llama3.2-1b", hidden=2048, groups=(group,))


def _row(label: str, measured: float, model: float, unit: str) -> tuple[str, ...]:
    return label, f"{measured:g} {unit}", f"{model:.3g} {unit}", f"{100 * (model / measured - 1):+.1f} %"


def _pulls() -> Iterator[tuple[str, ...]]:
    computed = [case["value"] / 1e3 for case in cases("llmd-gptoss-recompute")]
    pulled = [(case["seq_len"], case["value"] / 1e3) for case in cases("llmd-gptoss-p2p")]
    slope = (pulled[-1][1] - pulled[0][1]) / (pulled[-1][0] - pulled[0][0])
    for (tokens, pull), seconds in zip(pulled, computed, strict=True):
        yield _pull("gpt-oss-120b", tokens, seconds, pull, 0.022 + slope * tokens)
    glm = curve("llmd-glm-5.2-h200-p2p")
    for tokens, seconds, pull in zip(glm["tokens"], glm["recompute_s"], glm["fetch_s"], strict=True):
        yield _pull("glm-5.2", tokens, seconds, pull, _glm(tokens))


def _glm(tokens: int) -> float:
    return 1.66 + 6.0e-6 * tokens


def _pull(model: str, tokens: int, seconds: float, pull: float, modelled: float) -> tuple[str, ...]:
    winners = ("pull" if other < seconds else "recompute" for other in (pull, modelled))
    return model, f"{tokens:,}", f"{seconds:.3g} s", f"{pull:.3g} s", f"{modelled:.3g} s", *winners


def _turn() -> str:
    glm = curve("llmd-glm-5.2-h200-p2p")
    points = tuple(zip(glm["tokens"], glm["recompute_s"], strict=True))
    way = recompute.measured("measured", points, None, (), 0.0)

    def gain(tokens: int) -> float:
        return way.seconds(tokens) - _glm(tokens)

    grid = crossover.lengths()
    (turn,) = crossover.changes([gain(tokens) for tokens in grid], grid, gain)
    return f"GLM-5.2 turns at {turn:,} tokens; the measured tie is at 13,648.\n"
