"""LMCache's lines."""

import pytest

from kvcalc.observe import logs

GIB = 2**30
STORED = (
    "[2026-05-02 12:00:00,123] LMCache INFO: Stored {0} out of total {0} tokens. size: {1:.4f} gb, cost {2:.4f} ms, "
    "throughput: 43.7 GB/s; offload_time: 29.1000 ms, put_time: 2.3520 ms (cache_engine.py:253:lmcache.v1.cache_engine)"
)
RETRIEVED = (
    "{3}[2026-05-02 12:00:05,456] LMCache INFO: [req_id=r1] Retrieved {0} out of {0} required tokens (from {0} total "
    "tokens). size: {1:.4f} gb, cost {2:.4f} ms, throughput: 41.2823 GB/s (cache_engine.py:420)"
)


def parse(*lines: str):
    return logs.parse("\n".join(lines))


def test_transfers_add_up():
    traffic = parse(STORED.format(10010, 1.3747, 31.452), STORED.format(990, 0.1, 2.0)).traffic
    moved = traffic.transfer("hbm", "lmcache")
    assert moved.tokens == 11000
    assert moved.bytes == pytest.approx(1.4747 * GIB)
    assert moved.seconds == pytest.approx(0.033452)


def test_workers_of_one_group_repeat_the_tokens_but_not_the_bytes():
    lines = [RETRIEVED.format(1000, 0.5, 20.0, f"(Worker_TP{rank} pid={rank}) ") for rank in range(4)]
    seen = parse(*lines)
    moved = seen.traffic.transfer("lmcache", "hbm")
    assert (moved.tokens, moved.seconds) == (1000, pytest.approx(0.02))
    assert moved.bytes == pytest.approx(2.0 * GIB)
    assert any("4 workers" in note for note in seen.notes)


def test_what_was_asked_is_counted():
    line = (
        "LMCache INFO: Reqid: cmpl-{0}, Total tokens {1}, LMCache hit tokens: {2}, need to load: 0 (vllm_v1_adapter.py)"
    )
    lookup = parse(line.format("a", 2005, 0), line.format("b", 2005, 1792)).traffic.lookup("external")
    assert (lookup.asked, lookup.found, lookup.hit_rate) == (4010, 1792, pytest.approx(1792 / 4010))


def test_older_and_newer_lines_are_read():
    for line in (
        "LMCache INFO: Retrieved 201 out of 201 out of total 201 tokens (cache_engine.py:500)",
        "LMCache INFO: Stored 1925 out of total 1925 tokens. size: 0.1028 GB, cost 10.71 ms, throughput: 9.60 GB/s",
        "[2026-07-01] LMCache INFO: Stored 1280 tokens in 0.012 seconds (server.py:100)",
    ):
        (moved,) = parse(line).traffic.transfers
        assert moved.tokens in (201, 1925, 1280)


def test_the_configured_pools_are_gib():
    seen = parse(
        "LMCache INFO: LMCache Configuration: {'chunk_size': 256, 'max_local_cpu_size': 60.0, 'max_local_disk_size': 100.0}"
    )
    assert (seen.block_tokens, seen.host_pool_bytes, seen.disk_pool_bytes) == (256, 60 * GIB, 100 * GIB)


def test_lmcache_stands_beside_its_engine():
    seen = parse("INFO GPU KV cache size: 443,344 tokens", STORED.format(10, 0.1, 2.0))
    assert seen.engine == "vllm"
    assert [other.engine for other in seen.beside] == ["lmcache"]
    assert seen.beside[0].traffic.transfers


def test_no_tokens_are_no_transfer():
    seen = parse(STORED.format(0, 0.0, 0.0))
    assert seen.traffic is None
    assert any("0 tokens" in note for note in seen.notes)


def test_bytes_of_some_lines_are_not_set_against_the_tokens_of_all():
    seen = parse(STORED.format(1000, 0.5, 10.0), "LMCache INFO: Stored 500 out of total 500 tokens")
    (moved,) = seen.traffic.transfers
    assert (moved.tokens, moved.bytes) == (1500, None)
    assert any("without their bytes" in note for note in seen.notes)


def test_a_size_that_cannot_be_read_is_noted():
    seen = parse(STORED.format(10, 0.1, 1.0), STORED.format(10, 0.1, 1.0).replace("0.1000 gb", "nan gb"))
    assert any(note.startswith("line 2 states a figure that can't be read") for note in seen.notes)


def test_transfers_are_listed_among_what_the_engines_log_states():
    seen = parse("INFO GPU KV cache size: 443,344 tokens", STORED.format(10, 0.1, 2.0))
    (found,) = [finding for finding in seen.findings if finding.field == "stored"]
    assert (found.value, found.line, found.unit) == (10, 2, "tokens")
