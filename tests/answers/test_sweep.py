"""`sweep`: every point is what `margin` answers there, by arrays and one by one."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kvcalc
from kvcalc import Options, UserError
from kvcalc.answers import batch
from kvcalc.answers.axes import LARGEST, MOST_SETTLED, SMALL, Axes
from kvcalc.answers.sweep import sweep
from kvcalc.answers.sweep_result import KEYS

GB = 1e9
CHAPTER = Axes(("llama3-70b",), ("h100-pcie5",), (1000, 20_000))
MIXED = Axes(
    model=("llama3-70b", "deepseek-v3.2", "gpt-oss-120b"),
    hardware=("h100-pcie5", "h200-pcie5"),
    tokens=(1, 1000, 20_000, 131_072),
    tp=(2, 8),
    kv_dtype=("fp8", "bf16"),
    prefill=(None, "model", 28_000.0, 50_000.0),
    concurrency=(1, 3),
    bandwidth=(1 * GB, 400 * GB, 60 * GB),
    bandwidth_tier="dram",
)


@pytest.fixture
def without_numpy(monkeypatch):
    monkeypatch.setattr(batch, "numpy_is_there", lambda: False)


def rows(result):
    return [{key: value for key, value in row.items() if not isinstance(value, float)} for row in result.points]


def numbers(result):
    return [[value for value in row.values() if isinstance(value, float)] for row in result.points]


@pytest.mark.parametrize("options", [
    Options(), Options(new=500), Options(engine="vllm"), Options(engine="sglang", tiers=("dram", "nvme-gen5")),
])  # fmt: skip
def test_arrays_and_single_points_agree(options, monkeypatch):
    at_once = sweep(MIXED, options)
    monkeypatch.setattr(batch, "numpy_is_there", lambda: False)
    one_by_one = sweep(MIXED, options)
    assert len(at_once.points) > 1000
    assert rows(at_once) == rows(one_by_one)
    for found, expected in zip(numbers(at_once), numbers(one_by_one), strict=True):
        assert found == pytest.approx(expected, rel=1e-12)


@settings(max_examples=25)
@given(
    model=st.sampled_from(["llama3-70b", "deepseek-v3", "gpt-oss-120b", "qwen3-next-80b-a3b"]),
    hardware=st.sampled_from(["h100-pcie5", "b200-pcie5", "gh200-nvlink-c2c"]),
    tokens=st.integers(1, 10_000_000),
    rate=st.floats(0.1 * GB, 1000 * GB),
    options=st.builds(Options, new=st.sampled_from([0, 100]), engine=st.sampled_from(["ideal", "vllm", "lmcache"])),
)
def test_a_point_is_what_margin_answers_there(model, hardware, tokens, rate, options):
    axes = Axes((model,), (hardware,), (tokens, 1000), bandwidth=(7 * GB, rate), bandwidth_tier="dram")
    expected = kvcalc.margin(model, hardware, tokens, replace(options, bandwidth={"dram": rate}))
    found = [
        row
        for row in sweep(axes, options).points
        if row["tokens"] == tokens and (row["link_bytes_per_s"] == rate or not row["tier"].startswith("dram"))
    ]
    for path in expected.paths:
        row = [each for each in found if (each["tier"], each["links"]) == (path.tier, path.links)][-1]
        keys = ("fetch_s", "margin", "margin_low", "margin_high")
        assert [row[key] for key in keys] == pytest.approx([getattr(path, key) for key in keys], rel=1e-12)
        assert row["recompute_s"] == pytest.approx(expected.recompute.seconds, rel=1e-12)
        assert (row["verdict"], row["sure"], row["kv_bytes"]) == (path.verdict, path.sure, expected.kv_bytes)


@settings(max_examples=40)
@given(
    model=st.sampled_from(["llama3-70b", "llama3.1-8b", "qwen3-32b", "mixtral-8x7b", "gpt-oss-120b"]),
    hardware=st.sampled_from(["h100-pcie5", "h200-pcie5", "b200-pcie5", "p5en.48xlarge"]),
    tokens=st.lists(st.integers(1, 1_000_000), min_size=1, max_size=4, unique=True),
    page=st.sampled_from([1, 16, 64]),
    layout=st.sampled_from(["contiguous", "cross-layer", "per-layer"]),
)
def test_more_links_never_raise_a_time_of_sharded_kv(model, hardware, tokens, page, layout):
    pages = (None,) if layout == "contiguous" else (page,)
    axes = Axes((model,), (hardware,), tuple(tokens), tp=(8,), links=(1, 2, 4, 8), page=pages)
    by_links = {}
    for row in sweep(axes, Options(layout=layout)).points:
        by_links.setdefault((row["tier"], row["tokens"]), []).append(row["fetch_s"])
    for times in by_links.values():
        assert times == sorted(times, reverse=True)


def test_new_tokens_are_computed_after_the_prefix_is_there():
    """The chapter's rate knows no attention: 500 tokens take 10 ms, whatever is cached."""
    for row in sweep(CHAPTER, Options(new=500)).points:
        assert row["rest_s"] == pytest.approx(0.01)
    assert {row["rest_s"] for row in sweep(CHAPTER).points} == {0.0}


def test_the_chapter_comes_out_at_its_two_lengths():
    """Section 2: 20 and 400 ms to recompute; 160 KiB a token over 55 GB/s and 10 us, one copy of 3.5 us."""
    found = [row for row in sweep(CHAPTER, Options(tiers=("dram",), links=1)).points if row["links"] == 1]
    assert [row["recompute_s"] for row in found] == pytest.approx([0.02, 0.4])
    assert [row["fetch_s"] for row in found] == pytest.approx(
        [163_840 * tokens / 55e9 + 13.5e-6 for tokens in (1000, 20_000)]
    )
    assert {row["verdict"] for row in found} == {"restore"}


@pytest.mark.parametrize("concurrency", [1, 3, 8])
@pytest.mark.parametrize(("model", "tp"), [("llama3-70b", 4), ("deepseek-v3", 8)])
def test_requests_that_begin_together_take_what_margin_says(model, tp, concurrency):
    axes = Axes((model,), ("h200-pcie5",), (20_000,), tp=(tp,), concurrency=(concurrency,))
    expected = kvcalc.margin(model, "h200-pcie5", 20_000, Options(tp=tp, concurrency=concurrency)).traffic
    found = list(sweep(axes).points)
    assert [row["fetch_s"] for row in found] == pytest.approx([each.concurrent_fetch_s for each in expected.paths])
    assert [row["margin"] for row in found] == pytest.approx([each.concurrent_margin for each in expected.paths])
    assert [row["recompute_s"] for row in found] == pytest.approx([expected.concurrent_recompute_s] * len(found))


def test_three_restores_from_one_drive_take_three_times_as_long_latency_apart():
    """100 us of the drive and 10 us of the DRAM behind which it lies; prefills of the whole node take turns too."""
    axes = replace(CHAPTER, tokens=(20_000,), links=(1,), concurrency=(1, 3))
    alone, three = sweep(axes, Options(tiers=("nvme",))).points
    assert three["fetch_s"] - 110e-6 == pytest.approx(3 * (alone["fetch_s"] - 110e-6))
    assert three["recompute_s"] == pytest.approx(3 * alone["recompute_s"])


def test_combinations_that_cannot_be_answered_are_left_out_and_named():
    result = sweep(replace(CHAPTER, tp=(8, 16), hardware=("h100-pcie5", "p6-b200.48xlarge")))
    assert {each.combination for each in result.left_out} == {
        "h100-pcie5, TP 16",
        "p6-b200.48xlarge, TP 16",
    }
    assert all("has 8 GPUs" in each.why for each in result.left_out)
    assert {row["tp"] for row in result.points} == {8}


def test_a_sweep_of_which_nothing_can_be_answered_is_refused():
    with pytest.raises(UserError, match="has 8 GPUs, not 16"):
        sweep(replace(CHAPTER, tp=(16,)))


def test_a_grid_too_large_is_refused_with_its_size():
    axes = replace(CHAPTER, tokens=tuple(range(1, 10_001)), bandwidth=tuple(map(float, range(1, 1002))))
    assert axes.size > LARGEST
    with pytest.raises(UserError, match=r"a grid of 10,010,000 points is too large.* 10,000,000; take fewer steps"):
        sweep(axes)


def test_rows_are_counted_with_the_paths():
    with pytest.raises(UserError, match="a grid of 14,000,000 points"):
        sweep(replace(CHAPTER, tokens=tuple(range(1, 2_000_001))))


@pytest.mark.usefixtures("without_numpy")
def test_without_numpy_a_small_grid_runs_and_a_larger_one_names_the_extra():
    assert len(sweep(CHAPTER).points) == 14
    with pytest.raises(UserError, match=rf"{SMALL:,}.*pip install 'kvcalc\[sweep\]'"):
        sweep(replace(CHAPTER, tokens=tuple(range(1, SMALL + 2))))


def test_rows_hold_every_key_and_plain_numbers():
    row = next(iter(sweep(CHAPTER).points))
    assert tuple(row) == KEYS
    assert {type(value) for value in row.values()} <= {str, int, float, bool, type(None)}


def test_a_bandwidth_that_is_swept_is_no_assumption():
    result = sweep(replace(CHAPTER, bandwidth=(1 * GB, 2 * GB), bandwidth_tier="dram"))
    said = [each.text for each in result.assumptions]
    assert not [text for text in said if text.startswith("dram-pcie5: ")]
    assert [text for text in said if text.startswith("nvme-gen4: ")]


def test_assumptions_of_some_combinations_name_them():
    result = sweep(replace(CHAPTER, hardware=("h100-pcie5", "h200-pcie5")))
    told = [each.text for each in result.assumptions if "prefill" in each.text or "profile" in each.text]
    assert told[0].startswith("h100-pcie5: Recompute time: rate in the node profile")


def test_new_tokens_are_an_axis_with_the_first_token_with_and_without_the_tier():
    """The chapter's rate: 1,000 new tokens take 20 ms after the prefix, whose 20,000 take 400 ms."""
    found = list(sweep(replace(CHAPTER, tokens=(20_000,), links=(1,), new=(0, 1000)), Options(tiers=("dram",))).points)
    assert [row["new_tokens"] for row in found] == [0, 1000]
    assert [row["first_token_without_s"] for row in found] == pytest.approx([0.4, 0.42])
    assert [row["first_token_s"] - row["fetch_s"] for row in found] == pytest.approx([0.0, 0.02])


def test_each_of_the_new_tokens_is_what_margin_answers_with_them():
    axes = Axes(("deepseek-v3.2",), ("h200-pcie5",), (20_000,), new=(100, 5000))
    for row in sweep(axes).points:
        expected = kvcalc.margin("deepseek-v3.2", "h200-pcie5", 20_000, Options(new=row["new_tokens"]))
        paths = {(path.tier, path.links): path.margin for path in expected.paths}
        assert row["margin"] == pytest.approx(paths[row["tier"], row["links"]], rel=1e-12)


def test_more_combinations_than_are_settled_in_a_minute_or_so_are_refused_at_once():
    axes = replace(CHAPTER, concurrency=tuple(range(1, 151)), links=tuple(range(1, 151)))
    assert axes.settled == 22_500 > MOST_SETTLED
    with pytest.raises(UserError, match=r"22,500 combinations are too many, the most is 20,000: .* take fewer values"):
        sweep(axes)


@pytest.mark.parametrize(("changed", "settled"), [
    ({"prefill": (1e4, 2e4, 3e4)}, 1), ({"prefill": (None, 1e4, 2e4)}, 2), ({"tp": (1, 2, 4)}, 3),
    ({"tokens": (1, 2, 3), "bandwidth": (1e9, 2e9)}, 1), ({"new": (0, 1), "kv_dtype": ("fp8", "bf16")}, 4),
])  # fmt: skip
def test_lengths_and_rates_are_not_settled_one_by_one(changed, settled):
    axes = replace(CHAPTER, **changed)
    assert axes.settled == settled == len(list(axes.combinations()))


def test_progress_is_told_for_every_combination():
    told = []
    sweep(replace(CHAPTER, tp=(2, 4, 8)), settled_one=lambda done, of: told.append((done, of)))
    assert told == [(0, 3), (1, 3), (2, 3)]


def test_recompute_times_of_different_bases_are_a_warning():
    (said,) = sweep(replace(CHAPTER, tp=(4, 8))).warnings
    assert "measured at TP 4; textbook at TP 8; --prefill model puts all on one" in said
    assert sweep(replace(CHAPTER, tp=(4, 8)), Options(prefill="model")).warnings == ()
    assert sweep(replace(CHAPTER, prefill=("model", "textbook"))).warnings == ()


def test_a_grid_of_which_nothing_can_be_answered_names_a_combination():
    with pytest.raises(UserError, match="none of the 2 combinations can be answered; TP 16: 'h100-pcie5' has 8 GPUs"):
        sweep(replace(CHAPTER, tp=(16, 32)))
