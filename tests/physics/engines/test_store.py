"""What a prefix takes below HBM."""

from collections.abc import Callable
from typing import Any

import pytest

from kvcalc.physics import kv
from kvcalc.physics.engines import store
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model

FULL: dict[str, Any] = {
    "kind": "full", "layers": 16, "heads": 24, "kv_heads": 4, "key_width": 256, "value_width": 256,
}  # fmt: skip
WINDOW = FULL | {"kind": "sliding", "layers": 48, "window": 1024}
STATE: dict[str, Any] = {
    "kind": "recurrent", "rule": "gated-delta", "layers": 48, "heads": 48, "key_width": 128, "value_width": 128,
    "state_bytes": 4, "conv_channels": 10240, "conv_kernel": 4, "conv_bytes": 2, "input_width": 16480,
}  # fmt: skip


def test_a_hybrid_s_chunk_carries_a_state(model_of: Callable[..., Model]):
    """Qwen3.6-27B, int8 KV with scales, chunks of 1,584 tokens: 33,280 B and 151 MB / 1,584 = 130,436 B a token."""
    model = model_of(FULL, STATE)
    size = store.whole(model, 1584, "int8_per_token_head", 1, "once", store.Chunks(1584, states=True))
    assert size / 1584 == pytest.approx(130_436, rel=0.001)


def test_the_least_that_resumes_a_prefix_is_the_last_window(model_of: Callable[..., Model]):
    model = model_of(FULL, WINDOW)
    per_layer = 4 * 512 * 2
    assert store.least(model, 20_000, "bf16", 1, "once") == per_layer * (16 * 20_000 + 48 * 1024)
    assert store.whole(model, 20_000, "bf16", 1, "once", store.Chunks(16, states=False)) == per_layer * 64 * 20_000


@pytest.mark.parametrize(("name", "tp", "copies"), [
    ("deepseek-v3", 8, 8),  # a latent is whole on every rank
    ("llama3.1-70b", 8, 1),
    ("qwen3-235b-a22b", 8, 2),  # 4 KV heads: 12.62 GB moved for 6.31 GB: Mooncake, Qwen3-235B at TP 8
])  # fmt: skip
def test_a_store_keeps_what_ranks_share_once_or_for_each(name: str, tp: int, copies: int):
    model = catalog.model(name)
    once, each = (store.least(model, 20_000, "bf16", tp, kept) for kept in ("once", "per-rank"))
    assert once == kv.logical(model, 20_000, "bf16")
    assert each == copies * once
