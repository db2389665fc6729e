"""Every public dump gives what tests/data/metrics/EXPECTED.yaml says of it, and its trap is avoided."""

import math
from pathlib import Path

import pytest
import yaml

from kvcalc.errors import UserError
from kvcalc.observe import metrics, samples, scrape

DATA = Path(__file__).parents[1] / "data" / "metrics"
EXPECTED = yaml.safe_load((DATA / "EXPECTED.yaml").read_text(encoding="utf-8"))


def observed(name: str):
    return metrics.observe(scrape.take(str(DATA / name)))


def between(start: str, end: str, *, seconds: float = 60.0):
    return metrics.observe(samples.parse(end, "after", seconds), samples.parse(start, "before", 0.0))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_file_is_read(name):
    assert observed(name).traffic is not None


@pytest.mark.parametrize("name", [name for name in EXPECTED if "tiered" in name])
def test_a_tiered_offload_calibrates_the_model(name):
    """The load and total_bytes families count the same bytes; `endswith` would take external hits for local ones."""
    said, traffic = EXPECTED[name], observed(name).traffic
    assert traffic.lookup("external").hit_rate == pytest.approx(said["external_hit_rate"], abs=1e-5)  # one is cut off
    assert traffic.bytes_per_hit_token == said["bytes_per_hit_token"]
    assert traffic.transfer("dram", "hbm").bytes_per_s / 1e9 == pytest.approx(said["cpu_to_gpu_gb_s"], abs=0.005)


def test_the_tiers_below_are_told_apart():
    name = "vllm_v1_tiered_qwen3-32b_t1.prom"
    said, traffic = EXPECTED[name], observed(name).traffic
    assert traffic.lookup("hbm").hit_rate == pytest.approx(said["gpu_hit_rate"], abs=5e-6)
    assert traffic.hit_rate == pytest.approx(said["total_token_hit_rate"], abs=5e-6)
    assert traffic.transfer("hbm", "dram").bytes_per_s / 1e9 == pytest.approx(said["gpu_to_cpu_gb_s"], abs=0.005)
    files = "1:StripedFileSystemTierManager"
    assert traffic.lookup(files).hit_rate == pytest.approx(said["fs_chunk_hit_rate"], abs=5e-6)
    assert traffic.lookup(files).unit == "chunks"
    read = traffic.transfer(files, "dram")
    assert read.thread_seconds
    assert read.bytes_per_s / 1e9 == pytest.approx(said["fs_read_gb_s_per_thread"], abs=5e-5)


def test_labels_carry_the_numbers_of_v0():
    name = "vllm_v0_qwen2.5-coder-1.5b.prom"
    said, seen = EXPECTED[name], observed(name)
    assert (seen.kv_tokens, seen.host_tokens) == (said["gpu_tokens"], said["cpu_tokens"])
    assert seen.host_bytes_per_token == pytest.approx(said["bytes_per_token_from_swap"], abs=0.5)
    assert seen.model == "Qwen/Qwen2.5-Coder-1.5B-Instruct"  # and no label says "None"


def test_a_hybrids_pool_is_what_its_label_says():
    name = "vllm_v1_hybrid_qwen3.8-27b.prom"
    said, seen = EXPECTED[name], observed(name)
    assert seen.traffic.lookup("hbm").hit_rate == pytest.approx(said["gpu_hit_rate"])
    assert (seen.kv_tokens, seen.block_product) == (said["kv_tokens_label"], said["block_product"])


def test_zeros_of_a_connector_that_is_not_there_change_nothing():
    name = "vllm_v1_reranker_no_connector.prom"
    said, traffic = EXPECTED[name], observed(name).traffic
    assert traffic.lookup("hbm").hit_rate == pytest.approx(said["gpu_hit_rate"], abs=5e-6)
    assert traffic.lookup("external").hit_rate is said["external_hit_rate"] is None
    assert traffic.hit_rate == traffic.lookup("hbm").hit_rate


def test_a_percentage_of_2024_is_a_fraction():
    name = "sglang_2024_gemma2-9b.prom"
    said, seen = EXPECTED[name], observed(name)
    assert seen.traffic.hit_rate == pytest.approx(said["cache_hit_rate_fraction"])
    assert seen.traffic.mean_ttft_s == pytest.approx(said["mean_ttft_s"], abs=5e-6)
    assert seen.traffic.mean_prompt_tokens == pytest.approx(said["mean_prompt_tokens"], abs=0.05)
    assert seen.model == "google/gemma-2-9b-it"  # its label was `name`


def test_a_gauge_that_is_never_set_is_unknown():
    seen = observed("sglang_dsv4_tp8_zero_memory.prom")
    assert seen.available_kv_bytes is None
    assert any("kv_cache_memory_usage_gb is 0" in note for note in seen.notes)


def test_tensorrt_llm_has_an_underscore():
    name = "trtllm_llama-3.1-8b.prom"
    said, traffic = EXPECTED[name], observed(name).traffic
    assert (traffic.hit_rate, traffic.pool_usage) == (said["hit_rate"], said["utilisation"])


def test_workers_of_one_group_count_a_request_once():
    name = "lmcache_tp4_same_counter_four_workers.prom"
    assert observed(name).traffic.lookup("lookup").asked == EXPECTED[name]["lookups"]


def test_nothing_asked_is_no_hit_rate():
    seen = observed("lmcache_dsv2lite_fresh.prom")
    assert seen.traffic.hit_rate is None
    assert seen.traffic.lookup("retrieve").asked == 0  # not the stamp of `_created`


def test_a_speed_in_tokens_is_not_bytes():
    seen = observed("lmcache_store_speed_histogram.prom")
    assert seen.traffic.transfers == ()
    assert any("tokens a second but no count" in note for note in seen.notes)


def test_llama_cpp_counts_no_hits():
    seen = observed("llamacpp_small.prom")
    assert (seen.engine, seen.traffic.hit_rate) == ("llamacpp", None)


def test_odd_values_are_unknown_and_named():
    seen = observed("synthetic_edge_cases.prom")
    assert seen.kv_tokens == 123433
    assert seen.traffic.pool_usage is None
    assert seen.traffic.lookup("hbm").found == 12  # over both engines, with a time stamp and escaped quotes
    assert seen.traffic.lookup("hbm").hit_rate is None  # of an infinity
    assert seen.traffic.transfer("dram", "hbm").bytes == 0  # not 1.79e9, which is when the counter was made
    assert {note.split(" is ")[0] for note in seen.notes} == {"vllm:prefix_cache_queries", "vllm:kv_cache_usage_perc"}


HITS = "vllm:prefix_cache_hits_total {0}\nvllm:prefix_cache_queries_total {1}\n"


def test_two_scrapes_give_what_happened_between_them():
    """100 of 200 tokens in between, though 900 of 1000 before."""
    traffic = between(HITS.format(900, 1000), HITS.format(1000, 1200)).traffic
    assert (traffic.lookup("hbm").asked, traffic.lookup("hbm").found, traffic.elapsed_s) == (200, 100, 60)
    assert traffic.hit_rate == 0.5


def test_evictions_become_a_rate():
    text = 'sglang:evicted_tokens_total{{cache_type="RadixCache",model_name="m"}} {0}\n'
    traffic = between(text.format(1000), text.format(4000), seconds=1800).traffic
    assert (traffic.evicted, traffic.evicted_unit, traffic.evicted_per_hour) == (3000, "tokens", 6000)


def test_a_rate_without_times_is_unknown():
    text = "sglang:evicted_tokens_total {0}\n"
    start, end = (samples.parse(text.format(value)) for value in (1, 5))
    traffic = metrics.observe(end, start).traffic
    assert (traffic.evicted, traffic.elapsed_s, traffic.evicted_per_hour) == (4, None, None)


def test_counters_that_went_backwards_are_refused():
    with pytest.raises(UserError, match=r"vllm:prefix_cache_hits fell from 1,000 to 900.*earlier first"):
        between(HITS.format(1000, 1200), HITS.format(900, 1300))


def test_another_process_is_another_run():
    start = "process_start_time_seconds 100\n" + HITS.format(1, 2)
    with pytest.raises(UserError, match="its process is another"):
        between(start, start.replace("100", "200").replace(" 2", " 5"))


def test_gauges_may_fall():
    text = "# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc {0}\n"
    assert between(text.format(0.9), text.format(0.2)).traffic.pool_usage == 0.2


def test_over_many_scrapes_the_pool_is_at_its_fullest_and_a_restart_begins_anew():
    text = HITS + "vllm:kv_cache_usage_perc {2}\n"
    values = [(900, 1000, 0.99), (0, 0, 0.1), (50, 100, 0.95), (150, 200, 0.5)]
    scrapes = [samples.parse(text.format(*each), "live", 10.0 * at) for at, each in enumerate(values)]
    seen = metrics.over(scrapes)
    assert seen.traffic.hit_rate == 0.75
    assert (seen.traffic.pool_usage, seen.traffic.elapsed_s) == (0.95, 20.0)
    assert any("restarted" in note for note in seen.notes)


def test_two_engines_are_refused_by_name():
    with pytest.raises(UserError, match="holds metrics of vLLM and SGLang"):
        metrics.observe(samples.parse(HITS.format(1, 2) + "sglang:token_usage 0.5\n"))


def test_lmcache_and_dynamo_stand_beside_their_engine():
    text = HITS.format(1, 2) + "lmcache:num_hit_tokens_total 5\ndynamo_component_requests_total 4\n"
    seen = metrics.observe(samples.parse(text))
    assert (seen.engine, [other.engine for other in seen.beside]) == ("vllm", ["lmcache", "dynamo"])


def test_an_unknown_engine_lists_what_was_found():
    with pytest.raises(UserError, match=r"is of no engine known here \(vLLM, .*start with tgi \(2\), go \(1\)"):
        metrics.observe(samples.parse("tgi_request_count 3\ntgi_queue_size 2\ngo_threads 5\n"))


def test_scrapes_of_two_engines_are_no_window():
    with pytest.raises(UserError, match="not of the same engine"):
        between("sglang:token_usage 0.5\n", HITS.format(1, 2))


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_metrics_without_a_figure_are_refused(value):
    with pytest.raises(UserError, match="every figure of vLLM is NaN or infinite"):
        metrics.observe(samples.parse(f"vllm:kv_cache_usage_perc {value}\n"))


def test_no_figure_is_ever_nan():
    for name in EXPECTED:
        traffic = observed(name).traffic
        found = [traffic.hit_rate, traffic.pool_usage, traffic.bytes_per_hit_token, traffic.mean_ttft_s]
        assert all(value is None or math.isfinite(value) for value in found)


def test_figures_beyond_anything_measured_are_unknown():
    seen = metrics.observe(samples.parse("vllm:prompt_tokens_total 1e300\nvllm:kv_cache_usage_perc 0.5\n"))
    assert seen.traffic.prompt_tokens is None
    assert any("vllm:prompt_tokens is 1e+300" in note for note in seen.notes)


def test_labels_that_are_no_figures_are_left_out():
    config = 'vllm:cache_config_info{num_gpu_blocks="\u0664\u0664",block_size="16",gpu_memory_utilization="high"} 1\n'
    seen = metrics.observe(samples.parse(config))
    assert (seen.blocks, seen.block_tokens, seen.memory_utilization) == (None, 16, None)


def test_an_lmcache_server_of_its_own_is_read():
    """Names as docs/source/mp/observability/metrics.rst of LMCache gives them; the figures are made up."""
    seen = metrics.observe(
        samples.parse(
            'lmcache_mp_lookup_requested_tokens_total{model_name="m"} 1000\n'
            'lmcache_mp_lookup_hit_tokens_total{model_name="m"} 600\n'
            'lmcache_mp_lookup_hit_l1_tokens_total{model_name="m"} 500\n'
            'lmcache_mp_lookup_hit_l2_tokens_total{model_name="m"} 100\n'
            "lmcache_mp_l1_evicted_chunks_total 7\n"
            'lmcache_mp_transfer_phase_bytes_total{direction="h2d",phase="staging"} 4000\n'
            'lmcache_mp_transfer_phase_bytes_total{direction="h2d",phase="kernel"} 4000\n'
            'lmcache_mp_transfer_phase_elapsed_seconds_total{direction="h2d",phase="staging"} 2\n'
        )
    )
    traffic = seen.traffic
    assert (traffic.lookup("external").hit_rate, traffic.lookup("dram").hit_rate) == (0.6, 0.5)
    assert (traffic.lookup("store").asked, traffic.lookup("store").found) == (500, 100)
    assert (traffic.transfer("dram", "hbm").bytes, traffic.transfer("dram", "hbm").seconds) == (4000, 2)
    assert (traffic.evicted, traffic.evicted_unit) == (7, "chunks")
