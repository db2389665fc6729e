"""The rules of the five boxes, each by itself."""

from dataclasses import replace

import pytest

from kvcalc.answers.checklist import checklist
from kvcalc.answers.checklist_options import ChecklistOptions, Kv, Outcome, Read
from kvcalc.answers.checklist_result import DECISIONS, WEIGHT
from kvcalc.errors import UserError
from kvcalc.observe import metrics, samples
from kvcalc.observe.host import Host

GB = 10**9


def asked(model: str = "llama3.1-8b", hardware: str = "h100-pcie5", **options):
    """The chapter's questions of an 8B model on one GPU: 131,072 B a token in bf16."""
    return checklist(model, hardware, ChecklistOptions(**({"tp": 1} | options)))


def codes(result, box: int | None = None) -> dict[str, str]:
    return {each.code: each.effect for each in result.reasons if box in (None, each.box)}


def both(own: float, bare: float) -> dict[str, Outcome]:
    return {"with_offload": Outcome(own, f"{own} s"), "without_offload": Outcome(bare, f"{bare} s")}


def read(text: str, before: str | None = None, at_s: float | None = None) -> tuple[Read, ...]:
    start = None if before is None else replace(samples.parse(before), at_s=0.0)
    return (Read("dump", "metrics", metrics.observe(replace(samples.parse(text), at_s=at_s), start)),)


def test_the_verdict_is_that_of_the_heaviest_reason():
    for result in (asked(), asked(working_set=Kv(tokens=10)), asked(kv_dtype="bf16")):
        assert result.verdict == DECISIONS[result.reasons[0].effect]
        weights = [WEIGHT.index(each.effect) for each in result.reasons]
        assert weights == sorted(weights)


def test_nothing_known_is_worth_measuring():
    assert asked().verdict == "worth measuring"
    assert [box.answer for box in asked().boxes] == ["unknown", "yes", "unknown", "yes", "unknown"]


def test_all_boxes_ticked_is_worth_building():
    result = asked(
        kv_dtype="fp8", replicas=1, working_set=Kv(tokens=9e6), pool=Kv(tokens=1e6), sizes=(("dram", Kv(tokens=9e6)),),
        host_memory=900 * GB,
    )  # fmt: skip
    assert [box.answer for box in result.boxes] == ["yes"] * 5
    assert result.verdict == "worth building"


def test_a_working_set_that_fits_in_hbm_blocks():
    result = asked(working_set=Kv(tokens=80_000), pool=Kv(tokens=80_000))
    assert codes(result, 1)["working-set-fits-hbm"] == "blocks"
    assert result.verdict == "do not build"
    more = asked(working_set=Kv(tokens=80_001), pool=Kv(tokens=80_000))
    assert codes(more, 1)["working-set-exceeds-hbm"] == "supports"


def test_a_full_pool_with_a_hit_rate_at_the_ceiling_is_not_limited_by_capacity():
    full = {"pool_usage": 0.99, "evicted_per_hour": 1e6}
    at = asked(**full, hit_rates=(0.6,), ceiling=0.61)
    assert codes(at, 1) == {"at-the-ceiling": "blocks"}
    below = asked(**full, hit_rates=(0.3,), ceiling=0.61)
    assert codes(below, 1) == {"below-the-ceiling": "supports"}


def test_a_hit_rate_below_the_ceiling_with_room_left_is_not_explained_by_capacity():
    assert codes(asked(hit_rates=(0.3,), ceiling=0.61), 1) == {"below-the-ceiling": "unknown"}


def test_a_full_pool_alone_says_nothing():
    assert codes(asked(pool_usage=0.99), 1) == {"full-without-ceiling": "unknown"}


def test_a_pool_that_requests_hardly_use_says_nothing_of_the_cache():
    """Engines count blocks that only the prefix cache holds as free."""
    assert codes(asked(read=read("vllm:kv_cache_usage_perc 0.02\n")), 1) == {"nothing-known": "unknown"}


def test_a_cache_that_never_evicts_needs_no_tier():
    assert codes(asked(evicted_per_hour=0.0), 1) == {"never-full": "blocks"}
    assert codes(asked(read=read("sglang:evicted_tokens_total 0\nsglang:token_usage 0.5\n")), 1) == {
        "never-full": "blocks"
    }


def test_prompts_that_have_not_filled_the_pool_have_evicted_nothing():
    dump = (
        "vllm:prefix_cache_queries_total {}\nvllm:prefix_cache_hits_total 1000\n"
        'vllm:cache_config_info{{block_size="16",num_gpu_blocks="10000",kv_cache_size_tokens="160000"}} 1\n'
    )
    assert codes(asked(read=read(dump.format(5000))), 1)["never-full"] == "blocks"
    assert codes(asked(read=read(dump.format(500_000))), 1)["nothing-known"] == "unknown"


def test_tokens_found_outside_hbm_were_lost_by_it():
    dump = (
        "vllm:prefix_cache_queries_total 1000000\nvllm:prefix_cache_hits_total 100000\n"
        "vllm:external_prefix_cache_queries_total 900000\nvllm:external_prefix_cache_hits_total 450000\n"
    )
    result = asked(read=read(dump))
    assert codes(result, 1) == {"found-outside-hbm": "supports"}
    assert "55.0 % together" in result.boxes[0].reasons[0].text


def test_a_tier_is_measured_against_what_lies_above_it():
    """An inclusive tier adds what it has beyond the one above: 300k - 100k, then nothing."""
    result = asked(pool=Kv(tokens=100_000), sizes=(("dram", Kv(tokens=300_000)), ("nvme", Kv(tokens=300_000))))
    assert codes(result, 1)["tier-not-larger"] == "blocks"
    texts = [each.text for each in result.boxes[0].reasons]
    assert any("dram holds 300,000 tokens, 200,000 tokens beyond HBM" in each for each in texts)
    assert any("nvme is no larger than dram" in each for each in texts)


def test_a_tier_that_keeps_only_what_was_evicted_may_be_small():
    assert "tier-not-larger" not in codes(asked(engine="trtllm", pool=Kv(tokens=100), sizes=(("dram", Kv(tokens=90)),)))


def test_cyclic_reuse_needs_room_for_the_whole_cycle():
    sizes = {"working_set": Kv(tokens=500_000), "pool": Kv(tokens=100_000), "reuse": "cyclic"}
    assert codes(asked(**sizes, sizes=(("dram", Kv(tokens=499_999)),)))["cyclic-reuse"] == "blocks"
    assert "cyclic-reuse" not in codes(asked(**sizes, sizes=(("dram", Kv(tokens=500_000)),)))


def test_a_pool_below_one_request_helps_nobody():
    result = asked(pool=Kv(tokens=30_000), max_model_len=32_768)
    assert codes(result)["pool-below-one-request"] == "blocks"
    assert "pool-below-one-request" not in codes(asked(pool=Kv(tokens=32_768), max_model_len=32_768))


def test_a_pool_far_below_its_prediction_lost_memory_first():
    """443,408 tokens are what capacity predicts; a leak of a loader made one pool 200x too small."""
    assert codes(asked(pool=Kv(tokens=2_000)))["pool-far-below-prediction"] == "cheaper"
    assert "pool-far-below-prediction" not in codes(asked(pool=Kv(tokens=300_000)))


def test_a_slow_fetch_over_a_fast_medium_is_software():
    """20,000 x 131,072 B = 2.62 GB; at 0.066 GB/s that is 39.7 s, over PCIe 5.0 it would be 0.048 s."""
    result = asked(bandwidth=0.066 * GB)
    assert codes(result, 2)["software-not-medium"] == "cheaper"
    assert "39.7 s" in result.boxes[1].reasons[0].text
    assert result.verdict == "do the cheaper things first"


def test_effective_bandwidth_45_times_under_break_even_is_said():
    """LMCache on many small files: 0.066 GB/s where 2.9 would be even; recompute at 2.9e9 / 131,072 = 22,125 tok/s."""
    text = asked(bandwidth=0.066 * GB, prefill=2.9 * GB / 131_072).boxes[1].reasons[0].text
    assert "break-even is 2.9 GB/s, and the effective bandwidth is 44x under it" in text


def test_a_slow_fetch_over_a_slow_medium_blocks():
    assert codes(asked(tier="remote", bandwidth=1 * GB), 2)["effective-fetch-does-not-win"] == "blocks"


def test_the_effective_bandwidth_of_the_metrics_comes_before_the_mediums():
    dump = "vllm:kv_offload_load_bytes_total 1e12\nvllm:kv_offload_load_time_total 2000\n"
    result = asked(read=read(dump))
    assert codes(result, 2)["software-not-medium"] == "cheaper"
    assert {each.name: each.value for each in result.boxes[1].figures}["effective bandwidth"] == 0.5 * GB


def test_what_was_measured_with_and_without_decides():
    assert codes(asked(**both(6911, 4032)))["measured-slower"] == "cheaper"
    assert codes(asked(**both(6911, 4032), tier="remote"))["measured-slower"] == "blocks"
    assert codes(asked(**both(1.2, 16.4)))["measured-faster"] == "supports"
    against_the_profile = asked(**both(1.2, 16.4), tier="remote")
    assert codes(against_the_profile)["fetch-does-not-win"] == "note"
    assert against_the_profile.verdict == "worth measuring"


def test_the_mean_prompt_of_the_metrics_is_the_length_asked_about():
    dump = "vllm:request_prompt_tokens_sum 70000\nvllm:request_prompt_tokens_count 10\n"
    assert asked(read=read(dump)).tokens == 7000
    assert asked(read=read(dump), tokens=100).tokens == 100


def test_bytes_of_a_hit_token_tell_the_format():
    """Llama 3.1 8B: 131,072 B a token in bf16, 65,536 in FP8."""
    dump = (
        "vllm:external_prefix_cache_queries_total 1000\nvllm:external_prefix_cache_hits_total 500\n"
        "vllm:kv_offload_load_bytes_total {}\n"
    )
    for size, form in ((131_072, "bf16"), (65_536, "fp8")):
        assert asked(read=read(dump.format(500 * size))).kv_stored == form
    odd = asked(read=read(dump.format(500 * 90_000)))
    assert "hit-token-differs" in codes(odd, 2)


def test_store_that_is_written_and_never_read_is_found():
    dump = "sglang:backuped_tokens_total 5000\nsglang:prefetched_tokens_total {}\nsglang:token_usage 0.5\n"
    assert codes(asked(read=read(dump.format(0))))["written-never-read"] == "cheaper"
    assert "written-never-read" not in codes(asked(read=read(dump.format(10))))


def test_a_tier_that_drains_slower_than_it_fills_clogs():
    assert codes(asked(drain=0.1 * GB))["drain-below-fill"] == "cheaper"
    assert "drain-below-fill" not in codes(asked(drain=100 * GB))


def test_hit_rate_and_first_token_rise_together():
    assert codes(asked(hit_rates=(0.0, 0.9), first_token_s=(2.5, 6.1)))["hit-rate-and-first-token-rise"] == "unknown"
    assert "hit-rate-and-first-token-rise" not in codes(asked(hit_rates=(0.0, 0.9), first_token_s=(6.1, 2.5)))


@pytest.mark.parametrize(("engine", "ranks", "asked_gb", "used"), [
    ("vllm", 8, 32, 32 * GB),  # of all ranks, one region
    ("sglang", 8, 256, 8 * 2**35),  # 32 GB of each rank, and the next power of two is 2^35
    ("lmcache", 8, 256, 256 * GB),
])  # fmt: skip
def test_an_option_is_of_a_rank_or_of_all(engine, ranks, asked_gb, used):
    result = asked("llama3.1-70b", tp=ranks, engine=engine, host_pool=32 * GB, memory_utilization=0.85)
    found = {each.name: each.value for each in result.boxes[2].figures}
    assert (found["asked, all ranks"], found["used, all ranks"]) == (asked_gb * GB, used)


def test_older_vllm_rounds_each_rank_up():
    result = asked("llama3.1-70b", tp=8, engine="vllm", engine_version="0.19", host_pool=72 * GB)
    assert {each.name: each.value for each in result.boxes[2].figures}["used, all ranks"] == 8 * 2**34  # 9 GB each


def test_host_memory_is_set_against_what_is_free_here():
    host = Host(total_bytes=100 * GB, available_bytes=50 * GB, locked_limit_bytes=None, group_left_bytes=20 * GB)
    plan = {"engine": "vllm", "host_pool": 30 * GB, "host": host}
    assert codes(asked(**plan), 3)["host-memory-short"] == "blocks"
    assert codes(asked(**plan | {"host_pool": 19 * GB}), 3)["host-memory-spare"] == "supports"


def test_what_is_used_is_set_against_what_was_asked():
    """vLLM issue 53042: 1.92x."""
    result = asked(host_pool=100 * GB, host_used=192 * GB)
    assert any("1.9x: plan with what is used" in each.text for each in result.boxes[2].reasons)


@pytest.mark.parametrize(("hardware", "answer"), [("gh200-nvlink-c2c", "yes"), ("h100-pcie5", "yes")])
def test_the_interconnect_has_its_class(hardware, answer):
    box = asked(hardware=hardware).boxes[3]
    assert box.answer == answer
    assert {"one link", "all GPUs at once", "ceiling of the node"} <= {each.name for each in box.figures}


def test_replicas_share_the_links():
    """Eight replicas of one GPU each need eight times what one does."""
    one, eight = (
        {each.name: each.value for each in asked(replicas=count).boxes[3].figures}["margin with all GPUs at once"]
        for count in (1, 8)
    )
    assert one == pytest.approx(8 * eight)


def test_fp8_comes_first_where_kv_is_in_16_bits():
    assert codes(asked(kv_dtype="bf16"), 5)["fp8-first"] == "cheaper"
    assert codes(asked(), 5)["kv-format-not-known"] == "unknown"
    assert codes(asked(kv_dtype="fp8"), 5)["kv-format"] == "supports"


def test_routing_comes_before_a_shared_store():
    assert codes(asked(replicas=4, routing="other"), 5)["prefix-aware-routing-first"] == "cheaper"
    assert codes(asked(replicas=4, routing="prefix-aware"), 5)["prefix-aware-routing"] == "supports"
    assert codes(asked(replicas=1), 5)["one-replica"] == "supports"


def test_multi_head_attention_keeps_the_most():
    """Llama 2 7B: 32 KV heads, 8 would keep a quarter."""
    result = asked("llama2-7b", max_model_len=4096, tokens=2000)
    assert codes(result, 5)["multi-head-attention"] == "cheaper"
    assert any("0.25x" in each.text for each in result.boxes[4].reasons)


@pytest.mark.parametrize(("claim", "said"), [
    (131_072, "agree"),
    (4 * 131_072, "hidden size instead of KV heads (4x)"),
    (8 * 131_072, "bits taken for bytes (8x)"),
    (65_536, "half the width (0.5x)"),
    (700_003, "which tokens are counted"),
])  # fmt: skip
def test_a_claim_of_bytes_a_token_is_explained_by_its_mistake(claim, said):
    assert any(said in each.text for each in asked(bytes_per_token=claim).boxes[1].reasons)


def test_latent_caches_are_not_divided_by_tp():
    """DeepSeek-V3: 61 x 576 x 2 B = 70,272 B a token; at TP 8 a calculator says an eighth."""
    result = asked("deepseek-v3", tp=8, kv_dtype="bf16", bytes_per_token=70_272 / 8)
    assert any("a latent cache divided by TP 8" in each.text for each in result.boxes[1].reasons)


def test_unfused_latent_attention_is_71_times_as_large():
    """DeepSeek-V3: 128 heads x (128 + 64 + 128) against 512 + 64 elements."""
    result = asked("deepseek-v3", tp=8, kv_dtype="bf16", bytes_per_token=70_272 * 128 * 320 / 576)
    assert any("instead of the latent (71x)" in each.text for each in result.boxes[1].reasons)


def test_ignored_windows_and_recurrent_layers_are_named():
    """Mistral 7B v0.1 keeps 4,096 of 16,384 tokens; 16 of the 64 layers of Qwen3.5 27B attend."""
    windows = asked("mistral-7b-v0.1", tokens=16_384, bytes_per_token=131_072)
    assert any("windows ignored (4x)" in each.text for each in windows.boxes[1].reasons)
    states = asked("qwen3.5-27b", tokens=100_000, bytes_per_token=4 * 65_536)
    assert any("recurrent layers taken for attention" in each.text for each in states.boxes[1].reasons)


def test_a_ratio_of_the_pool_is_of_each_rank():
    """HiCache: twice one rank's pool of 100,000 / 8 x 327,680 B, and the next power of two, 2^33 B, on 8 ranks."""
    result = asked("llama3.1-70b", tp=8, engine="sglang", host_ratio=2.0, pool=Kv(tokens=100_000))
    found = {each.name: each.value for each in result.boxes[2].figures}
    assert found["asked, all ranks"] == pytest.approx(2 * 100_000 * 327_680)
    assert found["used, all ranks"] == 8 * 2**33


def test_latent_caches_fill_a_pool_on_every_rank():
    """HiCache keeps a pool a rank, and each rank the whole latent: twice the pool is twice its tokens, not 16 times."""
    result = asked("deepseek-r1", tp=8, engine="sglang", kv_dtype="bf16", host_ratio=2.0, pool=Kv(tokens=100_000))
    assert {each.name: each.value for each in result.boxes[0].figures}["dram holds"] == pytest.approx(200_000)


def test_replicas_on_one_node_share_its_memory():
    """Two replicas of TP 4 on 8 GPUs take twice 30 GB; of eight no more than two are on one node."""
    for replicas in (2, 8):
        plan = {"tp": 4, "engine": "vllm", "host_pool": 30 * GB, "host_memory": 50 * GB, "replicas": replicas}
        result = asked("llama3.1-70b", **plan)
        assert codes(result, 3)["replicas-share-the-host"] == "unknown"
        assert any("2 replicas on one node take 60 GB" in each.text for each in result.boxes[2].reasons)


def test_metrics_name_the_model_where_no_option_does():
    dump = 'vllm:prefix_cache_queries_total{model_name="Qwen/Qwen3-32B"} 4\n'
    assert checklist(None, "h100-pcie5", ChecklistOptions(read=read(dump))).model == "qwen3-32b"


def test_metrics_of_a_model_without_a_profile_are_told_all_the_same():
    """900 of 1,000 tokens were found."""
    dump = (
        'vllm:prefix_cache_queries_total{model_name="nobody/knows"} 1000\n'
        'vllm:prefix_cache_hits_total{model_name="nobody/knows"} 900\nvllm:num_preemptions_total 3\n'
    )
    result = checklist(None, "h100-pcie5", ChecklistOptions(read=read(dump)))
    assert (result.model, result.verdict) == ("nobody/knows", "worth measuring")
    assert {each.name: each.value for each in result.boxes[0].figures}["hit rate"] == 0.9
    assert {box.answer for box in result.boxes} == {"unknown"}
    assert "3 requests were preempted" in result.reasons[0].text


def test_metrics_of_two_engines_are_no_replicas():
    mixed = (*read("vllm:prefix_cache_queries_total 4\n"), *read("sglang:token_usage 0.5\n"))
    with pytest.raises(UserError, match="sglang and vllm"):
        asked(read=mixed)


def test_replicas_of_one_engine_are_added_up():
    """1,000 of 4,000 and 3,000 of 4,000 tokens."""
    dump = "vllm:prefix_cache_queries_total 4000\nvllm:prefix_cache_hits_total {}\n"
    result = asked(read=(*read(dump.format(1000)), *read(dump.format(3000))))
    assert {each.name: each.value for each in result.boxes[0].figures}["hit rate"] == 0.5
    assert len(result.seen) == 2


def test_between_two_scrapes_evictions_are_rates():
    """3,000 tokens in 1,800 s are 6,000 an hour."""
    dump = "sglang:evicted_tokens_total {}\nsglang:token_usage 0.5\n"
    result = asked(read=read(dump.format(8000), before=dump.format(5000), at_s=1800.0))
    assert result.seen[0].evicted_per_hour == 6000
    assert codes(result, 1) == {"full-without-ceiling": "unknown"}


def test_a_trace_gives_the_ceiling_and_the_knee(data):
    trace = data / "mooncake_synthetic.jsonl.gz"
    roomy = asked("llama3-70b", tp=8, trace=trace, pool=Kv(tokens=1e9))
    assert codes(roomy, 1)["at-the-ceiling"] == "blocks"
    tight = asked("llama3-70b", tp=8, trace=trace, pool=Kv(tokens=1e6))
    assert codes(tight, 1)["below-the-ceiling"] == "supports"
    found = {each.name: each.value for each in tight.boxes[0].figures}
    assert found["ceiling of the hit rate"] == pytest.approx(0.651, abs=0.001)  # as the README has it


@pytest.mark.parametrize(("reuse", "said"), [
    (None, {"host-holds-a-part": "unknown"}),
    ("mixed", {"host-holds-a-part": "unknown"}),
    ("cyclic", {"host-memory-short": "blocks"}),
])  # fmt: skip
def test_a_host_too_small_for_everything_blocks_only_a_cycle(reuse, said):
    """20 M tokens of 131,072 B are 2.6 TB; the host has 1 TB, and nobody planned a size."""
    found = codes(asked(working_set=Kv(tokens=20e6), pool=Kv(tokens=1e6), host_memory=1000 * GB, reuse=reuse), 3)
    assert said.items() <= found.items()


def test_a_knee_beyond_the_host_is_no_plan(data):
    """The knee of the trace is at more than a gigabyte of KV."""
    trace = data / "mooncake_synthetic.jsonl.gz"
    result = asked("llama3-70b", tp=8, trace=trace, pool=Kv(tokens=1e6), host_memory=GB)
    assert codes(result, 3)["host-holds-a-part"] == "unknown"
    assert "blocks" not in codes(result, 3).values()


STARVED = "vllm:kv_cache_usage_perc 0.985\nvllm:num_preemptions_total 100\n"
POOR = "vllm:prefix_cache_queries_total 100000000\nvllm:prefix_cache_hits_total 8000000\n"
LOOKED = "vllm:external_prefix_cache_queries_total 92000000\nvllm:external_prefix_cache_hits_total 0\n"


def test_a_planned_tier_has_done_nothing_yet():
    planned = {"sizes": (("dram", Kv(tokens=9e6)),), "pool": Kv(tokens=1e6)}
    assert codes(asked(read=read(POOR), **planned), 1)["reuse-may-set-the-hit-rate"] == "unknown"
    assert codes(asked(read=read(POOR), **planned, tier_in_use=True), 1)["reuse-sets-the-hit-rate"] == "blocks"
    assert codes(asked(read=read(POOR + LOOKED), **planned), 1)["reuse-sets-the-hit-rate"] == "blocks"


def test_a_starved_server_is_not_told_that_reuse_sets_its_hit_rate():
    result = asked(read=read(STARVED + POOR + LOOKED), sizes=(("dram", Kv(tokens=9e6)),), pool=Kv(tokens=1e6))
    assert codes(result, 1)["full-without-ceiling"] == "unknown"
    assert result.verdict != "do not build"


def test_what_another_server_computed_was_not_lost_by_a_roomy_pool():
    dump = POOR + LOOKED.replace("hits_total 0", "hits_total 90000000") + "vllm:kv_cache_usage_perc {}\n"
    assert codes(asked(read=read(dump.format(0.2))), 1) == {"found-outside-hbm": "unknown"}
    assert codes(asked(read=read(dump.format(0.97))), 1) == {"found-outside-hbm": "supports"}


def test_an_engine_named_or_read_gives_the_restore_cost():
    """DeepSeek-V2-Lite's small KV: an engine's fixed time a restore is most of a fetch."""
    dump = "vllm:kv_cache_usage_perc 0.5\n"
    given, seen = asked("deepseek-v2-lite", engine="vllm"), asked("deepseek-v2-lite", read=read(dump))
    margins = [next(f.value for f in r.boxes[1].figures if f.name == "margin by the profile") for r in (given, seen)]
    assert margins[0] == margins[1]
    assert given.engine == seen.engine == "vllm"


def test_without_an_engine_its_fixed_costs_may_decide():
    result = asked("deepseek-v2-lite", tp=8)
    assert result.engine == "ideal"
    assert codes(result, 2)["engine-decides"] == "unknown"
    assert any("no engine is named" in each for each in result.warnings)


def test_a_pool_guessed_by_a_supposed_split_does_not_block():
    small = Kv(tokens=1000)
    assert codes(asked(tp=None, working_set=small), 1)["working-set-fits-hbm"] == "unknown"
    assert codes(asked(tp=1, working_set=small), 1)["working-set-fits-hbm"] == "blocks"
    assert codes(asked(tp=None, working_set=small, pool=Kv(tokens=2000)), 1)["working-set-fits-hbm"] == "blocks"
    assert any("TP 8 is supposed" in each for each in asked(tp=None).warnings)


def test_a_predicted_pool_is_weaker_than_what_the_metrics_show():
    result = asked(working_set=Kv(tokens=1000), read=read(STARVED))
    assert codes(result, 1)["working-set-fits-hbm"] == "unknown"


def test_a_model_that_all_gpus_cannot_share_is_asked_on_one():
    """Qwen2.5 7B has 28 heads: not over 8 GPUs."""
    result = asked("qwen2.5-7b", tp=None)
    assert result.tp == 1
    assert any("can't be split over all 8 GPUs" in each for each in result.warnings)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_weights_that_do_not_fit_block_with_any_engine(engine):
    """141 GB of weights on one GPU of 80 GB."""
    assert codes(asked("llama3.1-70b", engine=engine), 1)["no-pool"] == "blocks"


def test_names_in_metrics_are_taken_by_likeness():
    for name in ("llama-3.1-8b", "someone/Llama-3.1-8B-Instruct-FP8"):
        dump = f'vllm:prefix_cache_queries_total{{model_name="{name}"}} 4\n'
        assert checklist(None, "h100-pcie5", ChecklistOptions(read=read(dump))).model == "llama3.1-8b"


def test_a_time_is_not_set_against_a_rate():
    with pytest.raises(UserError, match="tokens a second and --without-offload a time"):
        asked(with_offload=Outcome(1 / 1200, "1200tok/s", "tokens a second"), without_offload=Outcome(2.0, "2s"))


@pytest.mark.parametrize(("own", "code"), [
    (0.97, "measured-no-gain"), (1.03, "measured-no-gain"), (0.9, "measured-faster"), (1.1, "measured-slower"),
])  # fmt: skip
def test_less_than_runs_differ_by_is_no_gain(own, code):
    assert code in codes(asked(**both(own, 1.0)), 2)


def test_files_of_two_models_are_no_replicas():
    dump = 'vllm:prefix_cache_queries_total{{model_name="{}"}} 4\n'
    same = (*read(dump.format("Qwen/Qwen3-32B")), *read(dump.format("qwen3-32b")))
    assert asked("qwen3-32b", read=same).seen
    other = (*read(dump.format("Qwen/Qwen3-32B")), *read(dump.format("meta-llama/Llama-3.1-8B-Instruct")))
    with pytest.raises(UserError, match="one model at a time"):
        asked(read=other)


def test_a_companion_in_its_own_file_finds_of_what_the_engine_had_not():
    """HBM had 40 %, LMCache half of the remaining 60 %: 70 % together; LMCache is no second replica."""
    engine = "vllm:prefix_cache_queries_total 1000\nvllm:prefix_cache_hits_total 400\nvllm:num_preemptions_total 5\n"
    companion = "lmcache:num_requested_tokens_total 600\nlmcache:num_hit_tokens_total 300\n"
    result = asked(read=(*read(engine), *read(companion)))
    assert {each.name: each.value for each in result.boxes[0].figures}["hit rate"] == 0.4
    text = result.boxes[0].reasons[0].text
    assert "HBM held 40.0 %" in text
    assert "50.0 % were found outside it, 70.0 % together" in text
    assert {each.name: each.value for each in result.boxes[4].figures}["replicas"] is None


def test_more_hits_than_look_ups_are_noted_and_not_used():
    result = asked(read=read("vllm:prefix_cache_queries_total 100\nvllm:prefix_cache_hits_total 900\n"))
    assert {each.name: each.value for each in result.boxes[0].figures}["hit rate"] is None
    assert any("900 tokens found of 100 asked can't be: not used" in each for each in result.seen[0].notes)


def test_a_prefix_cache_that_is_off_is_turned_on_first():
    dump = 'vllm:cache_config_info{enable_prefix_caching="False",num_gpu_blocks="100",block_size="16"} 1\n'
    result = asked(read=read(dump))
    assert codes(result, 5)["prefix-caching-first"] == "cheaper"
    assert codes(result, 1)["no-hits-while-off"] == "unknown"
    on = asked(read=read(dump.replace("False", "True")))
    assert "prefix-caching-first" not in codes(on, 5)


def test_what_is_asked_found_and_copied_is_told_an_hour():
    """1,000 asked, 400 found and 5 GB loaded in half an hour."""
    dump = "vllm:prefix_cache_queries_total {}\nvllm:prefix_cache_hits_total {}\nvllm:kv_offload_load_bytes_total {}\n"
    result = asked(read=read(dump.format(3000, 1400, 9e9), before=dump.format(2000, 1000, 4e9), at_s=1800.0))
    found = {each.name: (each.value, each.unit) for each in result.boxes[0].figures}
    assert found["asked of hbm"] == (2000, "tokens/h")
    assert found["found in hbm"] == (800, "tokens/h")
    assert found["copied from dram to hbm"] == (10 * GB, "B/h")


def test_a_watch_tells_the_pool_over_time():
    scrapes = [replace(samples.parse(f"vllm:kv_cache_usage_perc {each}\n"), at_s=float(i))
               for i, each in enumerate((0.2, 0.9, 0.4))]  # fmt: skip
    result = asked(read=(Read("dump", "metrics", metrics.over(scrapes)),))
    found = {each.name: each.value for each in result.boxes[0].figures}
    assert found["pool in use by requests, at most"] == 0.9
    assert found["pool in use by requests, mean of the watch"] == pytest.approx(0.5)
    assert found["pool in use by requests, at least"] == 0.2


def test_memory_that_was_used_is_not_ignored_without_what_was_asked():
    assert codes(asked(engine="sglang", host_used=100 * GB), 3)["used-alone"] == "note"


def test_a_tier_that_is_read_back_hardly_ever_is_found():
    """Dynamo's KVBM: 100 of 50,000 blocks came back, 0.2 %."""
    dump = "dynamo_kvbm_x 1\nkvbm_offload_blocks_d2h 50000\nkvbm_onboard_blocks_h2d {}\n"
    result = asked(read=read(dump.format(100)))
    assert codes(result, 1)["written-hardly-read"] == "cheaper"
    assert any("0.2 % was read again" in each.text for each in result.reasons)
    assert "written-hardly-read" not in codes(asked(read=read(dump.format(5000))), 1)


def test_grouped_heads_are_said_in_plain_words():
    assert any("32 query heads share 8 KV heads" in each.text for each in asked().boxes[4].reasons)


def test_a_pool_on_a_trace_says_why_curve_has_another(data):
    """Both count HBM: the checklist in the engine's format and less its buffers, curve in FP8 first."""
    result = asked("llama3-70b", tp=8, trace=data / "mooncake_synthetic.jsonl.gz")
    assert any("'kvcalc curve' by itself counts FP8 first" in each for each in result.warnings)


def test_a_trace_for_several_replicas_is_routed(data):
    trace = data / "mooncake_arxiv_first20.jsonl"
    assert codes(asked("llama3-70b", tp=4, trace=trace, replicas=2), 5)["routing-on-the-trace"] == "note"
    one = asked("llama3-70b", tp=4, trace=trace)
    assert "routing-on-the-trace" not in codes(one, 5)
    assert any("kvcalc route TRACE" in each for each in one.boxes[4].run)
