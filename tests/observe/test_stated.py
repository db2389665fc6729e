"""Figures that can't be read are noted with their line, and no figure of any length is a crash."""

import pytest

from kvcalc.errors import UserError
from kvcalc.observe import logs

POOL = "INFO 09-20 10:33:02 [kv_cache_utils.py:864] GPU KV cache size: {} tokens"
MEMORY = "(EngineCore_0 pid=4242) INFO 09-20 10:33:02 [gpu_worker.py:298] Available KV cache memory: {}"
RUNS = "INFO 09-20 10:33:02 [kv_cache_utils.py:868] Maximum concurrency for {} tokens per request: {}x"
GOOD_POOL, GOOD_MEMORY = POOL.format("443,344"), MEMORY.format("54.12 GiB")
LONG = "9" * 310


@pytest.mark.parametrize("tokens", ["-443,344", "nan", "443,3", "\u0664\u0664\u0663", "9" * 30, LONG])
def test_a_cache_size_that_cannot_be_read_is_noted(tokens):
    seen = logs.parse(f"{GOOD_MEMORY}\n{POOL.format(tokens)}")
    assert seen.kv_tokens is None
    (note,) = seen.notes
    assert note.startswith("line 2 states a figure that can't be read (KV cache size): '")


@pytest.mark.parametrize("size", ["5.4.1.2 GiB", "nan GiB", "54.1", "54.1 Gi", f"{LONG} GiB", "\u0665.1 GiB"])
def test_a_memory_that_cannot_be_read_is_noted(size):
    seen = logs.parse(f"{GOOD_POOL}\n{MEMORY.format(size)}")
    assert seen.available_kv_bytes is None
    assert any(note.startswith("line 2 states a figure that can't be read (memory for KV): '") for note in seen.notes)


def test_a_line_that_was_cut_is_noted():
    seen = logs.parse(f"{GOOD_MEMORY}\nINFO [kv_cache_utils.py:864] GPU KV cache size: 443")
    assert any("line 2" in note and "GPU KV cache size: 443" in note for note in seen.notes)


@pytest.mark.parametrize(
    "line",
    [
        POOL.format(LONG),
        RUNS.format(LONG, "3.38"),
        RUNS.format("131,072", LONG),
        f"INFO x.py:1] # GPU blocks: {LONG}, # CPU blocks: {LONG}",
        f"INFO x.py:1] block_size={LONG}",
        f"INFO x.py:1] Setting attention block size to {LONG} tokens",
    ],
)
def test_a_figure_of_any_length_is_noted_in_vllms_log(line):
    seen = logs.parse(f"{GOOD_MEMORY}\n{line}")
    assert any("line 2 states a figure that can't be read" in note for note in seen.notes)


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-03-11 TP0] KV Cache is allocated. #tokens: {LONG}, K size: 26.99 GB, V size: 26.99 GB",
        f"[2026-03-11 TP0] max_total_num_tokens={LONG}",
        f"[TensorRT-LLM][INFO] [MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV cache ({LONG}).",
        f"LMCache INFO: Stored {LONG} out of total {LONG} tokens. size: 1.3747 gb, cost 31.4520 ms",
    ],
)
def test_a_log_whose_only_figure_cannot_be_read_is_refused_with_its_line(line):
    with pytest.raises(UserError, match=r"line 1 states a figure that can't be read") as caught:
        logs.parse(line)
    assert "\n" not in str(caught.value)


def test_a_cache_of_endless_cells_is_noted():
    seen = logs.parse(
        f"llama_kv_cache: size = 512.00 MiB ( {LONG} cells, {LONG} layers, 1/1 seqs), K (f16): 256.00 MiB, V (f16): 256.00 MiB"
    )
    assert (seen.cells, seen.layers) == (None, None)
    assert any("line 1" in note for note in seen.notes)


def test_mib_and_a_decimal_comma_are_read():
    assert logs.parse(MEMORY.format("55418.88 MiB")).available_kv_bytes == 55418.88 * 2**20
    assert logs.parse(MEMORY.format("54,12 GiB")).available_kv_bytes == pytest.approx(54.12 * 2**30)


def test_findings_have_words_and_units_and_counts_are_whole():
    seen = logs.parse(f"{GOOD_MEMORY}\n{GOOD_POOL}, Maximum concurrency for 131,072 tokens per request: 3.38x")
    assert {"merged", "cache_kind"}.isdisjoint(finding.field for finding in seen.findings)
    told = {finding.field: (finding.words, finding.unit, type(finding.value)) for finding in seen.findings}
    assert told["kv_tokens"] == ("KV cache size", "tokens", int)
    assert told["available_kv_bytes"] == ("memory for KV", "bytes", float)
    assert all(words for words, _, _ in told.values())
