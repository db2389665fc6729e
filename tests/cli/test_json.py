"""`--format json`: strict, with every key that is promised, in SI numbers."""

import json

import pytest

KEYS = {
    "schema_version", "model", "hardware", "tp", "tokens", "engine", "kv_dtype", "kv_bytes", "kv_bytes_per_token",
    "recompute", "break_even_bytes_per_s", "paths", "warnings", "assumptions",
}  # fmt: skip
RECOMPUTE = {"seconds", "tokens_per_s", "basis", "alternatives"}
PATH = {
    "tier", "path", "links", "bandwidth_bytes_per_s", "fetch_s", "fetch_low_s", "fetch_high_s", "margin", "verdict",
    "sure", "moved_bytes", "crossovers", "split_s", "flips",
}  # fmt: skip
EVERY_KIND = [
    "llama3-70b", "gpt-oss-120b", "llama4-scout", "deepseek-v3", "deepseek-v3.2", "deepseek-v4-pro",
    "qwen3-next-80b-a3b", "nemotron-super-49b", "gemma3n-e4b", "whisper-large-v3",
]  # fmt: skip


def test_every_promised_key_is_there(margin):
    answer = margin()
    assert answer.keys() >= KEYS
    assert answer["recompute"].keys() >= RECOMPUTE
    assert answer["paths"]
    for path in answer["paths"]:
        assert path.keys() >= PATH


def test_values_have_the_promised_types(margin):
    answer = margin()
    assert answer["schema_version"] == 1
    assert (answer["model"], answer["hardware"], answer["engine"], answer["kv_dtype"]) == (
        "llama3-70b", "h100-pcie5", "ideal", "fp8",
    )  # fmt: skip
    assert (answer["tp"], answer["tokens"], answer["kv_bytes"]) == (8, 20_000, 3_276_800_000)
    for path in answer["paths"]:
        assert path["verdict"] in ("restore", "marginal", "recompute")
        assert isinstance(path["sure"], bool)
        assert isinstance(path["moved_bytes"], int)
        assert all(isinstance(tokens, int) for tokens in path["crossovers"])
        assert all(flip.keys() >= {"knob", "now", "value", "verdict"} for flip in path["flips"])
    assert all(isinstance(warning, str) for warning in answer["warnings"])
    for assumption in answer["assumptions"]:
        assert assumption["text"]
        assert all(source["title"] and source["address"] and source["basis"] for source in assumption["sources"])


def test_numbers_agree_with_one_another(margin):
    answer = margin("--seq", "7k", "--min-margin", "2")
    seconds = answer["recompute"]["seconds"]
    assert answer["recompute"]["tokens_per_s"] == pytest.approx(7_000 / seconds)
    assert answer["kv_bytes"] == 7_000 * answer["kv_bytes_per_token"]
    assert answer["break_even_bytes_per_s"] == pytest.approx(answer["kv_bytes"] / seconds)
    for path in answer["paths"]:
        assert path["margin"] == pytest.approx(seconds / path["fetch_s"])
        verdict = "recompute" if path["margin"] < 1 else "marginal" if path["margin"] < 2 else "restore"
        assert path["verdict"] == verdict
        assert path["fetch_low_s"] <= path["fetch_s"] <= path["fetch_high_s"]


def test_break_even_given_as_the_bandwidth_makes_the_margin_one(margin):
    rate = margin()["break_even_bytes_per_s"]
    again = margin("--bandwidth", f"dram={rate!r} B/s", "--latency", "all=0", "--links", "1", "--tier", "dram")
    (path,) = again["paths"]
    assert path["margin"] == pytest.approx(1, rel=1e-4)  # one copy still costs 3.5 us


@pytest.mark.parametrize("model", EVERY_KIND)
def test_no_answer_holds_a_number_that_json_does_not_know(margin, model):
    answer = margin("--tp", "1", "--prefill", "10000", "--seq", "1", model=model)
    assert answer["model"] == model


def test_several_nodes_are_an_array_and_one_is_an_object(margin):
    both = margin("--hardware", "h100-pcie5", "--hardware", "gh200-nvlink-c2c", "--tp", "1", "--prefill", "50000")
    assert [answer["hardware"] for answer in both] == ["h100-pcie5", "gh200-nvlink-c2c"]
    assert isinstance(margin("--hardware", "h100-pcie5"), dict)


def test_profiles_are_printed_as_json_too(run):
    shown = run("models", "show", "llama3-70b", "--format", "json").json
    assert shown["groups"][0]["kv_heads"] == 8
    tier = run("hardware", "show", "dram-pcie5", "--format", "json").json
    assert tier["read"]["latency"]["typical"]["value"] == pytest.approx(10e-6)
    assert len(run("models", "list", "--format", "json").json) > 20


def test_json_is_indented_and_ends_with_a_line_end(run):
    out = run("margin", "--model", "llama3-70b", "--format", "json").out
    assert out.startswith('{\n  "schema_version": 1,\n')
    assert out.endswith("}\n")
    assert list(json.loads(out))[:4] == ["schema_version", "model", "model_title", "hardware"]
