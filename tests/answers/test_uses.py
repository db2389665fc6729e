"""The uses of a tier: preemption, decoding from it, sharing among replicas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvcalc
from kvcalc import Options, UserError
from kvcalc.answers.margin_result import verdicts


def use_of(result, tier, links=1):
    (found,) = [use for use in result.uses if use.tier.startswith(tier) and use.links == links]
    return found


def test_prefix_cache_is_the_answer_itself(ask):
    assert (ask().use, ask().uses) == ("prefix", ())


def test_preemption_pays_for_both_directions(ask):
    """By hand: 3.277 GB at 55 GB/s in and 55.06 out: 59.6 + 59.5 ms; 400 ms / 119.1 ms = 3.36."""
    use = use_of(ask(use="preempt"), "dram")
    assert use.out_s == pytest.approx(3.2768 / 55.06, rel=1e-3)
    assert use.in_s == pytest.approx(59.6e-3, rel=1e-3)
    assert use.margin == pytest.approx(3.36, abs=0.01)
    assert use.verdict == "restore"


def test_margin_of_preemption_is_thin_on_a_slower_link(ask):
    """The chapter, section 3: "the margin is thin". PCIe 4.0, whose 25 GB/s both ways halve it below three."""
    use = use_of(ask(use="preempt", tiers=("dram-pcie4",)), "dram-pcie4")
    assert 1 < use.margin < 3
    assert use.verdict == "marginal"


def test_tier_whose_writing_is_not_known_has_no_verdict(ask):
    use = use_of(ask(use="preempt"), "remote-store")
    assert (use.out_s, use.margin, use.verdict) == (None, None, None)
    assert use.margin_in == pytest.approx(0.244, abs=0.001)


def test_engine_takes_as_long_for_a_copy_out_as_in(ask):
    """vLLM: 0.5 us a copy and 0.44 us a token; by hand 1,250 blocks of 2.6 MB on 8 ranks, one link: 10,000 copies."""
    use = use_of(ask(use="preempt", engine="vllm"), "dram")
    assert use.out_s == pytest.approx(10_000 * 0.5e-6 + 20_000 * 0.44e-6 + 3.2768 / 55.06, rel=1e-3)


def test_replicated_cache_is_written_once_where_the_host_keeps_one(ask):
    """DeepSeek's latent cache is alike on 8 ranks; vLLM's host keeps one, HiCache's one for each.

    By hand, vLLM: 61 layers x 1,250 pages at 0.5 us, 20,000 tokens at 0.44 us, 703 MB at 55.06 GB/s.
    """
    asked = {"model": "deepseek-v3", "hardware": "h200-pcie5", "use": "preempt", "tiers": ("dram",), "links": 1}
    vllm, sglang = (ask(engine=engine, **asked) for engine in ("vllm", "sglang"))
    size = vllm.kv_bytes / 55.06e9
    assert use_of(vllm, "dram").out_s == pytest.approx(61 * 1250 * 0.5e-6 + 20_000 * 0.44e-6 + size, rel=1e-3)
    assert use_of(sglang, "dram").out_s > 8 * size
    for result, words in ((vllm, "written once"), (sglang, "written by each of them")):
        assert any(words in each.text for each in result.assumptions)


def test_drive_is_slower_out_than_in(ask):
    """4 GB/s written against 7 read: 819 and 468 ms."""
    use = use_of(ask(use="preempt"), "nvme")
    assert (use.out_s, use.in_s) == (pytest.approx(0.819, rel=1e-3), pytest.approx(0.468, rel=1e-3))


def test_active_sequence_reads_its_cache_each_step(ask):
    """By hand: 3.277 GB over PCIe are 59.6 ms a token, 17 tok/s; HBM reads 69.5 + 3.3 GB at 8 x 3.35 TB/s: 2.7 ms."""
    use = use_of(ask(use="active"), "dram")
    assert use.read_bytes == 3_276_800_000
    assert use.step_s == pytest.approx(59.6e-3, rel=1e-3)
    assert use.tokens_per_s == pytest.approx(16.8, abs=0.05)
    assert use.hbm_step_s == pytest.approx(72.77 / 26_800, rel=5e-3)


def test_path_as_fast_as_needed_is_not_noticed(ask):
    """The bandwidth that the answer asks for, put back in, leaves the step as it is in HBM, but for 3.5 us a copy."""
    asked = {"use": "active", "batch": 8, "tiers": ("dram",), "links": 1, "latency": {"dram": 0.0}}
    needed = ask(**asked).uses[0].needed_bytes_per_s
    (use,) = ask(**asked, bandwidth={"dram": needed}).uses
    assert use.load_s - use.hbm_step_s == pytest.approx(3.5e-6, rel=1e-3)
    assert use.slowdown == pytest.approx(1, abs=2e-3)


@given(batch=st.integers(1, 300), more=st.integers(0, 300), tokens=st.integers(1, 100_000))
def test_tier_is_never_quicker_than_hbm_and_a_larger_batch_never_slower_in_all(batch, more, tokens):
    few, many = (
        kvcalc.margin("llama3.1-70b", "h100-pcie5", tokens, Options(use="active", batch=count)).uses
        for count in (batch, batch + more)
    )
    for one, other in zip(few, many, strict=True):
        assert one.slowdown >= 1
        assert one.tokens_per_s <= other.tokens_per_s * (1 + 1e-9)


def test_one_copy_for_four_replicas(ask):
    """By hand, one link there: (15.35 + 3 x 66.5)/4 = 53.7 ms; 400/53.7 = 7.4x; (400 - 15.35)/(400 - 53.7) = 1.11."""
    use = use_of(ask(use="shared", replicas=4), "infiniband")
    assert use.pooled_s == pytest.approx(53.7e-3, rel=2e-3)
    assert use.margin == pytest.approx(7.4, abs=0.05)
    assert use.hit_rate_ratio == pytest.approx(1.11, abs=0.005)
    assert use.capacity_ratio == 4


def test_chapters_viability_of_a_shared_store(ask):
    """Section 7: 400G InfiniBand viable, 25G Ethernet not; a store has no part of its own on any node."""
    result = ask(use="shared", replicas=100)
    assert use_of(result, "infiniband").verdict == "restore"
    assert use_of(result, "ethernet").verdict == "recompute"
    store = use_of(result, "remote-store")
    assert (store.pooled_s, store.capacity_ratio, store.hit_rate_ratio) == (store.remote_s, None, None)


def test_verdicts_are_those_of_the_use(ask):
    assert verdicts(ask()) == ("restore", "recompute", "recompute", "restore", "recompute")
    assert verdicts(ask(use="preempt")) == ("restore", "recompute", None, "restore", "recompute")
    assert verdicts(ask(use="shared", replicas=100)) == ("recompute", "restore", "recompute")
    assert verdicts(ask(use="active")) == ()


@pytest.mark.parametrize(("options", "words"), [
    ({"use": "shared", "tiers": ("dram",)}, "no tier here leads to another node"),
    ({"use": "shared", "replicas": 1}, "sharing needs two"),
    ({"use": "cache"}, "--use: 'cache' is none of prefix, preempt, active, shared"),
    ({"use": "active", "batch": 0}, "--batch"),
])  # fmt: skip
def test_use_that_nothing_serves_is_refused(ask, options, words):
    with pytest.raises(UserError, match=words):
        ask(**options)
