"""Which engine's rule serves, and what a prefix takes by it."""

import pytest

from kvcalc.physics.engines import rules
from kvcalc.profiles import catalog


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
