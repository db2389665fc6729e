"""`kvcalc margin` when it is asked for partial hits, traffic or another use: what it prints, and its exit codes."""

import pytest

CHAPTER = ("margin", "--model", "llama3-70b")


def test_page_closes_with_what_is_cheaper_in_the_chapters_order(run):
    out = run(*CHAPTER).out
    block = out.partition("### Cheaper things first\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line[:2] for line in block] == ["1.", "2.", "3.", "4."]
    for line, words in zip(
        block, ("FP8 KV", "Prefix-aware routing", "Is the cache ever full?", "What a tier adds"), strict=True
    ):
        assert words in line
    assert "185 in HBM instead of 92" in block[0]  # tests/answers/test_memory.py


def test_16_bit_kv_is_told_what_fp8_gives(run):
    assert "2x as many prefixes in every tier, 185 in HBM instead of 92" in run(*CHAPTER, "--kv-dtype", "bf16").out


def test_several_nodes_have_no_room_for_it(run):
    assert "Cheaper things first" not in run(*CHAPTER, "--hardware", "h100-pcie5", "--hardware", "h200-pcie5").out


def test_new_tokens_bring_the_time_to_the_first(run):
    out = run(*CHAPTER, "--new", "2000", "--tier", "dram", "--explain").out
    assert "### Time to first token, 20,000 tokens cached, 2,000 new" in out
    assert "13.5 us + max(59.6 ms, 40 ms) + min(59.6 ms, 40 ms) / 80 layers = 60.1 ms" in out


def test_why_active_sequences_stay_in_hbm(run):
    out = run(*CHAPTER, "--use", "active", "--batch", "32").out
    assert "65.2 tok/s instead of 4,919 tok/s from HBM" in out
    assert "every step reads all KV" in out


def test_each_use_explains_its_arithmetic(run):
    explained = {
        "preempt": "margin = 400 ms / (59.5 ms out + 59.6 ms in) = 3.4x",
        "active": "from HBM, 59.6 ms over the path) = 59.6 ms",
        "shared": "mean fetch = 15.4 ms / 2 + 66.5 ms x 1/2 = 40.9 ms",
    }
    for use, line in explained.items():
        assert line in run(*CHAPTER, "--use", use, "--explain").out


def test_load_is_shown_link_by_link(run):
    out = run(*CHAPTER, "--rate", "2/s", "--hit-rate", "60%", "--concurrency", "8").out
    assert "### 8 restores at once, on a node of 1 replica" in out
    assert "### Under load, 2 req/s, hit rate 60 %" in out
    assert "### Links under load" in out


def test_saturation_is_in_the_headline_the_warnings_and_the_exit_code(run):
    """A drive that restores well and can't keep up: at 2 req/s it is asked for 122 % of its time."""
    drive = (*CHAPTER, "--tier", "nvme", "--prefill", "7000", "--rate", "2/s", "--hit-rate", "99%")
    assert run(*drive[:7], "--fail-if", "marginal").code == 0
    ran = run(*drive, "--fail-if", "recompute", "--rate", "20/s")
    assert ran.code == 3
    assert "over capacity: " in ran.out.splitlines()[2]
    assert "its queue only grows" in ran.out.partition("### Warnings")[2]


def test_gpus_that_are_full_fail_a_pipeline(run):
    asked = (*CHAPTER, "--tier", "dram", "--fail-if", "recompute", "--hit-rate", "60%")
    assert run(*asked, "--rate", "2/s").code == 0
    assert run(*asked, "--rate", "20/s").code == 3


def test_use_of_a_full_path_fails_too_and_the_headline_names_its_tiers_alone(run):
    """One NIC each bears a swap at 2 req/s; at 200/s, nothing to compute, its ceiling is full."""
    swap = (*CHAPTER, "--use", "shared", "--tier", "dram", "--tier", "infiniband", "--hit-rate", "100%")
    assert run(*swap, "--rate", "2/s", "--fail-if", "recompute").code == 0
    ran = run(*swap, "--rate", "500/s", "--fail-if", "recompute")
    assert ran.code == 3
    assert ran.out.splitlines()[2].endswith("At 500 req/s, hit rate 100 % over capacity: infiniband-400g.")


def test_first_token_beside_traffic_is_of_one_request(run):
    title = "### Time to first token, 20,000 tokens cached, 500 new"
    assert f"{title}, one request alone" in run(*CHAPTER, "--new", "500", "--concurrency", "8").out
    assert f"{title}\n" in run(*CHAPTER, "--new", "500").out


def test_one_link_each_is_said_where_restores_run_side_by_side(run):
    out = run(*CHAPTER, "--concurrency", "8", "--tier", "dram").out
    assert "| dram-pcie5, 1 link each |" in out


def test_use_decides_what_a_pipeline_fails_on(run):
    """One NIC restores in a sixth of the time; out and in it is 2.9 times as fast."""
    nic = (*CHAPTER, "--tier", "infiniband", "--links", "1", "--fail-if", "marginal", "--format", "json")
    assert run(*nic).code == 0
    assert run(*nic, "--use", "preempt").code == 3


@pytest.mark.parametrize(("options", "words"), [
    (("--use", "cache"), "'cache'"),
    (("--batch", "0"), "--batch"),
    (("--replicas", "1"), "--replicas"),
    (("--concurrency", "0"), "--concurrency"),
    (("--batch", "4"), "--batch is for --use active"),
    (("--use", "active", "--replicas", "4"), "--replicas is for --use shared"),
    (("--use", "active", "--batch", "1000001"), "at most 1,000,000"),
    (("--use", "shared", "--replicas", "1000001"), "at most 1,000,000"),
    (("--concurrency", "1000001"), "at most 1,000,000"),
    (("--use", "active", "--fail-if", "recompute"), "decoding from a tier has no verdict"),
    (("--concurrency", "-3"), "--concurrency"),
    (("--rate", "2/s"), "--rate needs --hit-rate"),
    (("--rate", "2/s", "--hit-rate", "1.01"), "more than the whole"),
    (("--rate", "-2/s", "--hit-rate", "0.5"), "not negative"),
    (("--use", "shared", "--tier", "dram"), "no tier here leads to another node"),
])  # fmt: skip
def test_wrong_input_is_refused_in_one_line(refused, options, words):
    assert words in refused(*CHAPTER, *options)
