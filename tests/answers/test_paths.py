"""Which tiers and how many links an answer covers, and what more links do to a restore."""

from itertools import pairwise

import pytest

from kvcalc import UserError

PER_GPU = ("dram-pcie5", "infiniband-400g")
PER_NODE = ("nvme-gen4", "remote-store", "ethernet-25g")


def shown(result):
    return [(path.tier, path.links) for path in result.paths]


def test_by_default_each_tier_is_answered_over_one_link_and_over_all(ask):
    found = shown(ask())
    assert len(found) == len(set(found)) == 7
    assert set(found) == {(tier, links) for tier in PER_GPU for links in (1, 8)} | {(tier, 1) for tier in PER_NODE}


@pytest.mark.parametrize(("links", "per_gpu"), [(1, 1), (3, 3), (8, 8), ("all", 8)])
def test_asked_number_of_links_is_one_row_and_a_shared_link_stays_one(ask, links, per_gpu):
    assert set(shown(ask(links=links))) == {(tier, per_gpu) for tier in PER_GPU} | {(tier, 1) for tier in PER_NODE}


def test_more_links_than_ranks_are_refused(ask):
    with pytest.raises(UserError, match=r"TP 4.*4 links.*not 5.*--links 4"):
        ask(tp=4, links=5)
    with pytest.raises(UserError, match="TP 8"):
        ask(links=9)


def test_all_links_are_those_of_the_ranks(ask):
    assert {path.links for path in ask(tp=2).paths if path.tier in PER_GPU} == {1, 2}
    assert {path.links for path in ask(tp=1).paths} == {1}


def test_links_add_up_until_the_ceiling_of_the_node(ask, path_of):
    # 3.2768 GB over 2 x 55 GB/s, then 4 x 55 = 220 and 8 x 55 under a ceiling of 213.6 (p5en); 10 us + 3.5 us fixed
    for links, rate in ((1, 55e9), (2, 110e9), (4, 213.6e9), (8, 213.6e9)):
        path = path_of(ask(links=links), "dram", links)
        assert path.bandwidth_bytes_per_s == pytest.approx(rate)
        assert path.fetch_s == pytest.approx(13.5e-6 + 3.2768e9 / rate, rel=1e-9)
        assert path.busy_links == links
        assert path.moved_bytes == 3_276_800_000


@pytest.mark.parametrize("engine", ["ideal", "vllm", "sglang", "trtllm", "lmcache"])
@pytest.mark.parametrize("model", ["llama3-70b", "gpt-oss-120b", "gemma3-27b"])
def test_more_links_never_slow_a_sharded_cache_down(ask, model, engine):
    times = [
        {path.tier: path.fetch_s for path in ask(model, "h200-pcie5", links=links, engine=engine, prefill=1e4).paths}
        for links in range(1, 9)
    ]
    for fewer, more in pairwise(times):
        assert all(more[tier] <= fewer[tier] * (1 + 1e-12) for tier in fewer)


def test_latent_cache_without_an_engine_uses_fewer_links_and_is_no_slower_than_over_one(ask, path_of):
    # every rank holds the same 61 x 576 B = 35,136 B a token: 8 links of 26.7 GB/s take twice as long as one of 55
    result = ask("deepseek-v3", "h200-pcie5")
    one, all_ = (path_of(result, "dram", links) for links in (1, 8))
    assert result.kv_bytes == 20_000 * 35_136
    assert all_.busy_links < 8
    assert all_.moved_bytes == all_.busy_links * result.kv_bytes
    assert all_.fetch_s <= one.fetch_s


def test_latent_cache_under_vllm_is_loaded_by_each_rank_for_itself(ask, path_of):
    result = ask("deepseek-v3", "h200-pcie5", engine="vllm")
    all_ = path_of(result, "dram", 8)
    assert all_.busy_links == 8
    assert all_.moved_bytes == 8 * 20_000 * 35_136
    assert all_.bandwidth_bytes_per_s == pytest.approx(213.6e9)  # 8 x 55 under the node's ceiling
    assert path_of(result, "dram", 1).moved_bytes == all_.moved_bytes  # one link carries all eight copies
    assert path_of(result, "dram", 1).fetch_s > all_.fetch_s


def test_network_that_all_gpus_share_carries_a_replicated_cache_once_a_rank(ask, path_of):
    # DeepSeek-V3, 30,000 tokens of 35,136 B: 1.054 GB; eight copies over 303.8 GB/s and 0.37 ms are 28.1 ms
    path = path_of(ask("deepseek-v3", "p5en.48xlarge", 30_000, engine="sglang", prefill=60_000.0), "efa-3200g", 1)
    assert path.moved_bytes == 8 * 30_000 * 35_136
    assert path.fetch_s == pytest.approx(0.0281, rel=0.01)


def test_qwen_on_more_ranks_than_kv_heads_moves_what_mooncake_measured(ask, path_of):
    # Qwen3-235B has 4 KV heads: at TP 8, 32,768 tokens moved 12.62 GB for 6.31 GB of KV (Mooncake, bf16)
    result = ask("qwen3-235b-a22b", tokens=32_768, kv_dtype="bf16", engine="vllm", prefill=1e4)
    assert result.kv_bytes == pytest.approx(6.31e9, rel=1e-3)
    assert path_of(result, "dram", 8).moved_bytes == pytest.approx(12.62e9, rel=1e-3)


def test_vllm_adds_what_it_was_measured_to(ask, path_of):
    # 10.2 ms + 2.97 us a token of 131,072 B, 44 GB/s (vLLM blog, 2026-01-08): 69.6 ms for 20,000 tokens
    options = {"tp": 1, "kv_dtype": "bf16", "weights": "bf16", "links": 1, "bandwidth": {"dram": 52.5e9}}
    path = path_of(ask("llama3.1-8b", engine="vllm", **options), "dram")
    assert path.fetch_s == pytest.approx(10.2e-3 + 20_000 * 2.97e-6, rel=0.01)
    ideal = path_of(ask("llama3.1-8b", **options), "dram")
    assert ideal.fetch_s == pytest.approx(13.5e-6 + 2.62144e9 / 52.5e9, rel=1e-9)


def test_pages_are_copied_one_by_one(ask, path_of):
    # 20,000 tokens are 1,250 pages of 16: one copy each across layers, 80 per layer, 160 with K and V apart; a rank has
    # pages of its own, so one link that serves eight ranks makes eight times as many
    for layout, pages in (("cross-layer", 1_250), ("per-layer", 100_000), ("per-layer-kv", 200_000)):
        for tp in (1, 8):
            path = path_of(ask(layout=layout, page=16, links=1, tp=tp), "dram")
            assert path.copies == tp * pages
            assert path.fetch_s == pytest.approx(10e-6 + tp * pages * 3.5e-6 + 3.2768e9 / 55e9, rel=1e-9)


def test_layout_and_page_that_do_not_go_together_are_refused(ask):
    with pytest.raises(UserError, match="--page 16"):
        ask(layout="per-layer")
    with pytest.raises(UserError, match="--layout"):
        ask(page=16)


def test_tier_is_picked_by_its_name_its_beginning_or_its_medium(ask):
    for word in ("nvme-gen4", "nvme", "nv"):
        assert shown(ask(tiers=(word,))) == [("nvme-gen4", 1)]
    assert {path.tier for path in ask(tiers=("store", "dram")).paths} == {"remote-store", "dram-pcie5"}


def test_tier_that_the_node_lacks_is_added(ask):
    added = ask(tiers=("redis",))
    assert [path.tier for path in added.paths if path.tier not in (*PER_GPU, *PER_NODE)] == ["redis"]
    assert {path.tier for path in added.paths} == {*PER_GPU, *PER_NODE, "redis"}
    assert {path.tier for path in ask(tiers=("dram", "redis")).paths} == {"dram-pcie5", "redis"}


def test_tier_named_twice_is_answered_once(ask):
    assert shown(ask(tiers=("nvme", "nvme-gen4"))) == [("nvme-gen4", 1)]
    assert [tier for tier, _ in shown(ask(tiers=("redis", "redis")))].count("redis") == 1


def test_word_that_fits_two_tiers_is_refused_with_both(ask):
    with pytest.raises(UserError, match=r"'network'.*infiniband-400g.*ethernet-25g"):
        ask(tiers=("network",))


def test_unknown_tier_is_refused_with_the_nearest(ask):
    with pytest.raises(UserError, match=r"no tier 'nvme-gen44'; did you mean 'nvme-gen4'"):
        ask(tiers=("nvme-gen44",))


def test_bandwidth_and_latency_replace_those_of_the_profile(ask, path_of):
    path = path_of(ask(bandwidth={"nvme": 10e9}, latency={"nvme": 0.5}, links=1), "nvme")
    # 0.5 s and the 10 us of the DRAM that it passes through, then 3.2768 GB / 10 GB/s
    assert path.fetch_s == pytest.approx(0.50001 + 0.32768, rel=1e-9)
    assert (path.fetch_low_s, path.fetch_high_s) == pytest.approx((path.fetch_s, path.fetch_s), rel=1e-9)


def test_latency_of_all_tiers_can_be_set_at_once_and_one_of_them_apart(ask, path_of):
    result = ask(latency={"all": 0.0, "remote": 2.0}, links=1)
    assert path_of(result, "nvme").fetch_s == pytest.approx(3.2768 / 7, rel=1e-9)
    assert path_of(result, "remote").fetch_s == pytest.approx(2 + 3.2768 / 2, rel=1e-9)


@pytest.mark.parametrize("option", ["bandwidth", "latency"])
def test_value_for_a_tier_that_is_not_there_is_refused_with_those_that_are(ask, option):
    with pytest.raises(UserError, match=rf"--{option}.*'redis'.*dram-pcie5.*--tier"):
        ask(**{option: {"redis": 1.0}})


def test_disk_behind_a_slow_host_link_is_as_slow_as_the_link(ask, path_of):
    # read into DRAM and copied on at the same time: the slower of 7 GB/s and 4 GB/s over one GPU's link
    path = path_of(ask(tp=1, prefill=1e4, bandwidth={"dram": 4e9, "nvme": 7e9}, latency={"all": 0.0}), "nvme")
    assert path.fetch_s == pytest.approx(3.2768 / 4, rel=1e-4)
