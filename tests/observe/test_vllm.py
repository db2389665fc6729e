"""vLLM's start-up log. Lines as its sources print them; the numbers are samples unless a test names their source."""

import pytest

from kvcalc.observe import logs

GIB = 2**30
CONFIG = (
    "(EngineCore_DP0 pid=809) INFO 11-14 21:01:43 [core.py:93] Initializing a V1 LLM engine (v0.11.1) with config: "
    "model='Qwen/Qwen3-8B', speculative_config=None, tokenizer='Qwen/Qwen3-8B', dtype=torch.bfloat16, max_seq_len=40960, "
    "download_dir=None, load_format=auto, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, "
    "quantization=fp8, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda, served_model_name=other"
)
POOL = "(EngineCore_DP0 pid=809) INFO 11-14 21:02:43 [kv_cache_utils.py:864] GPU KV cache size: 443,344 tokens"
RUNS = (
    "(EngineCore_DP0 pid=809) INFO 11-14 21:02:43 [kv_cache_utils.py:868] Maximum concurrency for 131,072 tokens per "
    "request: 3.38x"
)


def memory(rank: int, gib: float) -> str:
    return f"(Worker_TP{rank} pid={900 + rank}) INFO 11-14 21:02:42 [gpu_worker.py:298] Available KV cache memory: {gib} GiB"


def parse(*lines: str):
    return logs.parse("\n".join(lines))


def test_the_configuration_is_read():
    seen = parse(CONFIG, memory(0, 54.12), POOL, RUNS)
    assert (seen.engine, seen.version, seen.model) == ("vllm", "0.11.1", "Qwen/Qwen3-8B")
    assert (seen.tp, seen.pp, seen.dp) == (2, 1, 1)
    assert (seen.weight_dtype, seen.kv_dtype) == ("fp8", "bf16")  # "auto" is the model's
    assert seen.max_model_len == 131072  # what the pool's own line says


def test_a_gib_is_two_to_the_thirtieth():
    assert parse(memory(0, 54.12), POOL).available_kv_bytes == pytest.approx(54.12 * GIB)


def test_workers_that_disagree_give_their_least_and_a_note():
    seen = parse(memory(0, 54.12), memory(1, 53.9), POOL)
    assert seen.available_kv_bytes == pytest.approx(53.9 * GIB)
    assert any("available_kv_bytes" in note and "the least" in note for note in seen.notes)


def test_one_rank_of_several_is_noted():
    """Trap 6 of the field: the printed GiB are one worker's, the tokens the least of all."""
    assert any("one of 2 ranks" in note for note in parse(CONFIG, memory(0, 54.12), POOL).notes)


def test_every_finding_names_its_line():
    seen = parse("noise", POOL)
    (found,) = [finding for finding in seen.findings if finding.field == "kv_tokens"]
    assert (found.value, found.line, found.worker) == (443344, 2, "EngineCore_DP0 pid=809")
    assert "GPU KV cache size: 443,344 tokens" in found.text


def test_the_merged_line_counts_concurrency_times_length():
    """vLLM 0.24 prints both on one line."""
    seen = parse(
        "INFO 08-11 07:45:10 [kv_cache_utils.py:1911] GPU KV cache size: 1,077,542 tokens, Maximum concurrency for "
        "262,144 tokens per request: 4.11x"
    )
    assert (seen.kv_tokens, seen.max_concurrency, seen.max_model_len) == (1077542, 4.11, 262144)
    assert seen.kv_tokens_meaning == "concurrency"


@pytest.mark.parametrize(
    ("tokens", "concurrency", "version", "meaning"),
    [
        (467_712, 11.79, "0.21.0", "blocks"),  # 11.79 x 131,072 = 1,545,339: a hybrid, counted in blocks
        (443_344, 3.38, "0.24.0", "concurrency"),  # 3.38 x 131,072 = 443,023, within its two decimals
        (443_344, 3.38, "0.11.1", "blocks"),
        (443_344, 3.38, "0.21.0", None),  # neither the figures nor the version tell
        (443_344, 3.38, "0.1.dev20073", None),
    ],
)
def test_what_the_cache_size_counts(tokens, concurrency, version, meaning):
    seen = parse(
        CONFIG.replace("0.11.1", version),
        POOL.replace("443,344", f"{tokens:,}"),
        RUNS.replace("3.38", str(concurrency)),
    )
    assert seen.kv_tokens_meaning == meaning


def test_v0_states_blocks_and_a_budget():
    seen = parse(
        "INFO 03-01 10:30:57 worker.py:267] the current vLLM instance can use total_gpu_memory (22.06GiB) x "
        "gpu_memory_utilization (0.90) = 19.85GiB",
        "INFO 03-01 10:30:57 worker.py:267] model weights take 2.88GiB; non_torch_memory takes 0.05GiB; PyTorch activation "
        "peak memory takes 1.40GiB; the rest of the memory reserved for KV Cache is 15.52GiB.",
        "INFO 03-01 10:30:57 executor_base.py:110] # CUDA blocks: 36332, # CPU blocks: 9362",
        "INFO 03-01 10:30:57 executor_base.py:115] Maximum concurrency for 4096 tokens per request: 141.92x",
    )
    assert (seen.blocks, seen.cpu_blocks, seen.max_concurrency) == (36332, 9362, 141.92)
    assert seen.memory_utilization == 0.9
    sizes = (seen.device_bytes, seen.requested_bytes, seen.weights_bytes, seen.non_torch_bytes, seen.activation_bytes)
    assert [size / GIB for size in sizes] == pytest.approx([22.06, 19.85, 2.88, 0.05, 1.40])
    assert seen.available_kv_bytes == pytest.approx(15.52 * GIB)


def test_a_pool_below_zero_is_no_pool():
    seen = parse(
        "model weights take 5.43GiB; non_torch_memory takes -0.51GiB; PyTorch activation peak memory takes 1.42GiB; the "
        "rest of the memory reserved for KV Cache is -0.94GiB."
    )
    assert (seen.available_kv_bytes, seen.no_kv_memory) == (None, True)
    assert any(note == "no memory is left for KV: line 1 states -0.94 GiB of it" for note in seen.notes)
    assert seen.non_torch_bytes == pytest.approx(-0.51 * GIB)  # a difference of two measurements
    (found,) = [finding for finding in seen.findings if finding.field == "available_kv_bytes"]
    assert found.value == pytest.approx(-0.94 * GIB)


def test_the_line_that_is_named_is_the_pools():
    graphs = "INFO [gpu_model_runner.py:3118] Graph capturing finished in 5 secs, took 0.00 GiB"
    assert any("line 2 states -1.25 GiB" in note for note in parse(graphs, memory(0, -1.25)).notes)


def test_a_refusal_for_want_of_any_memory_is_read():
    seen = parse(
        "(EngineCore_DP0 pid=9) ERROR 10-08 20:33:48 [core.py:708] ValueError: No available memory for the cache blocks. "
        "Try increasing `gpu_memory_utilization` when initializing the engine."
    )
    assert (seen.no_kv_memory, seen.available_kv_bytes) == (True, None)
    assert any("no memory is left for KV: line 1" in note for note in seen.notes)


def test_a_format_whose_bytes_are_not_known_is_kept_as_stated():
    seen = parse(CONFIG.replace("kv_cache_dtype=auto", "kv_cache_dtype=turboquant"), POOL)
    assert (seen.kv_dtype, seen.kv_format_known) == ("turboquant", False)
    assert any("turboquant" in note for note in seen.notes)
    assert parse(CONFIG, POOL).kv_format_known


def test_a_process_that_contradicts_itself_is_noted_and_its_first_figures_go_together():
    alone = CONFIG.replace("tensor_parallel_size=2", "tensor_parallel_size=1")
    first = memory(0, 54.12).replace("Worker_TP0 pid=900", "EngineCore_DP0 pid=809")
    seen = parse(alone, first, POOL, POOL.replace("443,344", "999,999"), first.replace("54.12", "10.0"))
    assert (seen.kv_tokens, seen.available_kv_bytes) == (443344, pytest.approx(54.12 * GIB))
    said = [note for note in seen.notes if "contradict" in note]
    assert len(said) == 2
    assert all("one process (EngineCore_DP0 pid=809)" in note and "workers" not in note for note in said)


def test_one_process_may_speak_for_ranks_that_differ_a_little():
    """vLLM 0.8 to 0.10 print the cache size of every rank from one process."""
    seen = parse(CONFIG, POOL, POOL.replace("443,344", "440,000"))
    assert seen.kv_tokens == 440000
    assert not any("contradict" in note for note in seen.notes)


def test_the_profile_results_of_0_6_4_are_read():
    seen = parse(
        "INFO 12-03 10:00:00 worker.py:232] Memory profiling results: total_gpu_memory=39.39GiB "
        "initial_memory_usage=14.36GiB peak_torch_memory=14.38GiB memory_usage_post_profile=14.42GiB "
        "non_torch_memory=0.18GiB kv_cache_size=3.81GiB gpu_memory_utilization=0.90"
    )
    assert seen.available_kv_bytes == pytest.approx(3.81 * GIB)
    assert seen.device_bytes == pytest.approx(39.39 * GIB)


def test_the_debug_profile_of_0_19_is_read():
    seen = parse(
        "DEBUG [gpu_worker.py:400] Memory profiling takes 5.30 seconds. Total non KV cache memory: 17.12GiB; torch peak "
        "memory increase: 1.89GiB; non-torch forward increase memory: 0.25GiB; weights memory: 14.99GiB.",
        "DEBUG [gpu_worker.py:396] Initial free memory: 78.7 GiB; Requested memory: 0.950000 (util), 75.23 GiB",
    )
    sizes = (seen.activation_bytes, seen.non_torch_bytes, seen.weights_bytes, seen.requested_bytes)
    assert [size / GIB for size in sizes] == pytest.approx([1.89, 0.25, 14.99, 75.23])
    assert seen.memory_utilization == 0.95


def test_costs_are_the_most_of_the_workers():
    line = "(Worker_TP{0} pid={0}) INFO [gpu_model_runner.py:2602] Model loading took {1} GiB and 23.1 seconds"
    seen = parse(line.format(0, 15.5), line.format(1, 16.0), POOL)
    assert seen.weights_bytes == pytest.approx(16.0 * GIB)


def test_graphs_are_read_from_either_line():
    for line in (
        "INFO [gpu_model_runner.py:3118] Graph capturing finished in 5 secs, took 0.67 GiB",
        "INFO [gpu_worker.py:793] CUDA graph pool memory: 0.67 GiB (actual), 0.91 GiB (estimated), difference: 0.24 GiB",
    ):
        assert parse(line, POOL).graphs_bytes == pytest.approx(0.67 * GIB)


def test_a_pool_that_was_given_is_read():
    seen = parse(
        "INFO [gpu_worker.py:230] Initial free memory 78.58 GiB, reserved 20.00 GiB memory for KV Cache as specified by "
        "kv_cache_memory_bytes config and skipped memory profiling."
    )
    assert seen.available_kv_bytes == pytest.approx(20 * GIB)


def test_a_refusal_to_start_is_read():
    """vLLM with 40,960 tokens on a card that holds 4.50 GiB of KV."""
    seen = parse(
        "(EngineCore_DP0 pid=18799) ERROR 10-08 20:33:48 [core.py:708] ValueError: To serve at least one request with the "
        "models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger than the available KV cache memory "
        "(4.50 GiB). Based on the available memory, the estimated maximum model length is 32768. Try increasing"
    )
    assert (seen.max_model_len, seen.fitting_tokens) == (40960, 32768)
    assert seen.needed_bytes == pytest.approx(5.62 * GIB)
    assert seen.available_kv_bytes == pytest.approx(4.5 * GIB)


def test_the_last_of_several_starts_is_read():
    seen = parse(CONFIG, memory(0, 40.0), POOL, CONFIG.replace("809", "810"), memory(0, 54.12))
    assert seen.available_kv_bytes == pytest.approx(54.12 * GIB)
    assert seen.kv_tokens is None
    assert any("several starts" in note for note in seen.notes)


def test_engines_of_one_data_parallel_group_are_one_start():
    other = POOL.replace("DP0 pid=809", "DP1 pid=810").replace("443,344", "440,000")
    seen = parse(POOL, CONFIG.replace("DP0", "DP1"), other)
    assert seen.kv_tokens == 440_000


def test_offloading_is_a_sum_over_ranks():
    seen = parse(CONFIG, "non-default args: {'kv_offloading_size': 120.0, 'block_size': 32}", POOL)
    assert seen.host_pool_bytes == pytest.approx(60 * GIB)
    assert seen.block_tokens == 32


def test_an_override_is_what_counts():
    line = "WARNING [kv_cache_utils.py:500] Overriding num_gpu_blocks=36332 with num_gpu_blocks_override=512"
    assert parse(line, POOL).blocks == 512


def test_hybrids_set_their_block_size():
    line = (
        "INFO [config.py:422] Setting attention block size to 528 tokens to ensure that attention page size is >= mamba"
    )
    assert parse(line, POOL).block_tokens == 528


def test_the_latest_rates_of_a_serving_engine_are_read():
    line = (
        "INFO 11-14 21:10:00 [loggers.py:127] Engine 000: Avg prompt throughput: 10.0 tokens/s, Running: 1 reqs, GPU KV "
        "cache usage: {0}%, Prefix cache hit rate: {1}%, External prefix cache hit rate: {2}%"
    )
    traffic = parse(POOL, line.format(3.2, 10.0, 0.0), line.format(97.5, 45.6, 12.5)).traffic
    assert traffic.pool_usage == pytest.approx(0.975)
    assert traffic.lookup("hbm").hit_rate == pytest.approx(0.456)
    assert traffic.lookup("external").hit_rate == pytest.approx(0.125)


def test_weights_and_non_torch_memory_stated_together_are_told_apart():
    """0.24 and later; 15.26 GiB together, 14.99 of them weights."""
    seen = parse(
        "(EngineCore pid=326) INFO [model_runner.py:791] Model loading took 14.99 GiB memory and 5.42 seconds",
        "(EngineCore pid=326) INFO [gpu_worker.py:955] Free memory on device (78.84/79.25 GiB) on startup. Desired GPU memory utilization is (0.92, 72.91 GiB). Actual usage is 15.26 GiB for consumed memory (weights + non-torch), 1.44 GiB for peak activation, and 0.23 GiB for CUDAGraph memory. Current kv cache memory in use is 56.21 GiB.",
    )
    assert seen.non_torch_bytes == pytest.approx(0.27 * GIB)
    assert seen.available_kv_bytes == pytest.approx(56.21 * GIB)


def test_the_memory_in_use_is_bytes_in_0_11():
    line = "INFO [gpu_worker.py:391] Current kv cache memory in use is 59212694937 bytes."
    assert parse(line).available_kv_bytes == 59212694937
