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
from kvcalc.answers.log_setting import Setup
from kvcalc.errors import UserError
from kvcalc.observe import logs
from kvcalc.observe.observation import Observation, Pool, Traffic, Transfer
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model

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
    ({"tp": 2}, "the log says TP 1 (line 1), you gave 2"),
    ({"model": "qwen3-8b"}, "the log says model 'meta-llama/Meta-Llama-3.1-8B' (line 1), you gave 'qwen3-8b'"),
    ({"setup": Setup(max_model_len=8192)}, "the log says a longest length of 131,072 (line 1), you gave 8,192"),
])  # fmt: skip
def test_options_against_the_log_are_said(options: dict[str, Any], said: str):
    assert compare(logs.parse(vllm()), **options).contradictions == (said,)


def test_a_format_against_the_log_is_said():
    log = Observation("vllm", tp=1, kv_dtype="fp8", available_kv_bytes=10 * GIB, kv_tokens=163_840)
    assert compare(log, "llama3.1-8b", kv_dtype="bf16").contradictions == ("the log says KV format fp8, you gave bf16",)
    assert compare(log, "llama3.1-8b", kv_dtype="fp8_e4m3").contradictions == ()


def test_options_that_say_what_the_log_says_are_no_contradiction():
    assert compare(logs.parse(vllm()), "llama3.1-8b", tp=1, kv_dtype="bf16").contradictions == ()


def test_an_explanation_that_the_prediction_has_in_it_is_not_the_headline_of_a_gap():
    """Gemma 3 4B pads its layers, and the rule has that in it: 300,000 tokens instead of 468,144 are something else."""
    text = vllm(model="google/gemma-3-4b-it", version="0.19.0", gib="62.51", tokens=300_000, length=8192)
    found = compare(logs.parse(text))
    assert [each.code for each in found.reasons] == ["hybrid_padding_layers"]
    assert found.headline is not None
    assert found.headline.code == "not_known"


@pytest.fixture(scope="module")
def gpt_oss(script: Callable[[str], ModuleType]) -> Model:
    """gpt-oss-20b: 12 full and 12 windowed layers of one shape, so that nothing is padded."""
    known: dict[str, Model] = script("log_rows").models()
    return known["openai/gpt-oss-20b"]


def test_windows_in_a_merged_line_are_not_padding(gpt_oss: Model):
    """Row llmd-36: 323,972 blocks. 131,072 tokens take 8,192, their windows 520 (127 + 8,192 in flight) and 1."""
    requests = 323_972 / (8192 + 521)
    text = vllm(model="openai/gpt-oss-20b", tp=2, gib="59.32", tokens=int(requests * 131_072))
    merged = f"{text.rstrip()}, Maximum concurrency for 131,072 tokens per request: {requests:.2f}x\n"
    found = compare(logs.parse(merged), gpt_oss)
    assert [each.code for each in found.reasons] == ["print_definition_new_hybrid"]
    assert not found.differs
    assert found.gap is None


def test_tokens_that_are_no_number_of_blocks_are_not_said_to_fit_both_meanings():
    """Row talos-1995: 302,921 is no multiple of 16, so vLLM printed 2.31 x 131,072."""
    text = vllm(model="Qwen/Qwen3.5-27B", version="0.1.dev1", gib="4.99", tokens=302_921)
    seen = logs.parse(text.rstrip() + "\nMaximum concurrency for 131,072 tokens per request: 2.31x\n")
    assert seen.kv_tokens_meaning == "concurrency"
    assert seen.notes == ()


def test_a_length_that_is_not_stated_is_the_model_s_and_said_to_be():
    log = Observation("vllm", version="0.24.0", tp=1, kv_dtype="bf16", available_kv_bytes=54.12 * GIB,
                      kv_tokens=443_344, kv_tokens_meaning="concurrency")  # fmt: skip
    found = compare(log, "llama3.1-8b")
    assert any("131,072 tokens, the model's context, are supposed" in each for each in found.warnings)
    assert not found.differs
    given = compare(log, "llama3.1-8b", setup=Setup(max_model_len=131_072))
    assert not any("are supposed" in each for each in given.warnings)


def test_the_pool_is_predicted_from_what_the_log_leaves_unsaid():
    """Row llmd-17: 58.11 GiB of 79.19 at 0.95, with 14.99 GiB of weights."""
    log = Observation(
        "vllm", version="0.19.0", tp=1, kv_dtype="bf16", available_kv_bytes=58.11 * GIB, kv_tokens=476_000
    )
    unsaid = compare(log, "llama3.1-8b")
    assert any("give --hardware" in each for each in unsaid.warnings)
    setup = Setup(hardware=catalog.machine("h100-pcie5"), memory_utilization=0.95, weights_bytes=14.99 * GIB)
    found = compare(log, "llama3.1-8b", setup=setup)
    (pool,) = [each for each in found.comparisons if "KV pool" in each.figure]
    assert pool.ratio == pytest.approx(1, abs=0.02)
    assert not any("not checked" in each for each in found.warnings)


SGLANG = (
    "[2026-03-11 13:53:23 TP0] KV Cache is allocated. #tokens: {tokens}, K size: {gib:.2f} GB, V size: {gib:.2f} GB\n"
)


def sglang(*pools: tuple[int, int]) -> str:
    """Lines of pools, by their tokens and the bytes of one token."""
    return "".join(SGLANG.format(tokens=tokens, gib=tokens * token / 2 / GIB) for tokens, token in pools)


def test_each_line_of_sglang_is_a_pool_of_its_own(gpt_oss: Model):
    """12 layers x 8 heads x 64 x 2 x 2 B = 24,576 B a token in each of two pools, windows 0.8 of the tokens."""
    for lines in (((800_000, 24_576), (1_000_000, 24_576)), ((1_000_000, 24_576), (800_000, 24_576))):
        found = compare(logs.parse(sglang(*lines)), gpt_oss, tp=1, kv_dtype="bf16")
        figures = {each.figure: each.printed for each in found.comparisons}
        assert figures["tokens in the pool of full layers"] == 1_000_000
        assert figures["tokens in the pool of windowed layers"] == 800_000
        assert figures["bytes of both pools"] == pytest.approx(1_800_000 * 24_576, rel=0.001)
        assert not found.differs


def test_pools_of_layers_of_two_widths_are_told_apart_by_their_bytes():
    """Gemma 4 31B at TP 1, by its profile: the order of the lines tells nothing."""
    model = catalog.model("gemma4-31b")
    token = {group.kind: group.layers * group.kv_heads * (group.key_width + group.value_width) * 2
             for group in model.groups if group.kind in ("full", "sliding")}  # fmt: skip
    found = compare(logs.parse(sglang((80_000, token["sliding"]), (100_000, token["full"]))), model, tp=1)
    figures = {each.figure: each.printed for each in found.comparisons}
    assert figures["tokens in the pool of full layers"] == 100_000
    assert not found.differs


def test_one_line_may_be_the_pool_of_windowed_layers(answers: dict[str, LogAnswer]):
    """35 layers x 2 heads x 256 x 2 x 0.5625 B: 20,160 B; 42.8 GiB / 2,279,878 tokens are 0.02 % less."""
    (figure,) = answers["sgl-gemma4e4b-nvfp4"].comparisons
    assert figure.figure == "tokens in the pool of windowed layers"
    assert figure.ratio == pytest.approx(1, abs=0.0003)


def test_blocks_without_bytes_are_weighed_with_the_concurrency():
    """tests/data/log_lines.txt: 27,863 blocks of 16 are 13.60 requests of 32,768."""
    blocks = "INFO 03-14 09:12:41 [executor_base.py:112] # cuda blocks: {}, # CPU blocks: 2048\n"
    rest = "INFO 03-14 09:12:41 [executor_base.py:117] Maximum concurrency for 32768 tokens per request: 13.60x\n"
    (figure,) = compare(logs.parse(blocks.format(27_863) + rest)).comparisons
    assert figure.predicted == pytest.approx(13.605, abs=0.001)
    assert not figure.differs
    assert compare(logs.parse(blocks.format(20_000) + rest)).differs


def test_what_sglang_asks_of_the_host_is_set_beside_what_it_uses():
    """108 GB of 10^9 a rank are pinned as 2^37 B."""
    text = (
        "[2026-03-11 TP0] server_args=ServerArgs(model_path='x', tp_size=1, hicache_size=108)\n"
        "[2026-03-11 TP0] Allocating 108.00 GB host memory for hierarchical KV cache.\n"
    ) + sglang((442_128, 131_072))
    host = compare(logs.parse(text), "llama3.1-8b").host
    assert host is not None
    assert (host.asked_bytes, host.allocated_bytes, host.used_bytes) == (108e9, 108e9, 2**37)


def test_a_chunk_that_lmcache_does_not_state_is_whole_blocks_of_a_hybrid():
    """Qwen3.5-27B: 784 tokens, 65,536 B each and a state of 153.9 MB: not a state for each token."""
    state, tokens = 48 * (48 * 128 * 128 * 4 + 10_240 * 3 * 2), 7_840
    moved = Transfer("hbm", "lmcache", bytes=float(tokens * 65_536 + 10 * state), tokens=tokens)
    found = compare(Observation("lmcache", tp=1, kv_dtype="bf16", traffic=Traffic(transfers=(moved,))), "qwen3.5-27b")
    (figure,) = found.comparisons
    assert figure.ratio == pytest.approx(1, abs=0.001)
    assert any("784 tokens are supposed" in each.text for each in found.assumptions)


def test_transfers_of_lmcache_are_found_in_a_log_of_vllm():
    line = "[2026-05-02] LMCache INFO: Stored 10010 out of total 10010 tokens. size: 1.2219 gb, cost 3 ms\n"
    assert "stored" in [each.field for each in compare(logs.parse(vllm() + line)).findings]


@pytest.mark.parametrize(("options", "said"), [
    ({"tp": 3}, "can't be split over 3 GPUs"),
    ({"model": "no-such-model"}, "no model 'no-such-model'"),
    ({"kv_dtype": "fp7"}, "no KV format 'fp7'"),
])  # fmt: skip
def test_what_can_t_be_is_refused(options: dict[str, Any], said: str):
    with pytest.raises(UserError) as error:
        compare(logs.parse(vllm()), **options)
    assert said in str(error.value)
