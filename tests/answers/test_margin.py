"""`margin`: its numbers agree with one another, with arithmetic done by hand and with published sizes."""

from math import inf, nan

import pytest

import kvcalc
from kvcalc import Options, UserError

ASKED = {  # dense, latent, windowed, chunked, recurrent, compressed; every way to find a recompute time
    "the chapter": ("llama3-70b", "h100-pcie5", 20_000, {}),
    "one token": ("llama3.1-8b", "a100-pcie4", 1, {"tp": 1, "weights": "bf16"}),
    "latent, vllm": ("deepseek-v3", "h200-pcie5", 8_000, {"engine": "vllm"}),
    "more ranks than heads": ("qwen3-235b-a22b", "p5en.48xlarge", 131_072, {}),
    "windows": ("gemma3-27b", "gh200-nvlink-c2c", 300, {"kv_dtype": "bf16"}),
    "chunks": ("llama4-scout", "b200-pcie5", 60_000, {"engine": "trtllm"}),
    "experts in mxfp4": ("gpt-oss-120b", "b200-pcie5", 50_000, {"tp": 1}),
    "states": ("nemotron3-nano-30b-a3b", "h100-pcie5", 3_000, {"tp": 2, "prefill": "model"}),
    "compressed": ("deepseek-v4-pro", "b200-pcie5", 500_000, {"engine": "sglang"}),
    "stated rate": ("hunyuan-a13b", "l40s-pcie4", 777, {"prefill": 9_000.0, "min_margin": 5.0}),
    "tokens to follow": ("llama3.1-70b", "p5.48xlarge", 10_000, {"new": 5_000, "links": 3}),
}
every_answer = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)


def verdict(margin, least):
    return "recompute" if margin < 1 else "marginal" if margin < least else "restore"


@every_answer
def test_margin_is_recompute_over_fetch(ask, asked):
    model, node, tokens, options = asked
    result = ask(model, node, tokens, **options)
    assert result.paths
    for path in result.paths:
        assert path.margin == pytest.approx(result.recompute.seconds / path.fetch_s, rel=1e-12)
        assert path.margin_low == pytest.approx(result.recompute.low_s / path.fetch_high_s, rel=1e-12)
        assert path.margin_high == pytest.approx(result.recompute.high_s / path.fetch_low_s, rel=1e-12)


@every_answer
def test_verdicts_follow_from_the_margins_and_the_minimum(ask, asked):
    model, node, tokens, options = asked
    result = ask(model, node, tokens, **options)
    assert result.min_margin == options.get("min_margin", 3.0)
    for path in result.paths:
        ends = [verdict(margin, result.min_margin) for margin in (path.margin_low, path.margin, path.margin_high)]
        assert [path.verdict_low, path.verdict, path.verdict_high] == ends
        assert path.sure == (len(set(ends)) == 1)


@every_answer
def test_usual_values_lie_within_their_ranges(ask, asked):
    model, node, tokens, options = asked
    result = ask(model, node, tokens, **options)
    assert result.recompute.low_s <= result.recompute.seconds <= result.recompute.high_s
    assert result.recompute.tokens_per_s == pytest.approx(tokens / result.recompute.seconds, rel=1e-12)
    for path in result.paths:
        assert path.fetch_low_s <= path.fetch_s <= path.fetch_high_s


@every_answer
def test_groups_add_up_to_the_bytes_of_the_prefix(ask, asked):
    model, node, tokens, options = asked
    result = ask(model, node, tokens, **options)
    assert sum(group.bytes for group in result.kv_groups) == result.kv_bytes
    assert all(path.moved_bytes >= result.kv_bytes for path in result.paths)
    assert result.kv_bytes_per_rank * result.tp >= result.kv_bytes


@every_answer
def test_winner_changes_at_each_crossover_and_nowhere_near_it(ask, path_of, asked):
    model, node, tokens, options = asked
    for path in ask(model, node, tokens, **options).paths:
        wins = path.fetch_wins_short
        for crossover in path.crossovers:
            before, after = (
                path_of(ask(model, node, length, **options), path.tier, path.links)
                for length in (crossover - 1, crossover)
            )
            assert (before.margin > 1) == wins
            assert (after.margin > 1) != wins
            wins = not wins


@every_answer
def test_split_takes_no_longer_than_the_quicker_of_both(ask, asked):
    model, node, tokens, options = asked
    result = ask(model, node, tokens, **options)
    for path in result.paths:
        assert 0 < path.split_s <= min(path.fetch_s, result.recompute.seconds) * (1 + 1e-12)


SIZES = {  # bytes at 2-byte elements: the project's fact collection, read from public configurations (kv_truth.yaml)
    "llama3-70b": {4_096: 1_342_177_280, 131_072: 42_949_672_960},
    "deepseek-v3": {4_096: 287_834_112, 131_072: 9_210_691_584},
    "deepseek-v3.2": {32_768: 2_566_520_832},
    "gpt-oss-120b": {4_096: 155_713_536, 131_072: 4_836_556_800},
    "gemma3-27b": {32_768: 3_120_562_176},
    "llama4-scout": {131_072: 7_650_410_496},
    "qwen3-next-80b-a3b": {4_096: 140_181_504},
    "nemotron3-nano-30b-a3b": {32_768: 250_408_960},
}


@pytest.mark.parametrize("model", SIZES)
def test_bf16_bytes_are_those_of_the_public_configurations(ask, model):
    for tokens, size in SIZES[model].items():
        assert ask(model, tokens=tokens, kv_dtype="bf16", tp=1, prefill=1000.0).kv_bytes == size


def test_fp8_halves_a_dense_cache_and_keeps_the_index_keys_of_a_sparse_one(ask):
    # 80 layers x 8 heads x (128 + 128) x 1 B; 61 layers x (512 + 4 x 4 + 2 x 64 = 656 B, and 132 B of index key)
    assert ask("llama3-70b").kv_bytes_per_token == 163_840
    sparse = ask("deepseek-v3.2", tokens=1_000)
    assert sparse.kv_bytes_per_token == 61 * (656 + 132) == 48_068
    assert sparse.kv_stored == "fp8_ds_mla"


def test_per_rank_bytes_stop_shrinking_when_the_heads_run_out(ask):
    # Llama-3-70B has 8 KV heads, Qwen3-235B 4: at TP 8 two ranks hold one head. DeepSeek's latent is on every rank.
    whole = 32_768 * 327_680
    assert [ask("llama3-70b", tokens=32_768, kv_dtype="bf16", tp=tp).kv_bytes_per_rank for tp in (1, 2, 8)] == [
        whole,
        whole // 2,
        whole // 8,
    ]
    assert [
        ask("qwen3-235b-a22b", tokens=1, kv_dtype="bf16", tp=tp, prefill=1.0).kv_bytes_per_rank for tp in (4, 8)
    ] == [48_128, 48_128]
    assert {ask("deepseek-v3", tokens=1, kv_dtype="bf16", tp=tp).kv_bytes_per_rank for tp in (1, 4, 8)} == {70_272}


def test_break_even_is_the_bandwidth_at_which_the_margin_is_one(ask, path_of):
    result = ask()
    for rate, margin in ((result.break_even_bytes_per_s, 1), (result.break_even_min_margin_bytes_per_s, 3)):
        again = ask(bandwidth={"nvme": rate}, latency={"all": 0.0}, links=1)
        assert path_of(again, "nvme").margin == pytest.approx(margin, rel=1e-9)


def test_crossover_of_a_straight_line_with_latency_is_where_both_lines_meet(ask, path_of):
    # S/50,000 = 1 ms + S x 163,840/50e9, so S = 1 ms / (20 us - 3.2768 us) = 59.8: fetching wins from 60 tokens
    infiniband = path_of(ask(), "infiniband")
    assert infiniband.crossovers == (60,)
    assert not infiniband.fetch_wins_short


def test_path_that_never_or_always_wins_has_no_crossover(ask, path_of):
    # 163,840 B / 7 GB/s = 23.4 us a token against 20; over 55 GB/s 2.98 us and 13.5 us once, less than one token
    nvme, dram = (path_of(ask(), tier) for tier in ("nvme", "dram"))
    assert (nvme.crossovers, nvme.fetch_wins_short) == ((), False)
    assert (dram.crossovers, dram.fetch_wins_short) == ((), True)


def test_fetching_can_win_lose_and_win_again(ask, path_of):
    # a prefill has a floor and attention grows with the square: another fit, made by hand before this one, puts the two
    # ends near 225 and 187,000 tokens
    remote = path_of(ask(prefill="model"), "remote")
    short, long = remote.crossovers
    assert remote.fetch_wins_short
    assert short == pytest.approx(225, rel=0.25)
    assert long == pytest.approx(187_000, rel=0.25)


def test_split_of_two_straight_lines_shares_the_prefix_by_their_rates(ask, path_of):
    # 50,000 tok/s computed and 7e9/163,840 = 42,724.6 tok/s loaded: 20,000 / 92,724.6 = 215.7 ms
    nvme = path_of(ask(latency={"all": 0.0}, links=1), "nvme")
    assert nvme.split_s == pytest.approx(0.2157, rel=1e-3)


def test_higher_minimum_makes_the_same_margin_marginal(ask, path_of):
    assert path_of(ask(), "dram").verdict == "restore"  # 6.7x
    assert path_of(ask(min_margin=7.0), "dram").verdict == "marginal"
    assert path_of(ask(min_margin=1.0), "dram").verdict == "restore"


@pytest.mark.parametrize("least", [0.99, 0.0, -3.0, nan, inf, -inf])
def test_minimum_margin_below_one_or_not_a_number_is_refused(ask, least):
    with pytest.raises(UserError, match="margin"):
        ask(min_margin=least)


@pytest.mark.parametrize(("tokens", "options"), [(0, {}), (-1, {}), (10**9, {}), (1, {"new": -1}), (1, {"new": 10**9})])
def test_length_that_no_prompt_has_is_refused(ask, tokens, options):
    with pytest.raises(UserError, match="prompt"):
        ask(tokens=tokens, **options)


def test_several_nodes_are_answered_as_each_would_be_alone():
    from kvcalc.answers.margin import margins

    names = ["h100-pcie5", "b200-pcie5", "gh200-nvlink-c2c"]
    together, refused = margins(kvcalc.load_model("llama3-70b"), names, 5_000, Options(tp=1, prefill=20_000.0))
    assert not refused
    assert together == [kvcalc.margin("llama3-70b", name, 5_000, Options(tp=1, prefill=20_000.0)) for name in names]
