"""What a terminal would obey is shown instead."""

from kvcalc.errors import printable
from kvcalc.observe import logs, metrics, samples

POOL = "INFO 09-20 10:33:02 [kv_cache_utils.py:864] GPU KV cache size: 443,344 tokens"


def test_control_characters_and_marks_of_direction_are_escaped():
    assert printable("a\x07b\u202ec\x9b31m") == r"a\x07b\u202ec\x9b31m"
    assert printable("caf\u00e9 \u4e2d") == "caf\u00e9 \u4e2d"


def test_models_and_quoted_lines_of_a_log_are_printable():
    start = (
        "INFO [core.py:1] Initializing a V1 LLM engine (v0.11.0) with config: model='a\x07\u202eb', dtype=torch.float16"
    )
    seen = logs.parse(f"{start}\n{POOL}\u2066 \x08")
    assert seen.model == r"a\x07\u202eb"
    assert all(finding.text.isprintable() for finding in seen.findings)


def test_labels_of_metrics_are_printable():
    seen = metrics.observe(samples.parse('vllm:kv_cache_usage_perc{model_name="a\u202eb"} 0.5\n'))
    assert seen.model == r"a\u202eb"
