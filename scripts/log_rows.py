"""Start-up figures of tests/data/engine_logs.yaml, and the models that they are of."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args

import yaml

from kvcalc.profiles.model import FeedForward, LayerGroup, Model
from kvcalc.profiles.sources import Source

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
KINDS = {get_args(each.__annotations__["kind"])[0]: each for each in get_args(get_args(LayerGroup)[0])}
WEIGHTS = {
    "bf16": "bf16", "f16": "fp16", "f32": "fp32", "fp8": "fp8", "nvfp4": "nvfp4", "mxfp4": "mxfp4",
    "compressed-tensors": "int8", "gptq_marlin": "int4",
}  # fmt: skip
KV = {"bf16": "bf16", "f16": "fp16", "fp8": "fp8", "f32": "fp32"}


@dataclass(frozen=True)
class Row:
    """One run: what was asked and what the engine printed."""

    id: str
    raw: dict[str, Any]
    model: Model | None

    @property
    def facts(self) -> dict[str, Any]:
        """The printed figures."""
        found: dict[str, Any] = self.raw["facts"]
        return found

    def gib(self, key: str) -> float:
        """A printed figure in bytes."""
        return float(self.facts[key]) * 2**30


def models() -> dict[str, Model]:
    """The models by their Hugging Face names, as tests/data/log_models.yaml has them."""
    documents = yaml.safe_load((DATA / "log_models.yaml").read_text(encoding="utf-8"))
    return {name: profile(name, document) for name, document in documents.items()}


def profile(name: str, document: dict[str, Any]) -> Model:
    source = Source(
        title=f"config.json of {name}",
        address=f"https://huggingface.co/{name}",
        basis="config",
        checked=date(2026, 11, 29),
    )
    fields: dict[str, Any] = {
        "name": name.lower(),
        "title": name,
        "huggingface": name,
        "source": source,
        "context": 8192,
    } | document
    fields["groups"] = tuple(_group(each) for each in document["groups"])
    blocks = document.get("feed_forward")
    fields["feed_forward"] = blocks and tuple(FeedForward(**each) for each in blocks)
    return Model(**(fields | {"sources": {"config": source}}))


def _group(document: dict[str, Any]) -> Any:
    width = document.get("width")
    widths = {"key_width": width, "value_width": width} if width else {}
    return KINDS[document["kind"]](**{key: value for key, value in document.items() if key != "width"} | widths)


def rows() -> list[Row]:
    """All rows, in their order."""
    found = yaml.safe_load((DATA / "engine_logs.yaml").read_text(encoding="utf-8"))["entries"]
    known = models()
    return [Row(raw["id"], raw, known.get(raw["model"])) for raw in found]


def budgets() -> list[Row]:
    """The rows that state the whole budget: vLLM 0.19 on an H100."""
    return [row for row in rows() if "total_non_kv_gib" in row.facts]
