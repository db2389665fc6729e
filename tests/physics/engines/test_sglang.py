"""SGLang's separate pools."""

from collections.abc import Callable
from typing import Any

import pytest

from kvcalc.physics.engines import sglang
from kvcalc.profiles.model import Model

FULL: dict[str, Any] = {
    "kind": "full", "layers": 16, "heads": 24, "kv_heads": 4, "key_width": 256, "value_width": 256,
}  # fmt: skip
WINDOW = FULL | {"kind": "sliding", "layers": 48, "window": 1024}
STATE: dict[str, Any] = {
    "kind": "recurrent", "rule": "gated-delta", "layers": 48, "heads": 48, "key_width": 128, "value_width": 128,
    "state_bytes": 4, "conv_channels": 10240, "conv_kernel": 4, "conv_bytes": 2, "input_width": 16480,
}  # fmt: skip


def test_sglang_keeps_0_8_windowed_tokens_for_one_full_token(model_of: Callable[..., Model]):
    """Equal layers, three windowed to one full: of a byte, 1 / (1 + 0.8 x 3) is full and the rest windowed."""
    full, window = sglang.plan(model_of(FULL, WINDOW), "bf16", 1).segments
    assert full.share == pytest.approx(1 / 3.4)
    assert window.share == pytest.approx(2.4 / 3.4)
    assert window.share / window.block_bytes == pytest.approx(0.8 * full.share / full.block_bytes)


def test_sglang_gives_states_nine_tenths_of_what_tokens_get(model_of: Callable[..., Model]):
    """Qwen3.8-27B on one H100: 17.92 GiB of states beside 20.16 GiB of KV; one state is 151.0 MB."""
    full, state = sglang.plan(model_of(FULL, STATE), "bf16", 1).segments
    assert state.share / full.share == pytest.approx(0.9)
    assert state.share / full.share == pytest.approx(17.92 / 20.16, rel=0.02)
    assert full.block_bytes == 65_536  # 330,323 tokens in 20.16 GiB
    assert state.block_bytes == 48 * (48 * 128 * 128 * 4 + 10240 * 3 * 2)
