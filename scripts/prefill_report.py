"""docs/accuracy.md: how far the prefill model and the fetch model are from what was measured."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from prefill_rows import Row, accelerator, cases, shape

from kvcalc.physics import coefficients
from kvcalc.physics.prefill import SHORT
from kvcalc.profiles.hardware import Fit

Errors = NDArray[np.float64]

HEADER = """# Accuracy

Errors are predicted / measured - 1. This page is written by `scripts/fit_prefill.py`, which also writes the constants.

## Prefill model

The model (docs/equations.md) is fitted to kernel tables of aiconfigurator 0.12.0 (Apache-2.0), measured by NVIDIA: the
prefill of one request, batch 1, without scheduler, HTTP or sampling. Three things limit what the figures below say.

- The tables were measured up to 32,768 tokens (GEMMs, latent attention) and 16,384 (attention, experts). Longer rows
  are that tool's extrapolation at constant utilisation.
- A live engine is slower than its kernels: vLLM on one H100 by 7 to 14 % (below).
- Rows of mixtures of experts assume the skewed load of the tables, where the busiest of n ranks does n^0.4 times its
  share. With balanced experts large prompts are faster: the model is then up to a third too slow.
"""

Keep = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class Judged:
    """Everything the page is made of."""

    rows: list[Row]
    fits: dict[str, Fit]
    without_model: dict[str, dict[str, Errors]]
    without_gpu: dict[tuple[str, str], Errors]


def report(judged: Judged) -> str:
    """The page's part on the prefill model."""
    parts = [
        HEADER,
        "### The 176 reference rows\n",
        _reference(judged),
        "### Rows held out of the fit\n\nOther models, GPUs and splits; every second row of "
        "`tests/data/prefill_wide.csv`, of which nothing was fitted.\n",
        _held_out(judged),
        _left_out(judged),
        _strangers(judged),
        "### Published measurements\n",
        _published(judged),
    ]
    return "\n".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table; all but the first column are numbers."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]) + "\n"


def _errors(rows: Sequence[Row], fit: Fit, named: bool) -> Errors:
    return np.array([row.predict(fit, named) / row.seconds - 1 for row in rows])


def _cells(found: Errors) -> list[str]:
    size = abs(found)
    return [
        str(len(found)),
        f"{100 * size.mean():.1f} %",
        f"{100 * np.quantile(size, 0.9):.1f} %",
        f"{100 * size.max():.1f} %",
        f"{100 * found.mean():+.1f} %",
    ]


HEAD = ("", "rows", "mean", "90 % within", "worst", "bias")


def _fit_of(judged: Judged, row: Row) -> Fit:
    return judged.fits[accelerator(row.accelerator).fit or ""]


def _line(judged: Judged, label: str, keep: Keep, named: bool = True) -> list[str]:
    rows = [row for row in judged.rows if keep(row)]
    found = [_errors([row], _fit_of(judged, row), named)[0] for row in rows]
    return [label, *_cells(np.array(found))] if found else []


def _reference(judged: Judged) -> str:
    gpus = {"H100": "h100-sxm", "B200": "b200-sxm", "A100": "a100-80-sxm"}

    def dense(gpu: str) -> Keep:
        return lambda row: row.reference and row.accelerator == gpu and not row.experts

    def oddity(row: Row) -> bool:
        return row.model == "gpt-oss-120b" and row.accelerator == "b200-sxm"

    lines = [_line(judged, f"dense, {name}, engine named", dense(gpu)) for name, gpu in gpus.items()]
    lines += [_line(judged, f"dense, {name}, engine not named", dense(gpu), named=False) for name, gpu in gpus.items()]
    lines += [
        _line(judged, "with a cached prefix", lambda row: row.reference and row.cached > 0),
        _line(judged, "experts, engine named", lambda row: row.reference and row.experts and not oddity(row)),
        _line(
            judged, "experts, engine not named", lambda row: row.reference and row.experts and not oddity(row), False
        ),
        _line(judged, "gpt-oss-120b on B200, an oddity of the table", lambda row: row.reference and oddity(row)),
        _line(judged, "the same, engine not named", lambda row: row.reference and oddity(row), False),
    ]
    return table(HEAD, lines)


def _held_out(judged: Judged) -> str:
    classes: dict[str, tuple[Keep, bool]] = {
        "dense": (_usual, True),
        "dense, engine not named": (_usual, False),
        f"fewer than {SHORT:,} new tokens": (lambda row: row.new < SHORT and not row.experts, True),
        "dense below 5e9 parameters": (lambda row: row.small and row.new >= SHORT, True),
        "experts": (lambda row: row.experts and not row.sparse, True),
        "sparse attention": (lambda row: row.sparse, True),
    }
    lines = []
    for family in judged.fits:
        mine = [row for row in judged.rows if row.held_out and accelerator(row.accelerator).fit == family]
        for label, (keep, named) in classes.items():
            found = _errors([row for row in mine if keep(row)], judged.fits[family], named)
            lines += [[f"{family}: {label}", *_cells(found)]] if len(found) else []
    return table(HEAD, lines)


def _usual(row: Row) -> bool:
    return not row.experts and not row.small and row.new >= SHORT


def _left_out(judged: Judged) -> str:
    text = "### Leaving a model out\n\nEverything fitted without the model, then tried on all its rows.\n\n"
    for family, models in judged.without_model.items():
        tried = ([model, *_cells(found)] for model, found in models.items() if len(found))
        text += table((family, *HEAD[1:]), tried) + "\n"
    return text


def _strangers(judged: Judged) -> str:
    text = "### Leaving a GPU out\n\nDense rows of one family of GPUs by the constants of another.\n\n"
    pairs = judged.without_gpu.items()
    return text + table(HEAD, ([f"{mine} by {other}", *_cells(found)] for (mine, other), found in pairs))


def _published(judged: Judged) -> str:
    hopper = judged.fits["hopper"]
    lines = []
    for case in cases("vllm-h100-l31-8b-recompute", "llmd-gptoss-recompute"):
        dense = "8b" in case["id"]
        model, gpu, weights = ("llama3.1-8b", "h100-sxm", "bf16") if dense else ("gpt-oss-120b", "h200-sxm", "mxfp4")
        times = []
        for engine in ("vllm", "any"):
            gpus = coefficients.Gpus(accelerator(gpu), hopper, engine, 1)
            seconds = coefficients.build(shape(model), gpus, weights, 16).seconds(case["seq_len"])
            times.append(f"{1e3 * seconds:.0f} ms ({100 * (1e3 * seconds / case['value'] - 1):+.1f} %)")
        lines.append((f"{model} on {gpu}, {case['seq_len']:,} tokens", f"{case['value']} ms", *times))
    note = (
        "Llama-3.1-8B: vLLM blog, 2026-01-08, figure 1 (read off the chart, +-2 %). gpt-oss-120b: llm-d, 2026-08-15;\n"
        "the post names neither engine version nor split, one GPU is assumed.\n\n"
    )
    return note + table(("", "measured", "vllm", "engine not named"), lines)
