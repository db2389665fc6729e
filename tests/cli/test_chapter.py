"""The chapter's worked example comes out of the command with its default options.

Each figure is printed in PidokuInfra, KV Offloading and Transfer: sections 2 (Llama-3-70B, FP8 KV, 8 H100), 4 and 7.
The chapter takes 160 KiB a token as 160 kB (2.4 %) and leaves out the latencies of its own tier table.
"""

import pytest

FETCHES = [  # tokens, tier, rate that the default node lacks, seconds as printed
    (1_000, "dram-pcie5", None, 2.9e-3),
    (1_000, "nvme-gen4", None, 23e-3),
    (1_000, "remote-store", None, 80e-3),
    (20_000, "dram-pcie5", None, 58e-3),
    (20_000, "nvme-gen4", None, 457e-3),
    (20_000, "remote-store", None, 1.600),
    (20_000, "infiniband-400g", None, 64e-3),
    (20_000, "ethernet-25g", None, 1.067),
    (20_000, "dram-pcie5", "900GB/s", 3.6e-3),
]
VERDICTS = [  # tokens, tier, rate, verdict in the chapter's words and here, how many times cheaper or dearer
    (1_000, "dram-pcie5", None, "restore", 20 / 2.9),  # 7x cheaper
    (1_000, "nvme-gen4", None, "recompute", 20 / 23),  # slower than recompute
    (1_000, "remote-store", None, "recompute", 20 / 80),  # much slower
    (20_000, "dram-pcie5", None, "restore", 400 / 58),  # 7x cheaper
    (20_000, "nvme-gen4", None, "recompute", 400 / 457),  # marginally slower
    (20_000, "remote-store", None, "recompute", 400 / 1600),  # much slower
    (20_000, "infiniband-400g", None, "restore", 400 / 64),  # viable
    (20_000, "ethernet-25g", None, "recompute", 400 / 1067),  # not viable
    (20_000, "dram-pcie5", "900GB/s", "restore", 111),  # trivially worthwhile
]


def over_one_link(answer, tier):
    (path,) = [path for path in answer["paths"] if path["tier"] == tier and path["links"] == 1]
    return path


def asked(margin, tokens, tier, rate, *options):
    given = ["--bandwidth", f"{tier}={rate}"] if rate else []
    return over_one_link(margin("--seq", tokens, *given, *options), tier)


@pytest.mark.parametrize(("tokens", "seconds"), [(1_000, 0.020), (20_000, 0.400)])
def test_recompute_times_are_the_chapters(margin, tokens, seconds):
    recompute = margin("--seq", tokens)["recompute"]
    assert recompute["seconds"] == pytest.approx(seconds, rel=1e-9)
    assert recompute["tokens_per_s"] == pytest.approx(50_000)


@pytest.mark.parametrize(("tokens", "size"), [(1_000, 160e6), (20_000, 3.2e9)])
def test_sizes_are_the_chapters(margin, tokens, size):
    answer = margin("--seq", tokens)
    assert answer["kv_bytes_per_token"] == 160 * 1024
    assert answer["kv_bytes"] == 160 * 1024 * tokens == pytest.approx(size, rel=0.03)


@pytest.mark.parametrize(("tokens", "tier", "rate", "seconds"), FETCHES)
def test_fetch_times_hold_within_five_percent(margin, tokens, tier, rate, seconds):
    assert asked(margin, tokens, tier, rate)["fetch_s"] == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize(("tokens", "tier", "rate", "seconds"), FETCHES)
def test_without_latency_fetch_times_hold_within_three_percent(margin, tokens, tier, rate, seconds):
    path = asked(margin, tokens, tier, rate, "--latency", "all=0", "--links", "1")
    assert path["fetch_s"] == pytest.approx(seconds, rel=0.03)


@pytest.mark.parametrize(("tokens", "tier", "rate", "verdict", "times"), VERDICTS)
def test_verdicts_are_the_chapters(margin, tokens, tier, rate, verdict, times):
    path = asked(margin, tokens, tier, rate)
    assert path["verdict"] == verdict
    assert path["margin"] == pytest.approx(times, rel=0.05)


def test_verdicts_do_not_need_the_default_spelled_out(run):
    assert run("margin", "--model", "llama3-70b") == run(
        "margin", "--model", "llama3-70b", "--seq", "20000", "--hardware", "h100-pcie5", "--kv-dtype", "fp8",
        "--weights", "fp8", "--tp", "8", "--engine", "ideal", "--min-margin", "3",
    )  # fmt: skip


def test_grace_hopper_is_sixteen_times_faster(margin):
    pcie = asked(margin, 20_000, "dram-pcie5", None, "--latency", "all=0")
    c2c = asked(margin, 20_000, "dram-pcie5", "900GB/s", "--latency", "all=0")
    assert pcie["fetch_s"] / c2c["fetch_s"] == pytest.approx(16, rel=0.05)
