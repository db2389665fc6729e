"""Names of each engine's metrics, from their sources and documentation; the numbers are samples."""

import pytest

from kvcalc.observe import metrics, samples

GIB = 2**30


def traffic(text: str):
    return metrics.observe(samples.parse(text)).traffic


def test_vllm_counts_whole_prompts_by_source():
    """0.18: the look-ups count a request again each time it waits, the sources don't."""
    seen = traffic(
        "vllm:prefix_cache_queries_total 30000\nvllm:prefix_cache_hits_total 15000\nvllm:prompt_tokens_total 1000\n"
        'vllm:prompt_tokens_by_source_total{source="local_compute"} 400\n'
        'vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 500\n'
        'vllm:prompt_tokens_by_source_total{source="external_kv_transfer"} 100\n'
    )
    assert seen.hit_rate == 0.6
    assert seen.lookup("hbm").hit_rate == 0.5


def test_older_vllm_counted_blocks_as_its_help_says():
    text = (
        "# HELP vllm:gpu_prefix_cache_queries_total GPU prefix cache queries, in terms of number of queried {0}.\n"
        "# TYPE vllm:gpu_prefix_cache_queries_total counter\nvllm:gpu_prefix_cache_queries_total 100\n"
        "vllm:gpu_prefix_cache_hits_total 25\n"
    )
    for unit in ("blocks", "tokens"):
        lookup = traffic(text.format(unit)).lookup("hbm")
        assert (lookup.unit, lookup.hit_rate) == (unit, 0.25)


def test_v0_states_rates_and_minus_one_for_none():
    seen = traffic(
        "vllm:gpu_prefix_cache_hit_rate 0.4\nvllm:cpu_prefix_cache_hit_rate -1\nvllm:gpu_cache_usage_perc 0.9\n"
    )
    assert (seen.hit_rate, seen.lookup("cpu"), seen.pool_usage) == (0.4, None, 0.9)


def test_the_family_of_transfer_types_is_read_where_it_is_alone():
    seen = traffic(
        'vllm:kv_offload_total_bytes_total{transfer_type="CPU_to_GPU"} 8e9\n'
        'vllm:kv_offload_total_time_total{transfer_type="CPU_to_GPU"} 2\n'
        'vllm:kv_offload_total_bytes_total{transfer_type="GPU_to_CPU"} 3e9\n'
    )
    assert seen.transfer("dram", "hbm").bytes_per_s == 4e9
    assert seen.transfer("hbm", "dram").bytes == 3e9


def test_engines_of_one_server_add_up():
    seen = traffic(
        'vllm:prefix_cache_queries_total{engine="0"} 100\nvllm:prefix_cache_queries_total{engine="1"} 300\n'
        'vllm:prefix_cache_hits_total{engine="0"} 100\nvllm:prefix_cache_hits_total{engine="1"} 0\n'
        'vllm:kv_cache_usage_perc{engine="0"} 0.2\nvllm:kv_cache_usage_perc{engine="1"} 0.9\n'
    )
    assert (seen.hit_rate, seen.pool_usage) == (0.25, 0.9)


@pytest.mark.parametrize("prefix", ["vllm:", "vllm_", "ray_vllm:", "ray_vllm_"])
def test_names_are_known_through_other_exporters(prefix):
    assert traffic(f"{prefix}prefix_cache_queries_total 4\n{prefix}prefix_cache_hits_total 1\n").hit_rate == 0.25


def test_a_usage_above_one_is_a_percentage():
    seen = metrics.observe(samples.parse("vllm:kv_cache_usage_perc 42.0\n"))
    assert seen.traffic.pool_usage == pytest.approx(0.42)
    assert any("percentage" in note for note in seen.notes)


def test_sglang_counts_cached_tokens_by_source():
    """1,000 asked: 400 in HBM; of the other 600, 150 in DRAM and 50 in the store."""
    seen = traffic(
        'sglang:prompt_tokens_total{model_name="m"} 1000\n'
        'sglang:cached_tokens_total{cache_source="device",model_name="m"} 400\n'
        'sglang:cached_tokens_total{cache_source="host",model_name="m"} 150\n'
        'sglang:cached_tokens_total{cache_source="storage_file",model_name="m"} 50\n'
        "sglang:cache_hit_rate 0.1\n"
    )
    assert seen.hit_rate == 0.6
    assert (seen.lookup("hbm").hit_rate, seen.lookup("external").hit_rate) == (0.4, pytest.approx(1 / 3))
    assert (seen.lookup("dram").found, seen.lookup("storage_file").found) == (150, 50)


def test_sglang_of_2025_counts_cached_tokens_in_all():
    assert traffic("sglang:prompt_tokens_total 1000\nsglang:cached_tokens_total 250\n").hit_rate == 0.25


def test_a_fraction_of_newer_sglang_stays_one():
    assert traffic('sglang:cache_hit_rate{model_name="m"} 0.944\n').hit_rate == 0.944


def test_an_old_percentage_below_one_is_a_percentage():
    assert traffic('sglang:cache_hit_rate{name="m"} 0.5\n').hit_rate == pytest.approx(0.005)


def test_sglangs_ranks_repeat_their_counters():
    text = 'sglang:load_back_tokens_total{{tp_rank="{0}",dp_rank="{1}"}} 500\n'
    seen = traffic("".join(text.format(tp, dp) for tp in (0, 1, 2, 3) for dp in (0, 1)))
    assert seen.transfer("dram", "hbm").tokens == 1000


def test_sglangs_pool_is_in_gib():
    text = "sglang:kv_cache_memory_usage_gb 54.0\nsglang:max_total_num_tokens 442128\nsglang:page_size 64\n"
    seen = metrics.observe(samples.parse(text + "sglang:hicache_host_total_tokens 884256\n"))
    assert (seen.available_kv_bytes, seen.kv_tokens, seen.block_tokens) == (54 * GIB, 442128, 64)
    assert seen.host_tokens == 884224  # in whole pages of 64


def test_tensorrt_llm_counts_blocks_and_bytes():
    seen = metrics.observe(
        samples.parse(
            "trtllm_kv_cache_reused_blocks_total 30\ntrtllm_kv_cache_missed_blocks_total 70\n"
            "trtllm_kv_cache_onboard_bytes_total 5e9\ntrtllm_kv_cache_max_blocks 4060\n"
            "trtllm_kv_cache_tokens_per_block 64\n"
        )
    )
    assert (seen.traffic.hit_rate, seen.traffic.lookup("hbm").unit) == (0.3, "blocks")
    assert seen.traffic.transfer("dram", "hbm").bytes == 5e9
    assert seen.kv_tokens == 259840


def test_tritons_names_are_known():
    name = "nv_trt_llm_kv_cache_block_metrics"
    seen = metrics.observe(
        samples.parse(
            f'{name}{{kv_cache_block_type="max",model="tensorrt_llm",version="1"}} 6240\n'
            f'{name}{{kv_cache_block_type="tokens_per",model="tensorrt_llm",version="1"}} 64\n'
            f'{name}{{kv_cache_block_type="fraction",model="tensorrt_llm",version="1"}} 0.5\n'
        )
    )
    assert (seen.engine, seen.blocks, seen.kv_tokens) == ("trtllm", 6240, 399360)
    assert seen.traffic.pool_usage == 0.5


def test_lmcache_looks_up_before_it_retrieves():
    seen = traffic(
        'lmcache:num_lookup_tokens_total{worker_id="0"} 1000\nlmcache:num_lookup_hits_total{worker_id="0"} 600\n'
        'lmcache:num_requested_tokens_total{worker_id="0"} 500\nlmcache:num_hit_tokens_total{worker_id="0"} 500\n'
        'lmcache:time_to_retrieve_sum{worker_id="0"} 2.5\nlmcache:time_to_retrieve_count{worker_id="0"} 10\n'
        'lmcache:retrieve_speed_sum{worker_id="0"} 2000\nlmcache:retrieve_speed_count{worker_id="0"} 10\n'
        'lmcache:local_cpu_evict_keys_count_total{worker_id="0"} 7\n'
    )
    assert (seen.hit_rate, seen.lookup("retrieved").hit_rate) == (0.6, 1.0)
    moved = seen.transfer("lmcache", "hbm")
    assert (moved.tokens, moved.seconds, moved.tokens_per_s, moved.bytes_per_s) == (500, 2.5, 200, None)
    assert (seen.evicted, seen.evicted_unit) == (7, "chunks")


def test_dynamos_block_manager_counts_blocks():
    seen = metrics.observe(
        samples.parse(
            "kvbm_onboard_blocks_h2d 10\nkvbm_offload_blocks_d2h 40\nkvbm_host_cache_hit_rate 0.3\n"
            "kvbm_matched_tokens 160\ndynamo_frontend_model_kv_cache_block_size 16\n"
            "dynamo_component_kvstats_total_blocks 1000\n"
            'dynamo_component_kvstats_gpu_cache_usage_percent{model="m"} 97.0\n'
        )
    )
    moved = seen.traffic.transfer("dram", "hbm")
    assert (moved.blocks, moved.tokens) == (10, 160)
    assert seen.traffic.lookup("dram").hit_rate == 0.3
    assert (seen.kv_tokens, seen.model) == (16000, "m")
    assert seen.traffic.pool_usage == pytest.approx(0.97)


def test_llama_cpp_states_its_usage():
    seen = traffic("llamacpp:kv_cache_usage_ratio 0.25\nllamacpp:prompt_tokens_total 12\n")
    assert (seen.pool_usage, seen.prompt_tokens) == (0.25, 12)
