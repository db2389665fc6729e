"""Which engine a log is of."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.observe import logs

FORMS = (Path(__file__).parents[1] / "data" / "log_lines.txt").read_text(encoding="utf-8").splitlines()
VLLM = "INFO [kv_cache_utils.py:864] GPU KV cache size: 443,344 tokens"
SGLANG = "[2026-03-11 TP0] KV Cache is allocated. #tokens: 442128, K size: 26.99 GB, V size: 26.99 GB"
STORED = "LMCache INFO: Stored 10 out of total 10 tokens. size: 0.0010 gb, cost 1.0000 ms"


@pytest.mark.parametrize("line", [line for line in FORMS if not line.startswith("# ") or "blocks:" in line])
def test_every_line_form_is_read(line):
    """Those that state no pool by themselves are read beside one that does."""
    engines = {"INFO": VLLM, "[2026-03": SGLANG, "(Engine": VLLM}
    beside = next((pool for start, pool in engines.items() if line.startswith(start)), "")
    pages = "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 4060" if "TensorRT" in line else ""
    seen = logs.parse("\n".join((line, beside, pages)))
    if "pages per sequence" in line:  # says nothing of the pool
        return
    told = seen.findings + tuple(finding for other in seen.beside for finding in other.findings)
    assert any(finding.line == 1 for finding in told), line


def test_two_engines_in_one_log_are_refused_by_name():
    with pytest.raises(UserError, match="holds lines of vLLM and SGLang; give the log of one engine"):
        logs.parse(f"{VLLM}\n{SGLANG}")


def test_lmcache_belongs_to_its_engine():
    for line, engine in ((VLLM, "vllm"), (SGLANG, "sglang")):
        seen = logs.parse(f"{line}\n{STORED}")
        assert (seen.engine, [other.engine for other in seen.beside]) == (engine, ["lmcache"])


def test_nothing_recognisable_names_what_is_looked_for():
    with pytest.raises(UserError) as caught:
        logs.parse("hello\nworld")
    for words in (
        "GPU KV cache size",
        "KV Cache is allocated",
        "paged KV cache",
        "KV self size",
        "LMCache INFO: Stored",
    ):
        assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_log_that_stops_before_its_pool_says_so():
    with pytest.raises(UserError, match="looks like vLLM but states no KV pool"):
        logs.parse("INFO [api_server.py:1395] vLLM API server version 0.9.2")


def test_a_log_with_more_findings_than_any_start_has_stays_small():
    seen = logs.parse("\n".join([VLLM] * 5000))
    assert len(seen.findings) <= 2000


@given(st.text(max_size=200), st.integers(0, 200))
def test_whatever_is_added_to_a_line_it_is_read_or_refused(noise, at):
    line = VLLM[:at] + noise + VLLM[at:]
    with suppress(UserError):
        assert logs.parse(line).engine in ("vllm", "sglang", "trtllm", "llamacpp", "lmcache")
