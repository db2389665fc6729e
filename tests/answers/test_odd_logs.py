"""Whatever a log states, the answer is an answer or one line of refusal."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kvcalc.answers.capacity_log import compare
from kvcalc.errors import UserError
from kvcalc.observe.observation import Lookup, Observation, Pool, Traffic, Transfer
from kvcalc.profiles import places
from kvcalc.profiles.model import Model
from kvcalc.render import csv, json, markdown
from kvcalc.tables import capacity_log as tables

SIZE = st.none() | st.just(0.0) | st.floats(1, 1e13)  # bytes
COUNT = st.none() | st.integers(0, 10**9)
REQUESTS = st.none() | st.integers(0, 10**8).map(lambda hundredths: hundredths / 100)
SMALL = st.none() | st.integers(1, 64)
FORMAT = st.none() | st.sampled_from(["bf16", "fp16", "fp32", "fp8", "nvfp4", "q8_0", "int8_per_token_head", "odd"])
POOL = st.builds(Pool, st.sampled_from(["full", "window", "state", "draft"]), tokens=COUNT, slots=COUNT, bytes=SIZE)
MOVED = st.builds(Transfer, st.just("hbm"), st.just("lmcache"), bytes=SIZE, tokens=st.none() | st.integers(0, 10**6))
ASKED = st.builds(Lookup, st.just("external"), st.just("tokens"), asked=SIZE, found=SIZE)
TRAFFIC = st.none() | st.builds(Traffic, transfers=st.lists(MOVED, max_size=2).map(tuple), lookups=st.tuples(ASKED))
LOGS = st.builds(
    Observation, st.sampled_from(["vllm", "sglang", "trtllm", "lmcache", "llamacpp", "dynamo"]),
    version=st.none() | st.sampled_from(["0.6.4", "0.19.0", "0.24.0", "b5000"]),
    model=st.none() | st.sampled_from(["Qwen/Qwen3-8B", "someone/else", "", "/", "google/gemma-3-27b-it-FP8"]),
    tp=SMALL, pp=SMALL, dp=SMALL, kv_dtype=FORMAT, weight_dtype=FORMAT, max_model_len=COUNT, available_kv_bytes=SIZE,
    kv_tokens=COUNT, kv_tokens_meaning=st.none() | st.sampled_from(["blocks", "concurrency"]), blocks=COUNT,
    block_tokens=COUNT, cpu_blocks=COUNT, max_concurrency=REQUESTS, needed_bytes=SIZE,
    fitting_tokens=COUNT, k_format=FORMAT, v_format=FORMAT, pools=st.lists(POOL, max_size=3).map(tuple),
    requested_bytes=SIZE, weights_bytes=SIZE, traffic=TRAFFIC,
)  # fmt: skip


@settings(max_examples=300)
@given(LOGS, st.none() | st.sampled_from(places.names(Model)))
def test_any_observation_is_answered_or_refused(log: Observation, model: str | None):
    try:
        result: Any = compare(log, model)
    except UserError:
        return
    page = tables.page(result)
    assert all((markdown.render(page), json.render([result]), csv.render(page)))
