"""vLLM's page plan against vLLM's own source, public logs and pull requests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvcalc.physics.engines import ideal, vllm
from kvcalc.profiles.model import Model

PLANS = yaml.safe_load((Path(__file__).parents[2] / "data" / "page_plans.yaml").read_text(encoding="utf-8"))["plans"]
ATTENTION = ("full", "sliding", "chunked", "mla", "mla_dsa")


def full(layers: int, kv_heads: int, width: int, **more: Any) -> dict[str, Any]:
    kind = more.pop("kind", "full")
    return {"kind": kind, "layers": layers, "heads": kv_heads, "kv_heads": kv_heads} | {
        "key_width": width, "value_width": width, **more,
    }  # fmt: skip


def latent(layers: int, rank: int, rope: int) -> dict[str, Any]:
    return {"kind": "latent", "layers": layers, "heads": 16, "rank": rank, "rope": rope, "nope": 1, "value_width": 1}


def state(layers: int, heads: int, key_width: int, value_width: int, channels: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": "recurrent", "rule": "gated-delta", "layers": layers, "heads": heads, "key_width": key_width,
        "value_width": value_width, "state_bytes": 4, "conv_channels": channels, "conv_kernel": 4, "conv_bytes": 2,
        "input_width": 1, **more,
    }  # fmt: skip


def group(fact: dict[str, Any]) -> dict[str, Any]:
    """A layer group as a profile lists it, from the facts."""
    if fact["kind"] in ("mla", "mla_dsa"):
        return latent(fact["layers"], 512, fact["elems_per_token_per_layer"] - 512)
    if fact["kind"] in ATTENTION:
        window = {"window": fact["window"]} if "window" in fact else {}
        return full(fact["layers"], fact["kv_heads"], fact["head_dim"], kind=fact["kind"], **window)
    conv = fact.get("conv_bytes", 0)  # three tokens of two bytes
    return state(fact["layers"], 1, 1, (fact["state_bytes_per_layer"] - conv) // 4, conv // 6)


@pytest.fixture(scope="module")
def qwen27b(model_of: Callable[..., Model]) -> Model:
    """Qwen3.5-27B: 16 layers of attention, 48 of gated delta net with FP32 states."""
    return model_of(full(16, 4, 256), state(48, 48, 128, 128, 10240))


@pytest.mark.parametrize("fact", PLANS, ids=lambda fact: fact["id"])
def test_plan_is_the_one_of_the_source(fact: dict[str, Any], model_of: Callable[..., Model]):
    plan, wanted = vllm.plan(model_of(*map(group, fact["groups"])), "bf16", 1), fact["plan"]
    blocks = {each.kind: each.block_tokens for each in plan.segments if each.block_tokens}
    block = wanted.get("attention_block_tokens", wanted.get("block_tokens"))
    assert blocks == (block if isinstance(block, dict) else dict.fromkeys(blocks, block))
    page = wanted.get("padded_page_bytes", wanted.get("page_bytes"))
    assert plan.block_bytes == page * wanted["layers_per_group"]
    assert sorted(each.tables for each in plan.segments) == sorted(wanted["groups"].values())
    assert sum(each.padding_layers for each in plan.segments) == wanted["padding_layers"]


@pytest.mark.parametrize(("tp", "kv", "block"), [
    (1, "bf16", 784),  # vLLM pull request 50507
    (1, "fp8", 1568),  # FP8 halves what a token takes, so a block holds twice as many
    (2, "fp8", 1568),  # talos issue 1995 prints it
])  # fmt: skip
def test_a_block_of_a_hybrid_grows_to_the_size_of_a_state(qwen27b: Model, tp: int, kv: str, block: int):
    assert vllm.plan(qwen27b, kv, tp).segments[0].block_tokens == block


def test_qwen_3_5_4b_has_blocks_of_528_tokens(model_of: Callable[..., Model]):
    """vLLM issue 40696. 8 attention layers of 4 heads of 256; 24 layers with 32 heads of 128 x 128 in FP32."""
    model = model_of(full(8, 4, 256), state(24, 32, 128, 128, 8192))
    assert vllm.plan(model, "bf16", 1).segments[0].block_tokens == 528


def test_glm_5_3_flash_has_blocks_of_1152_tokens_at_tp_4(model_of: Callable[..., Model]):
    """LMCache pull request 5042. The latent is whole on each rank, the state is cut in four."""
    model = model_of(latent(11, 512, 0), state(34, 64, 128, 128, 24576))
    assert vllm.plan(model, "bf16", 4).segments[0].block_tokens == 1152


def test_zamba2_pads_a_state_by_43_percent(model_of: Callable[..., Model]):
    model = model_of(full(9, 32, 160), state(54, 80, 64, 64, 5248, state_bytes=2))
    plan = vllm.plan(model, "bf16", 1)
    unpadded = 80 * 64 * 64 * 2 + 5248 * 3 * 2
    assert plan.segments[0].block_tokens == 48
    assert plan.block_bytes / 9 / unpadded == pytest.approx(1.43, abs=0.005)


# vLLM 0.33 at 20,000 tokens, TP 1, states kept twice ("align"): ideal and vLLM, in MiB.
@pytest.mark.parametrize(("name", "least", "blocks"), [
    ("qwen3-next-80b-a3b", 506, 548),
    ("qwen3.5-397b-a17b", 769, 983),
    ("nemotron3-ultra-550b-a55b", 623, 1070),
    ("kimi-k3", 956, 1519),
    ("gemma3-27b", 1979, 2050),
    ("gpt-oss-120b", 708, 708),
])  # fmt: skip
def test_bytes_of_20_000_tokens(name: str, least: int, blocks: int, model_of: Callable[..., Model]):
    (fact,) = [each for each in PLANS if each["id"] == name]
    model = model_of(*map(group, fact["groups"]))
    assert ideal.plan(model, "bf16", 1).resident(20_000) / 2**20 == pytest.approx(least, abs=0.5)
    assert vllm.plan(model, "bf16", 1).resident(20_000) / 2**20 == pytest.approx(blocks, abs=0.5)


@pytest.mark.parametrize(("counts", "size"), [([10, 52], 10), ([11, 34], 11), ([20, 29], 29), ([20, 30], 20), ([7], 7)])
def test_layers_of_a_table(counts: list[int], size: int):
    """The smallest kind's, unless the largest has fewer than 1.5 times as many layers."""
    assert vllm.group_layers(counts) == size


# Start-up lines of hybrids, vLLM 0.25: the pool, and tokens = concurrency x max_model_len, exact.
@pytest.mark.parametrize(("layers", "draft", "pool_gib", "length", "printed"), [
    (16, 0, 4.99, 131_072, 302_921),  # Qwen3.8-27B-FP8, talos issue 1995
    (17, 2, 14.68, 262_144, 841_541),  # Qwen3.6-27B with its draft layer, club-3090 BENCHMARKS.md
])  # fmt: skip
def test_tokens_of_a_hybrid_at_tp_2_with_fp8_kv(
    layers: int, draft: int, pool_gib: float, length: int, printed: int, model_of: Callable[..., Model]
):
    plan = vllm.plan(model_of(full(layers, 4, 256), state(48, 48, 128, 128, 10240)), "fp8", 2, draft=draft)
    assert int(plan.sequences(pool_gib * 2**30, length, running=True) * length) == printed


def test_tokens_of_qwen_3_6_35b_at_tp_2_with_fp8_kv(model_of: Callable[..., Model]):
    """16.58 GiB hold 3,292,687 tokens: club-3090 issue 858, vLLM 0.25.1."""
    plan = vllm.plan(model_of(full(10, 2, 256), state(30, 32, 128, 128, 8192)), "fp8", 2)
    assert int(plan.sequences(16.58 * 2**30, 262_144, running=True) * 262_144) == 3_292_687


def test_tokens_of_a_hybrid_with_scaled_int8_kv_and_four_draft_tokens(model_of: Callable[..., Model]):
    """11.10 GiB hold 605,495 tokens on each of two cards: club-3090 BENCHMARKS.md, Qwen3.6-27B, blocks of 1,584."""
    plan = vllm.plan(model_of(full(17, 4, 256), state(48, 48, 128, 128, 10240)), "int8_per_token_head", 2, draft=4)
    assert plan.segments[0].block_tokens == 1584
    assert int(plan.sequences(11.10 * 2**30, 262_144, running=True) * 262_144) == 605_495


# Maximum concurrency printed by vLLM: a window that runs keeps the tokens of a step besides its own.
@pytest.mark.parametrize(("groups", "step", "blocks", "length", "printed"), [
    ([full(5, 4, 256), full(29, 4, 256, kind="sliding", window=1024)], 8192, 204_817, 8192, 57.05),  # gemma-3-4b
    ([full(12, 8, 128), full(36, 8, 128, kind="chunked", window=8192)], 8192, 91_495, 8192, 44.68),  # Llama 4 Scout
    ([full(12, 8, 64), full(12, 8, 64, kind="sliding", window=128)], 8192, 323_972, 8192, 316.07),  # gpt-oss-20b
])  # fmt: skip
def test_printed_concurrency(
    groups: list[Any], step: int, blocks: int, length: int, printed: float, model_of: Callable[..., Model]
):
    plan = vllm.plan(model_of(*groups), "bf16", 1, in_flight=step)
    assert plan.sequences(blocks * (plan.block_bytes or 0), length, running=True) == pytest.approx(printed, abs=0.005)
