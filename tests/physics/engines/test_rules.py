"""Which engine's rule serves, and what a prefix takes by it."""

import pytest

from kvcalc.physics import formats
from kvcalc.physics.engines import lmcache, rules, sglang
from kvcalc.profiles import catalog, places
from kvcalc.profiles.model import Model


@pytest.mark.parametrize(("engine", "name", "pp", "kept"), [
    ("vllm", "deepseek-v3", 1, "once"),
    ("vllm", "deepseek-v3", 2, "per-rank"),
    ("vllm", "qwen3-235b-a22b", 1, "per-rank"),
    ("vllm", "kimi-linear-48b-a3b", 1, "per-rank"),
    ("lmcache", "deepseek-v3", 1, "once"),
    ("sglang", "deepseek-v3", 1, "per-rank"),
    ("ideal", "llama3.1-8b", 1, "once"),
])  # fmt: skip
def test_which_engines_store_a_latent_once(engine: str, name: str, pp: int, kept: str):
    assert rules.replicas(engine, catalog.model(name), pp) == kept


def test_an_account_adds_up():
    model = catalog.model("deepseek-v3")
    plan = rules.plan("vllm", model, "bf16", rules.Run(8))
    account = rules.account(plan, model, "bf16", 8, 20_000, "once")
    assert account.logical == 70_272 * 20_000
    assert account.resident_rank == 70_272 * 20_000  # 1,250 blocks of 16 tokens, on every rank
    assert account.resident_node == account.moved == 8 * account.logical
    assert account.stored == account.logical


STATE = 48 * (48 * 128 * 128 * 4 + 10_240 * 3 * 2)  # Qwen3.5-27B: 154 MB in 48 gated-delta layers
TOKEN = 16 * 4 * 512 * 2  # its 16 full layers: 65,536 B


@pytest.mark.parametrize(("engine", "chunk", "states"), [
    ("vllm", 784, 26),  # a block is as large as a state: MODELS.md, pull request 50507
    ("lmcache", 784, 26),  # 256 rounded up to a block of vLLM's
    ("sglang", 64, 1),  # HiCache's page; how often a state is kept is not known
    ("trtllm", 32, 1),
])  # fmt: skip
def test_a_hybrid_s_prefix_takes_as_many_states_as_its_engine_keeps(engine: str, chunk: int, states: int):
    model = catalog.model("qwen3.5-27b")
    plan = rules.plan(engine, model, "bf16", rules.Run())
    account = rules.account(plan, model, "bf16", 1, 20_000, "per-rank")
    whole = TOKEN * -(-20_000 // chunk) * chunk + states * STATE
    assert account.stored == (whole if states == 1 else TOKEN * 20_000 + STATE)  # 1.46 GB
    assert account.stored_whole == whole


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "lmcache"])
@pytest.mark.parametrize("name", places.names(Model))
def test_no_prefix_takes_more_than_its_tokens_and_a_state_a_block(engine: str, name: str):
    """A state for each token of 20,000 would be thousands of times the least; no shipped model comes to 20 times."""
    model = catalog.model(name)
    kv_format = formats.stored(model, "auto")
    plan = rules.plan(engine, model, kv_format, rules.Run())
    account = rules.account(plan, model, kv_format, 1, 20_000, "per-rank")
    assert account.stored <= account.stored_whole < 20 * account.stored


def test_chunks_are_those_of_the_engines_profiles():
    assert catalog.engine("sglang").page_tokens == sglang.HICACHE_PAGE
    assert catalog.engine("lmcache").page_tokens == lmcache.CHUNK
    assert [lmcache.chunk(block) for block in (16, 784, 1568)] == [256, 784, 1568]
