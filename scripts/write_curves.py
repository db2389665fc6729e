"""Write hardware_profiles/curves from the reference rows: measured prefill times of whole prompts, by accelerator.

python scripts/write_curves.py
"""

from itertools import groupby
from pathlib import Path

from prefill_rows import Row, reference

from kvcalc import files

FOLDER = Path(__file__).resolve().parents[1] / "hardware_profiles" / "curves"

SAME = {  # models with the same layers
    "llama3.1-70b": "llama3.1-70b, llama3-70b, llama3.3-70b",
    "llama3.1-8b": "llama3.1-8b, llama3-8b",
    "deepseek-v3": "deepseek-v3, deepseek-r1",
}
LONGEST_MEASURED = 32_768  # tokens; the tables' longer points are the tool's extrapolation
TITLES = {"h100-sxm": "H100 SXM", "b200-sxm": "B200", "a100-80-sxm": "A100 80GB SXM"}

SOURCES = """sources:
  tables:
    title: "kernel tables of aiconfigurator 0.12.0 (Apache-2.0), measured by NVIDIA"
    address: "https://pypi.org/project/aiconfigurator/0.12.0/ ; tests/data/prefill_reference.yaml"
    basis: measured
    checked: 2026-11-29
    note: "One request, batch 1, kernels alone. Points beyond 32,768 tokens, extrapolated by the tool, are left out."
  vllm-blog:
    title: "vLLM blog, 2026-01-08, figure 1: Llama-3.1-8B on one H100, 100,000 tokens, against these tables"
    address: "https://blog.vllm.ai/2026/01/08/kv-offloading-connector.html"
    basis: measured
    checked: 2026-11-29
    note: "6.85 s measured, 6.05 s in the tables."
"""


def profile(accelerator: str, rows: list[Row]) -> str:
    """The YAML text of an accelerator's curves."""
    lines = [
        "# yaml-language-server: $schema=../schemas/curves.json",
        "# written by scripts/write_curves.py",
        "kind: curves",
        f"name: {accelerator}",
        f"title: Prefill times measured on {TITLES[accelerator]}",
        "live: 13 % [vllm-blog]",
        "curves:",
    ]
    for key, points in groupby(rows, key=_key):
        model, tp, weights, bits, engine, quant = key
        lines += [
            f"  - models: [{SAME.get(model, model)}]",
            f"    tp: {tp}",
            f"    weights: {weights}",
            f"    kv_bits: {bits}",
            f"    engine: {engine}",
            *(["    variant: FP8 attention"] if quant == "fp8+fp8attn" else []),
            "    source: tables",
            "    points:",
            *(f"      {row.tokens}: {1e3 * row.seconds:.7g} ms" for row in points),
        ]
    return "\n".join(lines) + "\n" + SOURCES


def _key(row: Row) -> tuple[str, int, str, int, str, str]:
    return row.model, row.tp, row.weights, row.kv_bits, row.engine, row.quant


def main() -> None:
    """One file an accelerator; engines in the order TensorRT-LLM, vLLM, SGLang, plain FP8 before FP8 attention."""
    rows = [row for row in reference() if not row.cached and row.tokens <= LONGEST_MEASURED]
    engines = ("trtllm", "vllm", "sglang")
    rows.sort(key=lambda row: (row.model, -row.tp, engines.index(row.engine), row.quant, row.tokens))
    for accelerator in TITLES:
        mine = [row for row in rows if row.accelerator == accelerator]
        files.write(FOLDER / f"{accelerator}.yaml", profile(accelerator, mine))


if __name__ == "__main__":
    main()
