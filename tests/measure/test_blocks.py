"""Pages of a model copied by layout and by way, with the CPU in the device's place."""

from typing import Any

import pytest

from kvcalc.measure import blocks
from kvcalc.measure.prefill import shard
from kvcalc.measure.samples import Budget
from kvcalc.profiles import catalog

torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'measure'")


@pytest.mark.parametrize(
    ("model", "tp", "layout", "size"),
    [
        ("llama3-8b", 1, "per-layer-kv", 32 * 1024),
        ("llama3-8b", 1, "cross-layer", 2 * 1024 * 1024),
        ("llama3-70b", 4, "per-layer-kv", 8 * 1024),
        ("llama3-70b", 4, "cross-layer", 1280 * 1024),
    ],
)
def test_blocks_are_as_large_as_vllm_s(model: str, tp: int, layout: Any, size: int):
    """vLLM's table of blocks of 16 tokens, before and after its new layout; that of the 70B is for four GPUs
    (https://blog.vllm.ai/2026/01/08/kv-offloading-connector.html)."""
    assert blocks.block_bytes(shard(catalog.model(model), tp), 16, layout) == size


def test_every_layout_and_way_is_measured():
    part = blocks.measure(catalog.model("qwen3-0.6b"), 1, "cpu", Budget(0), moved=1_000_000)
    assert len(part.readings) == 27
    assert all(reading.value.median > 0 for reading in part.readings)


@pytest.mark.parametrize("way", ["one_by_one", "in_one_call", "gathered"])
def test_each_way_puts_each_block_in_its_place(way: str):
    pools = blocks._Scattered("cpu", 64, 8)
    getattr(pools, way)()
    for source, target in zip(pools._from.tolist(), pools._to.tolist(), strict=True):
        assert torch.equal(pools._there[target], pools._host[source])
