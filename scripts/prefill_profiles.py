"""A fit as the text of its profile, and constants borrowed for GPUs that no row was measured on."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import date

from kvcalc import units
from kvcalc.profiles.hardware import Constants, Fit
from kvcalc.profiles.sources import Figure, Source

UNITS = {
    "launch": "s",
    "launch_low": "s",
    "launch_experts": "s",
    "sparse_launch": "s",
    "all_reduce": "s",
    "quantise": "B",
    "small_message": "B",
    "imbalance": "",
    "spare_heads": "",
    "head_width": "",
}

ALL_REDUCE = Source(
    title="Machine Learning Engineering, all-reduce on MI300X: 48 GB/s over 2 GPUs, 313 over 8",
    address="stas00/ml-engineering@744d01e:network/README.md",
    basis="measured",
    checked=date(2026, 11, 29),
    note="Arithmetic: of 448 GB/s, seven links of 64. Over 4 GPUs three of the seven links serve, as well used.",
)


def borrowed(hopper: Fit) -> Fit:
    """Hopper's constants for AMD's GPUs, with the GPU links held to measured all-reduces."""

    def held(constants: Constants) -> Constants:
        links = (48 / 448, 313 / 448 * 3 / 7, 313 / 448)
        two, four, eight = (Figure(fraction, ALL_REDUCE) for fraction in links)
        return replace(constants, link_2=two, link_4=four, link_8=eight)

    return replace(
        hopper,
        name="cdna3",
        title="Prefill constants borrowed for CDNA: Hopper's, with AMD's GPU links",
        notes=("No prefill of these GPUs was fitted. Where a measured GEMM rate is known, it caps the GEMMs.",),
        named=held(hopper.named),
        any=held(hopper.any),
    )


def profile(fit: Fit) -> str:
    """The YAML text of a fit."""
    sources = dict.fromkeys(figure.source for figure in _figures(fit))
    keys = {source: _key(source) for source in sources}
    lines = ["# yaml-language-server: $schema=../schemas/fit.json", "# written by scripts/fit_prefill.py"]
    lines += ["kind: fit", f"name: {fit.name}", f'title: "{fit.title}"']
    lines += ["notes:", *(f'  - "{note}"' for note in fit.notes)] if fit.notes else []
    for part in ("form", "named", "any", "bands"):
        lines += [f"{part}:", *_block(getattr(fit, part), keys, "  ")]
    lines.append("sources:")
    for source, key in keys.items():
        lines += [f"  {key}:", f'    title: "{source.title}"', f'    address: "{source.address}"']
        lines += [f"    basis: {source.basis}", f"    checked: {source.checked}"]
        lines += [f'    note: "{source.note}"'] if source.note else []
    return "\n".join(lines) + "\n"


def _key(source: Source) -> str:
    if source.basis == "fit":
        return "fit"
    return "all-reduce" if source == ALL_REDUCE else "live"


def _figures(part: object) -> Iterator[Figure]:
    if isinstance(part, Figure):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            yield from _figures(getattr(part, field.name))
    elif isinstance(part, dict):
        for each in part.values():
            yield from _figures(each)


def _block(part: object, keys: dict[Source, str], indent: str) -> Iterator[str]:
    named = part.items() if isinstance(part, dict) else vars(part).items()
    for name, value in named:
        if isinstance(value, Figure):
            yield f"{indent}{name}: {_text(name, value.value)} [{keys[value.source]}]"
        elif isinstance(value, bool):
            if value:
                yield f"{indent}{name}: true"
        elif isinstance(value, dict) or is_dataclass(value):
            yield f"{indent}{name}:"
            yield from _block(value, keys, indent + "  ")


def _text(name: str, value: float) -> str:
    if name not in UNITS:
        return f"{float(f'{100 * value:.4g}'):g} %"
    return units.exact(value, UNITS[name]) if UNITS[name] else f"{value:g}"
