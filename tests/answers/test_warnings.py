"""Warnings stand where one of the mistakes of the chapter's section 9 is about to be made, and nowhere else."""

import pytest


def said(result, *words):
    """The warnings that have all of these words."""
    return [warning for warning in result.warnings if all(word in warning for word in words)]


def test_offloading_to_a_disk_for_speed_is_warned_of(ask):
    (warning,) = said(ask(), "nvme-gen4: offloading")
    assert "not speed" in warning
    assert "1.2x" in warning  # 468 ms against 400
    assert not said(ask(prefill=20_000.0), "nvme-gen4")  # 1 s of recomputing: the disk wins


def test_slow_store_and_slow_network_are_warned_of_and_fast_ones_are_not(ask):
    result = ask()
    (store,) = said(result, "remote-store")
    (network,) = said(result, "ethernet-25g")
    assert "not speed" in store
    assert "not speed" in network
    assert not said(result, "infiniband-400g")
    assert not said(result, "dram-pcie5")


def test_slow_tier_that_wins_over_all_of_its_links_is_not_warned_of(ask):
    # 3.28 GB at 5 GB/s is 655 ms over one link, 82 over eight, against 400 of recomputing
    assert not said(ask(bandwidth={"infiniband": 5e9}), "infiniband-400g")
    assert said(ask(bandwidth={"infiniband": 5e9}, links=1), "infiniband-400g", "not speed")


@pytest.mark.parametrize(("node", "rate", "shown"), [
    ("h100-pcie5", 900e9, "900 GB/s"),  # the chapter's NVLink-C2C, both directions added, on a link of 63
    ("h100-pcie5", 128e9, "128 GB/s"),  # PCIe 5.0 x16, both directions added
    ("gh200-nvlink-c2c", 900e9, "900 GB/s"),
    ("a100-pcie4", 64e9, "64 GB/s"),  # PCIe 4.0 x16, both directions added
])  # fmt: skip
def test_sum_of_both_directions_taken_for_one_is_warned_of(ask, node, rate, shown):
    (warning,) = said(ask(hardware=node, bandwidth={"dram": rate}, prefill=50_000.0, tp=1), "both directions")
    assert shown in warning


def test_bandwidth_that_one_direction_carries_is_not_warned_of(ask):
    for rate in (50e9, 55e9, 63e9):  # PCIe 5.0 x16 carries 63.02 GB/s one way
        assert not said(ask(bandwidth={"dram": rate}), "direction")
    assert not said(ask(), "direction")


def test_rate_of_buffers_that_are_not_pinned_is_warned_of(ask):
    for rate in (10e9, 27.5e9):  # the chapter: 2x slower without pinning, half of 55 GB/s
        (warning,) = said(ask(bandwidth={"dram": rate}), "pinned")
        assert "dram-pcie5" in warning
    assert not said(ask(bandwidth={"dram": 50e9}), "pinned")
    assert not said(ask(bandwidth={"nvme": 10e9}), "pinned")


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_sixteen_bit_kv_where_fp8_would_do_is_warned_of(ask, dtype):
    (warning,) = said(ask(kv_dtype=dtype), "FP8")
    assert "3.28 GB" in warning  # 163,840 B x 20,000
    assert "6.55 GB" in warning
    assert "2x" in warning


@pytest.mark.parametrize("dtype", ["fp8", "int8", "nvfp4", "q8_0"])
def test_narrow_kv_is_not_warned_of(ask, dtype):
    assert not said(ask(kv_dtype=dtype), "16-bit")


def test_prompt_past_the_context_is_a_warning_and_not_an_error(ask):
    (warning,) = said(ask("llama3.1-8b", tokens=131_073, tp=1), "131,072")
    assert "131,073" in warning
    assert not said(ask("llama3.1-8b", tokens=131_072, tp=1), "131,072")
    assert said(ask("llama3.1-8b", tokens=131_000, new=73, tp=1), "131,073")  # what follows counts too


def test_llama3_past_its_context_gets_a_note_that_names_a_longer_namesake_and_no_warning(ask):
    result = ask()
    assert not said(result, "8,192")
    assert not said(result, "context")
    (note,) = [each.text for each in result.assumptions if "8,192" in each.text]
    assert "20,000" in note
    assert "llama3.1-70b" in note
    assert "llama3.3-70b" in note


def test_llama3_past_the_context_of_its_namesakes_too_is_warned_of(ask):
    assert said(ask(tokens=200_000), "200,000", "8,192")
    assert not [each for each in ask(tokens=8_192).assumptions if "8,192" in each.text]


@pytest.mark.parametrize(("model", "options", "fits"), [
    ("llama3.1-405b", {"weights": "bf16"}, False),  # 405e9 x 2 B = 810 GB, in 8 x 80 GB
    ("llama3.1-405b", {"weights": "fp8"}, True),  # 405 GB
    ("llama3.1-405b", {"weights": "fp8", "tp": 4}, False),  # 405 GB in 4 x 80 GB
    ("llama3-70b", {"weights": "bf16", "tp": 1}, False),  # 141 GB in 80 GB
    ("llama3-70b", {"weights": "fp8", "tp": 1}, True),  # 70.6 GB
    ("deepseek-v3", {"weights": "bf16"}, False),  # 671e9 x 2 B = 1.34 TB in 640 GB
    ("gpt-oss-120b", {"tp": 1}, True),  # 117e9 weights, mostly at 0.53 B: about 63 GB
])  # fmt: skip
def test_weights_that_do_not_fit_are_warned_of(ask, model, options, fits):
    result = ask(model, prefill=10_000.0, **options)
    assert bool(said(result, "don't fit")) != fits
