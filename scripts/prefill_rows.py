"""The reference rows that the prefill model is fitted to and judged by: measured kernel tables, one request alone."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kvcalc.physics import coefficients, work
from kvcalc.profiles import catalog
from kvcalc.profiles.hardware import Accelerator, Fit

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"

MODELS = {
    "meta-llama/Meta-Llama-3.1-70B": "llama3.1-70b",
    "meta-llama/Meta-Llama-3.1-8B": "llama3.1-8b",
    "deepseek-ai/DeepSeek-V3": "deepseek-v3",
    "openai/gpt-oss-120b": "gpt-oss-120b",
}
ACCELERATORS = {"h100_sxm": "h100-sxm", "b200_sxm": "b200-sxm", "a100_sxm": "a100-80-sxm"}
# FP8 and NVFP4 rows keep FP8 KV with every engine: with a 16-bit cache the tool gives other times
FORMATS = {
    "bf16": ("bf16", 16),
    "fp8": ("fp8", 8),
    "fp8+fp8attn": ("fp8", 8),
    "nvfp4": ("nvfp4", 8),
    "auto(fp8_block)": ("fp8", 8),
    "auto(mxfp4)": ("mxfp4", 16),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One measured prefill."""

    model: str
    accelerator: str
    tp: int
    engine: str
    engine_version: str
    weights: str
    kv_bits: int
    tokens: int  # the whole prompt, cached part included
    cached: int
    seconds: float
    quant: str  # as the table calls it
    reference: bool
    held_out: bool

    @property
    def new(self) -> int:
        return self.tokens - self.cached

    @property
    def shape(self) -> work.Shape:
        return shape(self.model)

    @property
    def experts(self) -> bool:
        return self.shape.parameters.experts > 0

    @property
    def sparse(self) -> bool:
        return self.shape.sparse_layers > 0

    @property
    def small(self) -> bool:
        return self.shape.parameters.linear < coefficients.SMALL and not self.experts

    def predict(self, fit: Fit, named: bool) -> float:
        """Seconds by the prefill model with these constants."""
        gpus = coefficients.Gpus(accelerator(self.accelerator), fit, self.engine if named else "any", self.tp)
        return coefficients.build(self.shape, gpus, self.weights, self.kv_bits).seconds(self.new, self.cached)


@cache
def shape(model: str) -> work.Shape:
    return work.shape(catalog.model(model))


@cache
def accelerator(name: str) -> Accelerator:
    return catalog.accelerator(name)


def reference() -> list[Row]:
    """The 176 rows of prefill_reference.yaml."""
    text = (DATA / "prefill_reference.yaml").read_text()
    return [_reference(row) for row in yaml.load(text, Loader=yaml.CSafeLoader)["rows"]]


def _reference(row: dict[str, object]) -> Row:
    weights, bits = FORMATS[str(row["quant"])]
    return Row(
        model=MODELS[str(row["model"])],
        accelerator=ACCELERATORS[str(row["system"])],
        tp=int(str(row["tp"])),
        engine=str(row["engine"]),
        engine_version=str(row["engine_version"]),
        weights=weights,
        kv_bits=bits,
        tokens=int(str(row["tokens"])),
        cached=int(str(row["cached"])),
        seconds=float(str(row["ttft_ms"])) / 1e3,
        quant=str(row["quant"]),
        reference=True,
        held_out=False,
    )


def wide() -> list[Row]:
    """Rows for other models, GPUs and splits; every second one is held out of the fit."""
    with (DATA / "prefill_wide.csv").open() as stream:
        return [_wide(row, number % 2 == 1) for number, row in enumerate(csv.DictReader(stream))]


def _wide(row: dict[str, str], held_out: bool) -> Row:
    return Row(
        model=row["model"],
        accelerator=row["accelerator"],
        tp=int(row["tp"]),
        engine=row["engine"],
        engine_version=row["engine_version"],
        weights=row["weights"],
        kv_bits=int(row["kv_bits"]),
        tokens=int(row["tokens"]),
        cached=int(row["cached"]),
        seconds=float(row["ttft_ms"]) / 1e3,
        quant=row["weights"],
        reference=False,
        held_out=held_out,
    )


def cases(*prefixes: str) -> list[dict[str, Any]]:
    """Published measurements whose id begins with one of the prefixes, by length."""
    known = yaml.load((DATA / "measured_cases.yaml").read_text(), Loader=yaml.CSafeLoader)["cases"]
    found = [case for case in known if case["id"].startswith(prefixes)]
    return sorted(found, key=lambda case: (str(case["model"]), case.get("seq_len") or 0))


def curve(name: str) -> dict[str, Any]:
    """A published pair of curves."""
    known = yaml.load((DATA / "measured_cases.yaml").read_text(), Loader=yaml.CSafeLoader)["curves"]
    return next(found for found in known if found["id"] == name)
