"""Fit the constants of the prefill model to measured kernel times; write hardware_profiles/fits and docs/accuracy.md.

    python scripts/fit_prefill.py

Least squares on the logarithm of predicted / measured time. Of the wide rows every second one is used and the others
judge the fit. Dense rows give everything but the rates of experts, which the rows of mixtures of experts then give with
all else held. The constants of FORM and the head widths were fitted once over all GPUs together and are held: the
reference rows alone can't tell them apart. Takes about ten minutes, most of it to leave each model out in turn.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path

import fetch_report
import numpy as np
from prefill_profiles import borrowed, profile
from prefill_report import Errors, Judged, report
from prefill_rows import Row, accelerator, cases, reference, shape, wide
from scipy.optimize import least_squares

from kvcalc import files
from kvcalc.physics import coefficients
from kvcalc.physics.prefill import SHORT
from kvcalc.profiles.hardware import Bands, Constants, EngineConstants, Fit, Form, Rates
from kvcalc.profiles.sources import Figure, Source

ROOT = Path(__file__).resolve().parents[1]
SHARE = 6.0  # weight of a family's reference rows together, against its wide rows together
SPREAD = 0.3  # log error from which errors of an engine that is not named count more than they are large
ENGINES = ("trtllm", "vllm", "sglang")

SOURCE = Source(
    title="fit of the prefill model to kernel tables of aiconfigurator 0.12.0, measured by NVIDIA",
    address="scripts/fit_prefill.py on tests/data/prefill_reference.yaml and tests/data/prefill_wide.csv",
    basis="fit",
    checked=date(2026, 11, 29),
)


def figure(value: float) -> Figure:
    return Figure(value, SOURCE)


FORM = Form(
    launch_low=figure(26e-6),
    launch_experts=figure(60e-6),
    quantise=figure(8.0),
    small_message=figure(3e6),
    memory=figure(0.8),
    imbalance=figure(0.4),
    sparse_attention=figure(0.46),
    index=figure(0.45),
)
SPARSE_LAUNCH = {"trtllm": 80e-6, "sglang": 550e-6, "vllm": 2000e-6, "any": 750e-6}


@dataclass(frozen=True, slots=True)
class Family:
    """GPUs that share constants."""

    name: str
    title: str
    accelerators: tuple[str, ...]
    head_width: float
    absorbed: tuple[str, ...] = ()  # engines whose latent attention runs in the latent space


FAMILIES = (
    Family("hopper", "Hopper: H100, H200", ("h100-sxm", "h200-sxm"), 0.8, ("sglang",)),
    Family("blackwell", "Blackwell: B200, GB200", ("b200-sxm", "gb200"), 0.3),
    Family("blackwell-ultra", "Blackwell Ultra: B300, GB300", ("b300-sxm", "gb300"), 0.5),
    Family("ampere", "Ampere: A100", ("a100-80-sxm",), 1.0),
    Family("ada", "Ada: L40S", ("l40s",), 1.0),
    Family("blackwell-pcie", "RTX PRO 6000 Blackwell", ("rtx-pro-6000-blackwell",), 0.8),
)

Values = dict[str, float]
START: Values = {
    "launch": 80e-6,
    "spare_heads": 0.5,
    **dict.fromkeys(("gemm bf16", "gemm fp8", "gemm nvfp4", "link_2", "link_4", "link_8"), 0.65),
    **{f"kv{bits} {engine}": 0.58 for bits in (16, 8) for engine in (*ENGINES, "any")},
    **{f"reduce {engine}": 30e-6 for engine in (*ENGINES, "any")},
}
BOUNDS = {"spare_heads": (0.02, 4.0), **dict.fromkeys(("link_2", "link_4", "link_8"), (0.02, 1.1))}


def fitted(family: Family, values: Values, bands: Bands) -> Fit:
    """The profile that these values make; those of engines together end in 'any'."""
    return Fit(
        kind="fit",
        name=family.name,
        title=f"Prefill constants of {family.title}",
        notes=(),
        sources={"fit": SOURCE},
        form=FORM,
        named=_constants(family, values, [engine for engine in ENGINES if f"kv16 {engine}" in values]),
        any=_constants(family, values, ["any"] if "kv16 any" in values else []),
        bands=bands,
    )


def _constants(family: Family, values: Values, engines: Iterable[str]) -> Constants:
    def rate(name: str) -> Figure | None:
        return figure(values[name]) if name in values else None

    return Constants(
        launch=figure(values["launch"]),
        gemm=Rates(bf16=rate("gemm bf16"), fp8=rate("gemm fp8"), nvfp4=rate("gemm nvfp4"), mxfp4=None),
        link_2=figure(values.get("link_2", 1.0)),
        link_4=figure(values.get("link_4", 1.0)),
        link_8=figure(values.get("link_8", 1.0)),
        spare_heads=figure(values["spare_heads"]),
        head_width=figure(family.head_width),
        engines={engine: _engine(family, values, engine) for engine in engines},
    )


def _engine(family: Family, values: Values, engine: str) -> EngineConstants:
    experts = {name: values.get(f"experts {name} {engine}") for name in ("bf16", "fp8", "mxfp4", "nvfp4")}
    kv8 = values.get(f"kv8 {engine}")
    return EngineConstants(
        attention_kv16=figure(values[f"kv16 {engine}"]),
        attention_kv8=None if kv8 is None else figure(kv8),
        all_reduce=figure(values.get(f"reduce {engine}", 0.0)),
        experts=Rates(**{name: figure(value) for name, value in experts.items() if value}),
        sparse_launch=figure(SPARSE_LAUNCH[engine]),
        latent_absorbed=engine in family.absorbed,
    )


NO_BANDS = Bands(**dict.fromkeys((field.name for field in fields(Bands)), figure(0.0)))


def fit(family: Family, rows: Sequence[Row], named: bool) -> Values:
    """Constants for engines that are named, or for all of them together."""
    dense = [row for row in rows if not row.experts]
    held = _solve(family, dense, {name: START[name] for name in _free(dense, named)}, {}, named)
    experts = [row for row in rows if row.experts]
    rates = {f"experts {row.weights} {row.engine if named else 'any'}": 0.4 for row in experts}
    missing = {name: START[name] for name in _free(experts, named) if name not in held}
    return held | _solve(family, experts, {**missing, **rates}, held, named) if rates else held


def _free(rows: Sequence[Row], named: bool) -> list[str]:
    """The constants that these rows can tell."""
    found = ["launch", "spare_heads"]
    for row in rows:
        engine = row.engine if named else "any"
        found += [f"gemm {row.weights}"] if row.weights != "mxfp4" else []
        found += [f"kv{row.kv_bits} {engine}", f"kv16 {engine}"]
        if row.tp > 1:
            found += [f"link_{row.tp}", f"reduce {engine}"]
    return list(dict.fromkeys(found))


def _solve(family: Family, rows: Sequence[Row], start: Values, held: Values, named: bool) -> Values:
    names = list(start)
    weights = np.sqrt(_weights(rows))
    measured = np.log([row.seconds for row in rows])

    def residual(logs: np.ndarray) -> np.ndarray:
        made = fitted(family, held | dict(zip(names, np.exp(logs), strict=True)), NO_BANDS)
        off = np.log([row.predict(made, named) for row in rows]) - measured
        return np.asarray(weights * (off if named else off * np.sqrt(1 + (off / SPREAD) ** 2)))

    low, high = zip(*(BOUNDS.get(name, (1e-7, 4.0)) for name in names), strict=True)
    begin, bounds = np.log(list(start.values())), (np.log(low), np.log(high))
    found = least_squares(residual, begin, bounds=bounds, loss="soft_l1" if named else "linear", f_scale=0.08)
    return {name: float(f"{value:.3g}") for name, value in zip(names, np.exp(found.x), strict=True)}


def _weights(rows: Sequence[Row]) -> list[float]:
    """The reference rows of a family count as much as its wide rows, each once at least."""
    known = sum(row.reference for row in rows)
    share = max(1.0, SHARE * (len(rows) - known) / known) if known else 1.0
    return [share if row.reference else 1.0 for row in rows]


def of(family: Family, rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.accelerator in family.accelerators]


LIVE = Source(
    title="vLLM blog, 2026-01-08, figure 1: Llama-3.1-8B on one H100, against this fit",
    address="https://blog.vllm.ai/2026/01/08/kv-offloading-connector.html",
    basis="measured",
    checked=date(2026, 11, 29),
    note="The largest of ten ratios of measured to modelled time, 10,000 to 100,000 tokens, less one.",
)


def live(hopper: Fit) -> Figure:
    """By how much longer a live engine took than the model says, in whole percent."""
    gpus = coefficients.Gpus(accelerator("h100-sxm"), hopper, "vllm", 1)
    model = coefficients.build(shape("llama3.1-8b"), gpus, "bf16", 16)
    ratios = [case["value"] / 1e3 / model.seconds(case["seq_len"]) for case in cases("vllm-h100-l31-8b-recompute")]
    return Figure(float(np.ceil(100 * (max(ratios) - 1))) / 100, LIVE)


def bands(family: Family, rows: Sequence[Row], named: Fit, unseen: Bands) -> Bands:
    """The 90th percentile of the error by class, in whole percent, on reference rows and on rows held out."""
    judged = [row for row in of(family, rows) if row.reference or row.held_out]

    def ninety(some: Iterable[Row], by_engine: bool = True) -> Figure:
        found = errors(list(some), named, by_engine)
        return figure(float(np.ceil(100 * np.quantile(abs(found), 0.9))) / 100) if len(found) else unseen.untested

    plain = [row for row in judged if not row.experts and not row.sparse]
    long = [row for row in plain if row.new >= SHORT]
    usual = [row for row in long if not row.small]
    experts = [row for row in judged if row.experts and not row.sparse]
    return Bands(
        dense=ninety(usual),
        dense_any=ninety(usual, by_engine=False),
        short=ninety(row for row in plain if row.new < SHORT),
        small=ninety(row for row in long if row.small),
        experts=ninety(experts),
        experts_any=ninety(experts, by_engine=False),
        sparse=ninety(row for row in judged if row.sparse),
        untested=unseen.untested,
        live=unseen.live,
    )


def errors(rows: Sequence[Row], made: Fit, named: bool = True) -> Errors:
    """Predicted / measured - 1."""
    return np.array([row.predict(made, named) / row.seconds - 1 for row in rows])


def without_model(family: Family, rows: Sequence[Row]) -> dict[str, Errors]:
    """The errors on each model when nothing of it was fitted."""
    found = {}
    for model in sorted({row.model for row in of(family, rows)}):
        rest = [row for row in of(family, rows) if row.model != model and not row.held_out]
        made = fitted(family, fit(family, rest, named=True), NO_BANDS)
        found[model] = errors([row for row in of(family, rows) if row.model == model and covered(row, made)], made)
    return found


def covered(row: Row, made: Fit) -> bool:
    """Do the constants cover the row's engine and expert format?"""
    engine = made.named.engines.get(row.engine)
    return engine is not None and (not row.experts or getattr(engine.experts, row.weights) is not None)


def without_gpu(rows: Sequence[Row], made: dict[str, Fit]) -> dict[tuple[str, str], Errors]:
    """The errors on a family's dense rows by the constants of another."""
    linked = [family for family in FAMILIES if family.name not in ("ada", "blackwell-pcie")]
    found = {}
    for family, other in itertools.permutations(linked, 2):
        fit_of = made[other.name]
        judged = [row for row in of(family, rows) if not row.experts and not row.small and covered(row, fit_of)]
        found[family.name, other.name] = errors(judged, fit_of)
    return found


def main() -> None:
    """Fit, judge, write."""
    rows = reference() + wide()
    made: dict[str, Fit] = {}
    for family in FAMILIES:
        used = [row for row in of(family, rows) if not row.held_out]
        named, unnamed = fit(family, used, named=True), fit(family, used, named=False)
        made[family.name] = replace(fitted(family, named, NO_BANDS), any=fitted(family, unnamed, NO_BANDS).any)
    strangers = without_gpu(rows, made)
    stranger = float(np.ceil(100 * np.quantile(abs(np.concatenate(list(strangers.values()))), 0.9))) / 100
    unseen = replace(NO_BANDS, untested=figure(stranger), live=live(made["hopper"]))
    for family in FAMILIES:
        fit_of = made[family.name]
        made[family.name] = replace(fit_of, bands=bands(family, rows, fit_of, unseen))
        files.write(ROOT / "hardware_profiles/fits" / f"{family.name}.yaml", profile(made[family.name]))
    files.write(ROOT / "hardware_profiles/fits/cdna3.yaml", profile(borrowed(made["hopper"])))
    left_out = {family.name: without_model(family, rows) for family in FAMILIES[:2]}
    page = report(Judged(rows, made, left_out, strangers)) + fetch_report.report()
    files.write(ROOT / "docs/accuracy.md", page)


if __name__ == "__main__":
    main()
