"""Where a message begins, and where it doesn't."""

import time

import pytest

from kvcalc.observe import logs, prefix

POOL = "INFO 09-20 10:33:02 [kv_cache_utils.py:864] GPU KV cache size: 443,344 tokens"
MEMORY = "(EngineCore_0 pid=4242) INFO 09-20 10:33:02 [gpu_worker.py:298] Available KV cache memory: 54.12 GiB"
START = (
    "INFO 09-20 10:33:00 [core.py:1] Initializing a V1 LLM engine (v0.11.0) with config: model='a/b', "
    "tensor_parallel_size=1"
)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "INFO 02-02 11:01:08 worker.py:266] ",
        "(RayWorkerWrapper pid=123, ip=10.0.0.1) INFO 09-20 10:33:02 [gpu_worker.py:298] ",
        "2026-03-11 13:53:21,123 - vllm.worker - INFO - ",
        "2026-03-11 13:53:21.123 | INFO     | vllm.worker:determine:298 - ",
        "INFO:vllm.worker:",
        "[1,0]<stdout>:[TensorRT-LLM][INFO] ",
        "[05/02/2026-12:00:00] [TRT-LLM] [I] ",
        "llama_model_loader: - kv   2:    ",
        "2026-03-11T13:53:21+00:00 gpu-host python3[28148]: ",
        "vllm  | INFO 09-20 10:33:02 [x.py:1] ",
        "Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:02<00:00,  1.5it/s]INFO 09-20 10:33:02 [x.py:1] ",
    ],
)
def test_a_message_begins_behind_what_loggers_write(before):
    assert prefix.leads(f"{before}GPU KV", len(before))


@pytest.mark.parametrize(
    "line",
    [
        "User prompt: 'GPU KV cache size: 16 tokens'",
        "INFO 09-20 10:40:00 [logger.py:40] Received request cmpl-1: prompt: 'GPU KV cache size: 16 tokens', params: x",
        "INFO prompt: GPU KV cache size: 16 tokens",
        "INFO 09-20 [x.py:1] prompt=GPU KV cache size: 16 tokens",
        "> INFO 09-20 10:33:02 [kv_cache_utils.py:864] GPU KV cache size: 16 tokens",
        "INFO 09-20 [x.py:1] my log says GPU KV cache size: 16 tokens",
        'INFO 09-20 [x.py:1] body: {"message": "GPU KV cache size: 16 tokens"}',
        "INFO 09-20 [x.py:1] `GPU KV cache size: 16 tokens` is what it says",
        "INFO request prompt: 'KV Cache is allocated. #tokens: 5, K size: 1 GB, V size: 1 GB max_total_num_tokens=5'",
        "INFO prompt: 'LMCache INFO: Stored 10 out of total 10 tokens. size: 0.0010 gb, cost 1.0000 ms'",
        "INFO prompt: '[MemUsageChange] Allocated 1.10 GiB for max tokens in paged KV cache (8224)'",
        "INFO prompt: 'llama_kv_cache: KV self size  =  400.00 MB'",
    ],
)
def test_what_a_user_wrote_is_no_figure(line):
    seen = logs.parse(f"{MEMORY}\n{POOL}\n{line}")
    assert (seen.engine, seen.kv_tokens, seen.beside) == ("vllm", 443344, ())


def test_a_start_inside_a_prompt_wipes_nothing():
    prompt = (
        "INFO [logger.py:40] Received request cmpl-1: prompt: 'Initializing a V1 LLM engine (v0.99.0) with config: '"
    )
    seen = logs.parse("\n".join((START, MEMORY, POOL, prompt)))
    assert (seen.version, seen.model, seen.kv_tokens) == ("0.11.0", "a/b", 443344)
    assert not any("several starts" in note for note in seen.notes)


def test_a_process_named_in_the_message_is_not_who_printed_it():
    (found, *_) = logs.parse(f"{POOL} (Worker_TP7 pid=1)").findings
    assert found.worker is None


def test_no_text_makes_the_search_slow():
    started = time.process_time()
    for text in ("[a]" * 200, "a.b " * 200, "::" * 300, "0% " * 200, "0%0/0 [" * 90):
        prefix.leads(text + "x", len(text))
    assert time.process_time() - started < 1
