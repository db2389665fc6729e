"""How long a restore takes: bytes and copies over links that share a ceiling."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

import kvcalc
from kvcalc.physics.transfer import Hop, Load, Loads, Overhead, Pages, Part, Route, Shared
from kvcalc.profiles import catalog
from kvcalc.profiles.hardware import Direction
from kvcalc.profiles.model import Model

ModelOf = Callable[..., Model]

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in yaml.load(
        (Path(__file__).resolve().parents[1] / "data" / "measured_cases.yaml").read_text(), Loader=yaml.CSafeLoader
    )["cases"]
}
KIB = 1024

NODE = Hop(bandwidth=55e9, per_copy=0.0, ceiling=None, links=8, broadcast=True)


def one_copy(size: int, shards: int = 1) -> Load:
    return Load(1000, (Part(size, 1, shards),), contiguous=True, ranks=8)


def paged(size: int, copies: int, shards: int = 1) -> Load:
    return Load(1000, (Part(size, copies, shards),), contiguous=False, ranks=8)


def over(hop: Hop, latency: float = 0.0) -> Route:
    return Route((hop,), latency, Overhead())


# Published figures


def copied(direction: Direction, size: int) -> float:
    """Bytes/s of 1,000 copies of `size` bytes, one after another over one link."""
    assert direction.per_copy is not None
    hop = Hop(direction.bandwidth.typical.value, direction.per_copy.value, None, links=1, broadcast=True)
    return 1000 * size / over(hop).seconds(paged(1000 * size, 1000))


@pytest.mark.parametrize("kib", [4, 8, 16, 32, 64, 128, 512, 1024, 2048, 16384])
def test_copies_to_an_h100_follow_the_measured_curve(kib: int):
    """Inside vLLM's New KV Offloading Connector (2026-01-08), figure 4: cudaMemcpyAsync, 1,000 blocks; within 10 %."""
    found = copied(catalog.tier("dram-pcie5").read, kib * KIB)
    assert found / 1e9 == pytest.approx(CASES[f"vllm-h100-dma-h2d-{kib}k"]["value"], rel=0.10)


@pytest.mark.parametrize("kib", [8, 32, 128, 512, 2048, 16384])
def test_copies_from_an_h100_follow_the_measured_curve(kib: int):
    """The same figure, device to host; within 15 %."""
    write = catalog.tier("dram-pcie5").write
    assert write is not None
    assert copied(write, kib * KIB) / 1e9 == pytest.approx(CASES[f"vllm-h100-dma-d2h-{kib}k"]["value"], rel=0.15)


def from_dram(model: Model | str, tokens: int) -> float:
    """Seconds by which vLLM restores a prefix from CPU DRAM to one H100, 16-bit KV."""
    options = kvcalc.Options(engine="vllm", tp=1, kv_dtype="bf16", prefill=50_000.0, tiers=("dram",))
    (path,) = kvcalc.margin(model, "h100-pcie5", tokens, options).paths
    return path.fetch_s


@pytest.mark.parametrize("thousands", [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
def test_vllm_restores_llama_8b_from_dram_as_measured(thousands: int):
    """The same post, figure 1: Llama-3.1-8B, 131,072 B a token in blocks of 2 MiB; within 15 %."""
    case = CASES[f"vllm-h100-l31-8b-cpuload-{thousands}k"]
    assert case["seq_len"] == 1000 * thousands
    assert 1e3 * from_dram("llama3.1-8b", case["seq_len"]) == pytest.approx(case["value"], rel=0.15)


@pytest.mark.parametrize("thousands", [20, 50, 100])
def test_vllm_restores_llama_1b_from_dram_as_measured(model_of: ModelOf, thousands: int):
    """Figure 5: Llama-3.2-1B, 16 layers x 8 KV heads x (64 + 64) x 2 B = 32,768 B a token; within 20 %."""
    group = {"kind": "full", "layers": 16, "heads": 32, "kv_heads": 8, "key_width": 64, "value_width": 64}
    model = model_of(group, name="llama3.2-1b", hidden=2048, feed_forward=({"layers": 16, "width": 8192},))
    case = CASES[f"vllm-h100-l32-1b-cpuload-{thousands}k"]
    assert 1e3 * from_dram(model, case["seq_len"]) == pytest.approx(case["value"], rel=0.20)


# Worked by hand


def test_one_link_takes_bytes_over_bandwidth_and_the_latency():
    """3,276,800,000 B (Llama-3-70B, FP8, 20,000 tokens) at 55 GB/s: 59.578 ms, and 10 us."""
    hop = replace(NODE, links=1)
    assert over(hop, latency=10e-6).seconds(one_copy(3_276_800_000)) == pytest.approx(0.059578 + 10e-6, rel=1e-5)


def test_each_rank_loads_its_own_part_over_its_own_link():
    """An eighth of 3.2768 GB at 55 GB/s."""
    assert over(NODE).seconds(one_copy(3_276_800_000, shards=8)) == pytest.approx(3_276_800_000 / 8 / 55e9)


def test_all_links_together_reach_the_ceiling():
    """213.6 GB/s over eight links is 26.7 each, less than 55; over two links each keeps its 55."""
    hop = replace(NODE, ceiling=213.6e9)
    load = one_copy(213_600_000_000, shards=8)
    assert over(hop).seconds(load) == pytest.approx(1.0)
    assert hop.seconds(load, 2) == pytest.approx(213.6 / 2 / 55)


def test_copies_cost_once_for_each():
    """1,250 pages of 16 tokens at 3.5 us: 4.375 ms beside 59.578 ms of bytes."""
    hop = replace(NODE, links=1, per_copy=3.5e-6)
    assert over(hop).seconds(paged(3_276_800_000, 1250)) == pytest.approx(0.004375 + 0.059578, rel=1e-5)


def test_a_contiguous_load_is_one_copy_a_link():
    hop = replace(NODE, per_copy=1.0, bandwidth=1e30)
    assert over(hop).seconds(one_copy(1, shards=8)) == pytest.approx(1.0)
    assert over(hop).seconds(paged(1, 1250, shards=8)) == pytest.approx(1250.0)


def test_one_link_makes_the_copies_of_all_ranks_that_differ():
    """Eight ranks, each with 10 copies of its own heads: 80 over one link, 40 over two."""
    load = paged(800, 10, shards=8)
    assert [load.over(links, broadcast=False) for links in (1, 2, 8)] == [
        Shared(800, 80, 800),
        Shared(400, 40, 800),
        Shared(100, 10, 800),
    ]


def test_a_rank_loads_over_one_link_so_three_links_carry_three_three_and_two():
    assert paged(800, 10, shards=8).over(3, broadcast=False) == Shared(300, 30, 800)


def test_without_a_broadcast_one_link_carries_a_replicated_cache_once_a_rank():
    """DeepSeek-V3's 70,272 B a token at 20,000 tokens, on eight ranks that each load their own copy."""
    load = one_copy(70_272 * 20_000)
    assert load.over(1, broadcast=False).bytes == 8 * 1_405_440_000
    assert load.over(1, broadcast=True).bytes == 1_405_440_000


def test_more_links_than_parts_carry_the_same_bytes_again():
    """Four KV heads on eight ranks: each link carries a quarter, 2x in all."""
    load = one_copy(800, shards=4)
    assert load.over(8, broadcast=True) == Shared(200, 1, 1600)
    assert over(NODE).fetch(load).own.share.together in (800, 1600)
    assert over(replace(NODE, broadcast=False)).fetch(load).own.share.together == 1600


def test_one_link_and_a_broadcast_beat_eight_copies_under_a_ceiling():
    """A latent cache of 1.068 GB. Eight copies at 26.7 GB/s each: 40 ms. One at 55 GB/s, passed on: 19.4 ms."""
    load = one_copy(1_068_000_000)
    hop = replace(NODE, ceiling=213.6e9)
    each = over(replace(hop, broadcast=False)).fetch(load)
    assert each.seconds == pytest.approx(0.040)
    assert (each.own.links, each.own.share.together) == (8, 8 * 1_068_000_000)
    shared = over(hop).fetch(load)
    assert shared.seconds == pytest.approx(1.068 / 55)
    assert shared.own.share.together == shared.own.links * 1_068_000_000 < each.own.share.together


def test_without_a_ceiling_a_copy_on_each_link_takes_no_longer_than_one():
    load = one_copy(1_068_000_000)
    assert over(NODE).seconds(load) == over(replace(NODE, broadcast=False)).seconds(load)


def test_pipelined_hops_take_as_long_as_the_slowest():
    """7 GB from NVMe at 7 GB/s and on over PCIe at 55: 1 s, or 1 s and 0.127 s in turn."""
    drive, link = Hop(7e9, 0.0, None, 1, True), Hop(55e9, 0.0, None, 1, True)
    load = one_copy(7_000_000_000)
    assert Route((drive, link), 0.0, Overhead()).seconds(load) == pytest.approx(1.0)
    assert Route((drive, link), 0.0, Overhead(), pipelined=False).seconds(load) == pytest.approx(1.0 + 7 / 55)


def test_a_slow_second_hop_decides():
    """A 400 Gb/s NIC for each of eight GPUs behind a host that passes 213.6 GB/s."""
    network, host = replace(NODE, bandwidth=50e9), replace(NODE, ceiling=213.6e9)
    fetch = Route((network, host), 0.0, Overhead()).fetch(one_copy(213_600_000_000, shards=8))
    assert fetch.seconds == pytest.approx(1.0)
    assert fetch.rate == pytest.approx(213.6e9)
    assert fetch.own.rate == pytest.approx(400e9)


def test_an_engine_adds_a_fixed_time_and_one_a_token():
    """10.2 ms and 0.5 us for each of 1,000 tokens."""
    route = Route((NODE,), 0.0, Overhead(0.0102, 0.5e-6))
    assert route.seconds(one_copy(0)) == pytest.approx(0.0107)


def loads(model: Model, layout: str, tp: int = 1, tokens: int = 16, latent_layout: str | None = None) -> Loads:
    return Loads(model, "bf16", tp, Pages(layout, latent_layout or layout, tokens))


FULL = {"kind": "full", "layers": 32, "heads": 32, "kv_heads": 8, "key_width": 128, "value_width": 128}
LATENT = {"kind": "latent", "layers": 61, "heads": 128, "rank": 512, "rope": 64, "nope": 128, "value_width": 128}


@pytest.mark.parametrize(
    ("layout", "copies", "of"),
    [
        ("contiguous", 1, 131_072 * 1000),
        ("cross-layer", 63, 2 * 1024 * KIB),  # vLLM from 0.12: 2 MiB pages; 1,000 tokens are 62.5 pages of 16
        ("per-layer", 63 * 32, 64 * KIB),
        ("per-layer-kv", 63 * 64, 32 * KIB),  # before 0.12: 32 KiB
    ],
)
def test_the_layout_says_how_many_copies_a_page_takes(model_of: ModelOf, layout: str, copies: int, of: int):
    """Llama-3.1-8B, figure 4 of the post. The last page is half empty: bytes are those of the tokens."""
    share = loads(model_of(FULL), layout)(1000).over(1, broadcast=True)
    size, found = share.bytes, share.copies
    assert (size, found) == (131_072_000, copies)
    assert size / found == pytest.approx(of, rel=0.01)


def test_tensor_parallelism_makes_copies_smaller_not_fewer(model_of: ModelOf):
    """Llama-3-70B at TP 4, per layer, K and V apart: 16 tokens x 2 of 8 heads x 128 x 2 B = 8 KiB."""
    group = FULL | {"layers": 80, "heads": 64}
    share = loads(model_of(group), "per-layer-kv", tp=4)(16_000).over(4, broadcast=True)
    assert share.copies == 1000 * 80 * 2
    assert share.bytes / share.copies == 8 * KIB


def test_a_latent_cache_has_a_layout_of_its_own_and_one_vector(model_of: ModelOf):
    """vLLM lays latent pages out by layer: 61 copies a page of 16 tokens, keys and values not apart."""
    model = model_of(LATENT)
    for layout in ("per-layer", "per-layer-kv"):
        share = loads(model, "cross-layer", tp=8, latent_layout=layout)(1600).over(8, broadcast=False)
        assert share == Shared(70_272 * 1600, 6100, 8 * 70_272 * 1600)


def test_layers_that_keep_nothing_are_not_copied(model_of: ModelOf):
    shared = {"kind": "shared", "layers": 3, "heads": 8, "key_width": 64, "value_width": 64}
    with_shared = loads(model_of(FULL, shared), "per-layer")(1000)
    assert with_shared.over(1, True) == loads(model_of(FULL), "per-layer")(1000).over(1, True)


def test_a_window_is_copied_as_far_as_it_is_held(model_of: ModelOf):
    """128 of 20,000 tokens: 8 pages of 16."""
    sliding = FULL | {"kind": "sliding", "window": 128}
    assert loads(model_of(sliding), "cross-layer")(20_000).over(1, True) == Shared(131_072 * 128, 8, 131_072 * 128)


def test_engines_that_load_on_each_rank_carry_every_copy():
    """DeepSeek-V3 on 8 H100: vLLM's ranks each load the latent cache; the ideal engine passes one copy on."""

    def moved(engine: str) -> int:
        options = kvcalc.Options(engine=engine, links="all", tiers=("dram",), prefill=10_000.0)
        (path,) = kvcalc.margin("deepseek-v3", "h100-pcie5", 20_000, options).paths
        return path.moved_bytes

    one = 35_136 * 20_000
    assert moved("vllm") == moved("sglang") == 8 * one
    assert moved("ideal") == one


# Properties

HOPS = st.builds(
    Hop,
    bandwidth=st.floats(1e8, 1e12),
    per_copy=st.floats(0, 1e-4),
    ceiling=st.none() | st.floats(1e8, 1e12),
    links=st.integers(1, 16),
    broadcast=st.booleans(),
)
PARTS = st.builds(
    Part, bytes=st.integers(1, 10**12), copies=st.integers(1, 10**5), shards=st.sampled_from([1, 2, 4, 8])
)
LOADS = st.builds(
    lambda parts, contiguous: Load(1000, tuple(parts), contiguous, ranks=8),
    st.lists(PARTS, min_size=1, max_size=3),
    st.booleans(),
)
ROUTES = st.builds(
    lambda hops, latency, fixed, pipelined: Route(tuple(hops), latency, Overhead(fixed, 1e-6), pipelined),
    st.lists(HOPS, min_size=1, max_size=3),
    st.floats(0, 1),
    st.floats(0, 1),
    st.booleans(),
)


@given(route=ROUTES, load=LOADS)
def test_twice_the_bandwidth_is_never_slower(route: Route, load: Load):
    faster = replace(route, hops=tuple(replace(hop, bandwidth=2 * hop.bandwidth) for hop in route.hops))
    assert faster.seconds(load) <= route.seconds(load) * (1 + 1e-12)


@given(route=ROUTES, load=LOADS)
def test_a_higher_ceiling_is_never_slower(route: Route, load: Load):
    freer = replace(route, hops=tuple(replace(hop, ceiling=None) for hop in route.hops))
    assert freer.seconds(load) <= route.seconds(load) * (1 + 1e-12)


@given(hop=HOPS, size=st.integers(1, 10**12), copies=st.integers(1, 10**5), contiguous=st.booleans())
def test_more_links_are_never_slower_for_what_every_rank_has_its_own_part_of(
    hop: Hop, size: int, copies: int, contiguous: bool
):
    load = Load(1000, (Part(size, copies, 16),), contiguous, ranks=16)
    times = [over(replace(hop, links=links)).seconds(load) for links in range(1, 17)]
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(times))


@given(hop=HOPS, load=LOADS)
def test_an_engine_that_may_pass_copies_on_is_never_slower(hop: Hop, load: Load):
    shared, each = (over(replace(hop, broadcast=may)).seconds(load) for may in (True, False))
    assert shared <= each * (1 + 1e-12)


@given(route=ROUTES, load=LOADS)
def test_hops_in_turn_are_never_faster_than_pipelined_ones(route: Route, load: Load):
    pipelined, in_turn = (replace(route, pipelined=each).seconds(load) for each in (True, False))
    assert pipelined <= in_turn


@given(route=ROUTES, load=LOADS)
def test_a_fetch_takes_the_time_of_its_route_and_its_parts_add_up(route: Route, load: Load):
    fetch = route.fetch(load)
    assert fetch.seconds == pytest.approx(route.seconds(load))
    assert 0 <= fetch.fixed <= fetch.seconds
    assert fetch.fixed + fetch.own.share.together / fetch.rate == pytest.approx(fetch.seconds)


@given(hop=HOPS, load=LOADS)
def test_of_one_hop_only_the_part_that_is_not_fixed_shrinks_with_bandwidth(hop: Hop, load: Load):
    assume(not hop.broadcast)
    hop = replace(hop, ceiling=None)
    fetch = over(hop).fetch(load)
    faster = over(replace(hop, bandwidth=4 * hop.bandwidth)).seconds(load)
    assert faster == pytest.approx(fetch.fixed + (fetch.seconds - fetch.fixed) / 4)


@given(route=ROUTES, load=LOADS)
def test_links_that_carry_bytes_in_no_time_leave_what_is_fixed(route: Route, load: Load):
    """Copies, engine and hops in turn; of pipelined hops another one may take longer than that."""
    own, *others = route.hops
    own = replace(own, broadcast=False)
    fixed = replace(route, hops=(own, *others)).fetch(load).own_fixed
    free = replace(own, bandwidth=math.inf, ceiling=None)
    left = replace(route, hops=(free, *others)).seconds(load)
    if others and route.pipelined:
        assert fixed <= left * (1 + 1e-12)
    else:
        assert fixed == pytest.approx(left)


@given(load=LOADS, links=st.integers(1, 16))
def test_no_link_carries_more_than_everything_and_all_together_carry_it(load: Load, links: int):
    share = load.over(links, broadcast=True)
    assert share.bytes <= sum(part.bytes for part in load.parts) <= share.together * (1 + 1e-12)
    assert share.copies >= 1
