"""The 92 public start-up figures, written as the lines that engines print, read back, compared and explained."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from kvcalc.answers.capacity_log import compare
from kvcalc.answers.log_result import LogAnswer
from kvcalc.errors import UserError
from kvcalc.observe import logs
from kvcalc.observe.observation import Observation, Pool

ROWS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "data" / "engine_logs.yaml").read_text(encoding="utf-8")
)["entries"]
GIB = 2**30


@pytest.fixture(scope="module")
def answers(script: Callable[[str], ModuleType]) -> dict[str, LogAnswer]:
    """The answer to each row, by its id."""
    script("log_rows")
    report = script("log_report")
    known = report.models()
    return {row.id: report.answered(row, known) for row in report.rows()}


def of(**facts: Any) -> Any:
    chosen = [row for row in ROWS if all(row.get(key) == value for key, value in facts.items())]
    return pytest.mark.parametrize("row", chosen, ids=[row["id"] for row in chosen])


@of(plain_match=True)
def test_a_matching_row_is_met_within_0_3_percent(row: dict[str, Any], answers: dict[str, LogAnswer]):
    found = answers[row["id"]]
    figures = [each for each in found.comparisons if each.unit != "requests" and "KV pool" not in each.figure]
    assert figures
    for each in figures:
        assert each.ratio == pytest.approx(1, abs=0.003), each.figure
    assert found.reasons == ()


def test_there_are_as_many_rows_as_there_should_be():
    assert len(ROWS) == 92
    assert len([row for row in ROWS if row.get("plain_match")]) == 49


@pytest.mark.parametrize("row", [row for row in ROWS if row.get("mismatch_reason")], ids=lambda row: row["id"])
def test_the_reason_of_a_row_is_named(row: dict[str, Any], answers: dict[str, LogAnswer]):
    assert "+".join(each.code for each in answers[row["id"]].reasons) == row["mismatch_reason"]


@pytest.mark.parametrize("row", [row for row in ROWS if "mismatch_reason" not in row], ids=lambda row: row["id"])
def test_no_reason_is_named_where_there_is_none(row: dict[str, Any], answers: dict[str, LogAnswer]):
    assert answers[row["id"]].reasons == ()


# Latent caches, padding layers, SGLang's pools, scaled formats and vLLM's hybrids are met by the engine's rule.
@pytest.mark.parametrize(("row", "bound"), [
    ("kaito-2132", 0.003), ("llmd-35", 0.003), ("ik-259", 0.003),
    ("llmd-11", 0.003), ("thor-gemma4-26b", 0.003),
    ("sgl-qwen38-27b-5090", 0.003), ("sgl-qwen38-27b-h100", 0.003),
    ("sgl-flashnext-a", 0.003), ("sgl-flashnext-b", 0.003),
    ("club-27b-5090x2", 0.003), ("club-27b-dual", 0.003), ("club-35b-nvfp4", 0.003), ("talos-1995", 0.003),
    ("thor-122b", 0.003),
    ("thor-122b-mtp", 0.003),
    ("lmc-422", 0.03),
])  # fmt: skip
def test_a_rule_meets_the_row(row: str, bound: float, answers: dict[str, LogAnswer]):
    figures = [each for each in answers[row].comparisons if each.unit != "requests"]
    assert figures
    for each in figures:
        assert each.ratio == pytest.approx(1, abs=bound), each.figure


def test_pools_of_vllm_0_19_are_within_3_percent_of_the_budget(answers: dict[str, LogAnswer]):
    """Weights as printed; pipelines print one stage's pool."""
    pools = [
        each.ratio
        for name, found in answers.items()
        if name.startswith("llmd") and found.pp == 1
        for each in found.comparisons
        if "KV pool" in each.figure
    ]
    assert len(pools) == 28
    assert all(ratio == pytest.approx(1, abs=0.02) for ratio in pools)


VLLM = (
    "INFO 08-11 07:45:00 [core.py:77] Initializing a V1 LLM engine (v{version}) with config: model='{model}', "
    "tensor_parallel_size={tp}, max_seq_len={length}, kv_cache_dtype=auto\n"
    "INFO 08-11 07:45:03 [gpu_worker.py:298] Available KV cache memory: {gib} GiB\n"
    "INFO 08-11 07:45:04 [kv_cache_utils.py:864] GPU KV cache size: {tokens:,} tokens\n"
)


def vllm(**figures: Any) -> str:
    known = {"version": "0.24.0", "model": "meta-llama/Meta-Llama-3.1-8B", "tp": 1, "length": 131072, "gib": "54.12"}
    return VLLM.format(**(known | {"tokens": 443_344} | figures))


def test_the_model_is_found_by_the_name_in_the_log():
    found = compare(logs.parse(vllm(model="RedHatAI/Llama-3.1-8B-FP8")))
    assert (found.model, found.model_named_by) == ("llama3.1-8b", "likeness")
    assert not found.differs
    assert any("is taken for 'llama3.1-8b'" in warning for warning in found.warnings)


@pytest.mark.parametrize(("name", "model"), [
    ("Qwen/Qwen3-8B", "qwen3-8b"),
    ("Qwen/Qwen3-8B-FP8", "qwen3-8b"),
    ("/models/Qwen3-8B/", "qwen3-8b"),
    ("meta-llama/Llama-3.1-70B-Instruct", "llama3.1-70b"),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "llama3.1-8b"),
    ("google/gemma-3-27b-it", "gemma3-27b"),
    ("CohereForAI/c4ai-command-r-v01", "command-r-v01"),
    ("CohereForAI/c4ai-command-r-08-2024", "command-r-08-2024"),
    ("Qwen/Qwen3-9B", "Qwen/Qwen3-9B"),  # there is none
])  # fmt: skip
def test_names_are_matched_by_what_tells_of_the_layers(name: str, model: str):
    assert compare(logs.parse(vllm(model=name))).model == model


def test_an_unknown_model_is_explained_by_itself():
    found = compare(logs.parse(vllm(model="someone/their-own-8b")))
    assert found.model_named_by is None
    assert found.bytes_per_token == pytest.approx(131_072, rel=0.001)
    assert found.comparisons[0].predicted is None
    assert any("--model" in warning for warning in found.warnings)


def test_an_option_wins_over_the_log():
    found = compare(logs.parse(vllm()), tp=2)
    assert found.tp == 2
    assert found.comparisons[0].ratio == pytest.approx(0.5, rel=0.001)


def test_a_pool_far_below_the_prediction_is_said():
    """A loader's leak left 1,741 tokens where 349,377 fitted, without an error (SGLang issue 36583)."""
    line = "Free memory on device (78.66/79.19 GiB) on startup. Desired GPU memory utilization is (0.9, 71.27 GiB). "
    line += "Actual usage is 14.99 GiB for weight, 1.9 GiB for peak activation, 0.25 GiB for non-torch memory, and "
    text = f"INFO 08-11 07:45:03 [gpu_worker.py:391] {line}0.9 GiB for CUDAGraph memory.\n"
    found = compare(logs.parse(vllm(version="0.19.0", gib="0.27", tokens=2_208) + text))
    assert [each.code for each in found.reasons] == ["pool_far_below"]


def test_tokens_that_no_rule_explains_are_said_to_be_unexplained():
    found = compare(logs.parse(vllm(tokens=300_000)))
    assert [each.code for each in found.reasons] == ["not_known"]


def test_rounding_in_print_is_no_difference():
    """A pool of 0.06 GiB may be anything from 0.055 to 0.065."""
    assert not compare(logs.parse(vllm(gib="0.06", tokens=512))).differs


def test_a_draft_s_pool_is_named_beside_the_states():
    pools = (Pool("full", tokens=330_323, bytes=20.16 * GIB), Pool("state", slots=124), Pool("draft", tokens=330_323))
    log = Observation("sglang", tp=1, kv_dtype="bf16", available_kv_bytes=20.16 * GIB, kv_tokens=330_323, pools=pools)
    found = compare(log, "qwen3.5-27b")
    assert [each.code for each in found.reasons] == ["hybrid_state_separate_pool", "mtp"]
    assert not found.differs


def test_the_same_log_is_explained_alike_whatever_came_with_it():
    plain = compare(logs.parse(vllm()))
    coloured = compare(logs.parse("\x1b[32m" + vllm().replace("\n", "\x1b[0m\r\n")))
    assert replace(coloured, findings=()) == replace(plain, findings=())


@pytest.mark.parametrize(("options", "said"), [
    ({"tp": 3}, "can't be split over 3 GPUs"),
    ({"model": "no-such-model"}, "no model 'no-such-model'"),
    ({"kv_dtype": "fp7"}, "no KV format 'fp7'"),
])  # fmt: skip
def test_what_can_t_be_is_refused(options: dict[str, Any], said: str):
    with pytest.raises(UserError) as error:
        compare(logs.parse(vllm()), **options)
    assert said in str(error.value)
