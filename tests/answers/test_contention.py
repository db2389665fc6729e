"""Requests that share links: utilisation, saturation, and restores that begin together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvcalc
from kvcalc import Options, UserError
from kvcalc.answers.margin_result import verdicts
from kvcalc.physics import crossover

LOAD = {"rate": 2.0, "hit_rate": 0.6}


def path_under_load(result, tier, links=1):
    (found,) = [each for each in result.traffic.paths if each.tier.startswith(tier) and each.links == links]
    return found


def station(path, name, direction):
    (found,) = [each for each in path.stations if each.name == name and each.direction == direction]
    return found


def test_nothing_is_said_of_traffic_that_was_not_asked_about(ask):
    assert ask().traffic is None


def test_drive_reads_and_writes_in_turn(ask):
    """By hand: 0.6 x 3.277 GB / 7 GB/s + 0.4 x 3.277 / 4 = 281 + 328 ms a request; two a second are 122 %."""
    path = path_under_load(ask(**LOAD), "nvme")
    link = station(path, "nvme-gen4, link", "both")
    assert link.request_s == pytest.approx(0.6 * 0.4681 + 0.4 * 0.8192, rel=1e-3)
    assert link.utilisation == pytest.approx(1.217, abs=0.001)
    assert link.saturation_per_s == pytest.approx(1.643, abs=0.001)
    assert (path.wait_s, path.loaded_fetch_s, path.loaded_margin) == (None, None, None)


def test_each_direction_of_a_link_is_a_server_and_the_hosts_dram_is_one_for_both(ask):
    """By hand, 8 links: 410 MB / 55 GB/s = 7.45 ms read; 3.277 GB / 213.6 GB/s = 15.3 ms under the ceiling."""
    path = path_under_load(ask(**LOAD), "dram", 8)
    assert station(path, "dram-pcie5, link", "read").request_s == pytest.approx(0.6 * 7.45e-3, rel=1e-3)
    assert station(path, "dram-pcie5, link", "write").request_s == pytest.approx(0.4 * 7.44e-3, rel=1e-3)
    assert station(path, "dram-pcie5, all links together", "both").request_s == pytest.approx(15.34e-3, rel=1e-3)


def test_one_link_each_lets_eight_restores_run_side_by_side(ask):
    path = path_under_load(ask(**LOAD), "dram", 1)
    assert station(path, "dram-pcie5, link", "read").servers == 8
    assert path.saturation_per_s == pytest.approx(1 / 15.34e-3, rel=1e-3)  # the ceiling is full first


def test_nics_have_a_ceiling_for_each_direction(ask):
    path = path_under_load(ask(**LOAD), "infiniband", 8)
    names = [(each.name, each.direction) for each in path.stations if "together" in each.name]
    assert names == [("infiniband-400g, all links together", way) for way in ("read", "write")]


def test_link_carries_less_in_both_directions_than_twice_one(ask):
    """vLLM on an H100, REALITY of PCIe 5.0: 83.4 GB/s added. By hand: 0.6 + 0.4 of 410 MB over it, 4.91 ms."""
    path = path_under_load(ask(**LOAD), "dram", 8)
    added = station(path, "dram-pcie5, link, both directions added", "both")
    assert added.request_s == pytest.approx(0.4096 / 83.4, rel=1e-3)


def test_opposing_traffic_takes_more_of_pcie_4_than_its_reads_alone(ask):
    """nvbandwidth issue 53, A100: 11 to 13 GB/s in beside 24 to 25 out, not 25 and 25."""
    path = path_under_load(ask(tiers=("dram-pcie4",), **LOAD), "dram-pcie4", 8)
    added = station(path, "dram-pcie4, link, both directions added", "both")
    assert added.request_s == pytest.approx(0.4096 / 36.5, rel=1e-3)


def test_bandwidth_of_another_link_has_no_limit_of_both_directions(ask):
    path = path_under_load(ask(bandwidth={"dram": 900e9}, **LOAD), "dram", 8)
    assert not any("added" in each.name for each in path.stations)
    texts = [each.text for each in ask(bandwidth={"dram": 900e9}, tiers=("dram",), **LOAD).assumptions]
    assert any("full duplex is assumed" in text and "83.4" not in text for text in texts)


def test_path_that_only_writes_too_much_has_no_loaded_time(ask):
    """By hand: 0.9 x 2/s x 3.277 GB at 3.125 GB/s or less are 189 %, while reads take 22 % of the other direction."""
    path = path_under_load(ask(rate=2.0, hit_rate=0.1), "ethernet")
    assert station(path, "ethernet-25g, link", "read").utilisation < 0.25
    assert path.saturated
    assert (path.wait_s, path.loaded_fetch_s, path.loaded_margin) == (None, None, None)
    assert path.loaded_verdict == "recompute"


def test_without_hits_nothing_is_fetched_under_load(ask):
    path = path_under_load(ask(rate=1.0, hit_rate=0.0), "dram")
    assert (path.wait_s, path.loaded_fetch_s, path.loaded_margin, path.loaded_verdict) == (None,) * 4


def test_gpus_that_are_nearly_full_make_no_path_better(ask):
    """At 2.49 req/s misses alone keep the GPUs 99.6 % busy: a recompute waits long, and a slow store is still slow."""
    full, alone = ask(rate=2.49, hit_rate=0.001), ask()
    assert path_under_load(full, "infiniband").loaded_margin > 100
    assert all(
        crossover.BEST_FIRST.index(loaded) >= crossover.BEST_FIRST.index(single)
        for loaded, single in zip(verdicts(full), verdicts(alone), strict=True)
    )


def test_recompute_waits_for_the_gpus_as_a_fetch_for_the_links(ask):
    """By hand, M/D/1: 0.8 misses/s of 400 ms keep the GPUs 32 % busy; 0.8 x 0.16/(2 x 0.68) = 94.1 ms of wait."""
    traffic = ask(**LOAD).traffic
    assert traffic.loaded_recompute_s == pytest.approx(0.4 + 0.0941, abs=1e-4)
    path = path_under_load(ask(**LOAD), "dram", 8)
    assert path.loaded_margin == pytest.approx(0.4941 / path.loaded_fetch_s, rel=1e-3)


def test_gpus_that_are_asked_too_much_leave_no_margin_and_a_warning(ask):
    result = ask(rate=20.0, hit_rate=0.6)
    assert result.traffic.overloaded
    assert path_under_load(result, "dram", 8).loaded_margin is None
    assert result.warnings[0].startswith("20 req/s, hit rate 60 %: prefill alone would keep the GPUs 320 % busy")


@pytest.mark.parametrize("hit_rate", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0, 30.0, 300.0])
def test_no_path_is_over_capacity_and_fine(ask, rate, hit_rate):
    for path in ask(rate=rate, hit_rate=hit_rate, new=100).traffic.paths:
        full = path.saturation_per_s is not None and rate >= path.saturation_per_s
        assert path.saturated == full
        assert not (full and (path.loaded_fetch_s or path.loaded_margin or path.loaded_verdict != "recompute"))


def test_link_of_vllm_saturates_as_measured(ask):
    """vLLM blog 2026-01-08, figure 2: Llama-3.1-8B, bf16, 512 tokens, all of them hits: 389,117 tok/s on one H100."""
    asked = {"tp": 1, "kv_dtype": "bf16", "weights": "bf16", "tiers": ("dram",), "rate": 1.0, "hit_rate": 1.0}
    path = path_under_load(ask(model="llama3.1-8b", tokens=512, **asked), "dram")
    link = station(path, "dram-pcie5, link", "read")
    assert link.saturation_per_s / 8 * 512 == pytest.approx(389_117, rel=0.10)


def test_prefill_saturates_by_what_is_left_to_compute(ask):
    """400 ms a miss, nothing a hit: 1/(0.4 x 0.4) = 6.25 requests/s, 2.5 without hits."""
    traffic = ask(**LOAD).traffic
    assert traffic.prefill_saturation_per_s == pytest.approx(6.25)
    assert traffic.prefill_saturation_without_per_s == pytest.approx(2.5)
    assert traffic.prefill_utilisation == pytest.approx(0.32)


def test_all_hits_leave_the_gpus_nothing_to_saturate(ask):
    traffic = ask(rate=2.0, hit_rate=1.0).traffic
    assert (traffic.prefill_utilisation, traffic.prefill_saturation_per_s) == (0, None)


def test_restores_that_begin_together_share_the_link_or_wait_for_it(ask):
    """By hand: 8 x 3.277 GB under 213.6 GB/s are 8 x 15.34 ms; from a drive 8 x 468 ms."""
    result = ask(concurrency=8)
    assert path_under_load(result, "dram").concurrent_fetch_s == pytest.approx(8 * 15.34e-3, rel=2e-3)
    assert path_under_load(result, "nvme").concurrent_fetch_s == pytest.approx(8 * 0.4681, rel=2e-3)
    assert result.traffic.concurrent_recompute_s == pytest.approx(8 * 0.4)


@given(
    one=st.integers(1, 64),
    more=st.integers(0, 64),
    tp=st.sampled_from([1, 2, 8]),
    model=st.sampled_from(["llama3.1-70b", "deepseek-v3"]),
)
def test_more_at_once_take_longer_and_one_takes_what_it_takes_alone(one, more, tp, model):
    alone, few, many = (
        kvcalc.margin(model, "h200-pcie5", 5_000, Options(tp=tp, concurrency=count, prefill=10_000.0))
        for count in (1, one, one + more)
    )
    for path, single, some, all_ in zip(
        alone.paths, alone.traffic.paths, few.traffic.paths, many.traffic.paths, strict=True
    ):
        assert single.concurrent_fetch_s == pytest.approx(path.fetch_s, rel=1e-9)
        assert path.fetch_s <= some.concurrent_fetch_s * (1 + 1e-12)
        assert some.concurrent_fetch_s <= all_.concurrent_fetch_s * (1 + 1e-12)


@given(rate=st.floats(0.01, 100), hit_rate=st.integers(0, 100), new=st.integers(0, 5_000))
def test_saturation_times_service_is_the_number_of_servers_at_every_station(rate, hit_rate, new):
    result = kvcalc.margin("llama3.1-70b", "h100-pcie5", 20_000, Options(rate=rate, hit_rate=hit_rate / 100, new=new))
    for path in result.traffic.paths:
        for each in path.stations:
            if each.request_s:
                assert each.saturation_per_s * each.request_s == pytest.approx(each.servers, rel=1e-9)
                assert each.utilisation == pytest.approx(rate / each.saturation_per_s, rel=1e-9)
            if path.wait_s is not None and each.direction != "write":
                assert each.utilisation < 1


@pytest.mark.parametrize(("options", "words"), [
    ({"rate": 2.0}, "--rate needs --hit-rate"),
    ({"hit_rate": 0.5}, "--hit-rate needs --rate"),
    ({"rate": 2.0, "hit_rate": 1.01}, "from 0 to 1"),
    ({"rate": 2.0, "hit_rate": -0.01}, "from 0 to 1"),
    ({"rate": -1.0, "hit_rate": 0.5}, "above zero"),
    ({"rate": 0.0, "hit_rate": 0.5}, "above zero"),
    ({"concurrency": 0}, "--concurrency"),
    ({"concurrency": 1.5}, "--concurrency"),
])  # fmt: skip
def test_traffic_that_is_none_is_refused(ask, options, words):
    with pytest.raises(UserError, match=words):
        ask(**options)
