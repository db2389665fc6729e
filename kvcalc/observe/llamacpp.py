"""llama.cpp's start-up log, with its forks' and servers' (its print statements from 2023 to b11195)."""

from kvcalc.observe.forms import Form, dtype, form
from kvcalc.observe.observation import Finding, Observation, Pool, PoolKind
from kvcalc.observe.stated import Stated

LOOKS_FOR = "'KV self size' or 'llama_kv_cache: size ='"
FIGURES = frozenset(("cache_bytes", "buffer_bytes"))

_SIZE = r"size\s*=\s*<s:cache_bytes>"  # "MB" in 2023, and 2^20 all the same
_PARTS = r", (?:K|c\^KV) \((?P<k_format>\w+)\):\s*<s:k_bytes>(?:, V \((?P<v_format>\w+)\):\s*<s:v_bytes>)?"
FORMS: tuple[Form, ...] = (
    form("build: ", r"\bbuild: (?P<version>\d+) \(", kind="starts"),
    form("general.name", r"general\.name\s+(?:str\s+)?= (?P<model>.+?)\s*$"),
    form("n_ctx", r"\bn_ctx\s*=\s*(?P<max_model_len>\d+)"),
    form("model buffer size", r"(?!CPU)\w+ model buffer size =\s*<s:model_bytes>"),
    form("compute buffer size", r"(?!CPU|\w+_Host)\w+ +compute buffer size =\s*<s:compute_bytes>"),
    # src/llama-kv-cache*.cpp, src/llama-memory-recurrent.cpp
    form("n_layer = ", r"kv_size = (?P<kv_size>\d+),.* n_layer = (?P<kv_layers>\d+)"),
    form("SWA KV cache, size", r"creating (?P<cache_kind>non-SWA|    SWA) KV cache, size"),
    form("KV buffer size", r"KV buffer size =\s*<s:buffer_bytes>", opens=r"\w+ +KV buffer size"),
    form("elf size", rf"[Kk][Vv] self {_SIZE}(?:\s*$|{_PARTS})", opens="[Kk][Vv] self size", kind="always"),
    form(" cells,", rf"{_SIZE} \(\s*(?P<cells>\d+) cells,\s*(?P<layers>\d+) layers,[^)]*\){_PARTS}"),
    form(" cells,", r"size\s*=\s*<s:state_bytes> \(\s*(?P<slots>\d+) cells,[^)]*\), R \("),
)

Row = dict[str, Finding]


def observed(stated: Stated) -> Observation:
    """What a llama.cpp log says; `available_kv_bytes` is the KV of the whole model, over all its devices."""
    rows = _rows(stated)
    main = next((row for kind, row in rows if kind == "full"), None)
    total = sum(_cache(row) for _, row in rows)
    cells = _number(main, "cells") or stated.first("kv_size")
    layers = _number(main, "layers") or stated.first("kv_layers")
    key_format, value_format = (stated.known_format(dtype(_word(main, each))) for each in ("k_format", "v_format"))
    length, build = stated.first("max_model_len"), stated.word("version")
    return Observation(
        engine="llamacpp",
        version=f"b{build}" if build else None,
        model=stated.word("model"),
        max_model_len=None if length is None else int(length),
        available_kv_bytes=total or _sum(stated, "buffer_bytes"),
        kv_tokens=None if cells is None else int(cells),
        k_bytes=_over(rows, "k_bytes"),
        v_bytes=_over(rows, "v_bytes"),
        kv_dtype=key_format if key_format == value_format or value_format is None else None,
        k_format=key_format,
        v_format=value_format,
        layers=None if layers is None else int(layers),
        cells=None if cells is None else int(cells),
        pools=_pools(stated, rows),
        weights_bytes=_sum(stated, "model_bytes"),
        activation_bytes=_sum(stated, "compute_bytes"),
        findings=stated.published(),
        notes=stated.noted(),
    )


def _rows(stated: Stated) -> list[tuple[PoolKind, Row]]:
    """The first cache of each kind; a further one is of a draft model or another context."""
    rows: dict[PoolKind, Row] = {}
    above = 0
    for row in stated.rows("cache_bytes"):
        line = row["cache_bytes"].line
        named = [str(each.value).strip() for each in stated.of("cache_kind") if above < each.line < line]
        kind: PoolKind = "window" if named[-1:] == ["SWA"] else "full"
        above = line
        if kind in rows:
            stated.notes.append(f"line {line} states a second KV cache, of a draft model or another context: not read")
        else:
            rows[kind] = row
    return list(rows.items())


def _pools(stated: Stated, rows: list[tuple[PoolKind, Row]]) -> tuple[Pool, ...]:
    """Each pool by itself, where there are several."""
    pools = [
        Pool(kind, tokens=None if (cells := _number(row, "cells")) is None else int(cells), bytes=_cache(row))
        for kind, row in rows
    ]
    if states := stated.rows("state_bytes"):
        pools.append(Pool("state", slots=int(states[0]["slots"].value), bytes=float(states[0]["state_bytes"].value)))
    return tuple(pools) if len(pools) > 1 else ()


def _cache(row: Row) -> float:
    return float(row["cache_bytes"].value)


def _over(rows: list[tuple[PoolKind, Row]], field: str) -> float | None:
    found = [value for _, row in rows if (value := _number(row, field)) is not None]
    return sum(found) if found else None


def _sum(stated: Stated, field: str) -> float | None:
    """Over devices."""
    found = [float(finding.value) for finding in stated.of(field)]
    return sum(found) if found else None


def _number(row: Row | None, field: str) -> float | None:
    return float(row[field].value) if row and field in row else None


def _word(row: Row | None, field: str) -> str | None:
    return str(row[field].value) if row and field in row else None
