"""The replay against queueing theory, against `curve`, and against the chapter's claims."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.simulate.arrivals import Arrival, Pace, arrivals
from kvcalc.simulate.curve import curve
from kvcalc.simulate.outcome import Outcome
from kvcalc.simulate.replay import Fleet, Shared, replay
from kvcalc.simulate.routing import ROUTERS, Routing
from kvcalc.simulate.service import Rules, Service, Tier
from kvcalc.tiered.manager import BlockManager
from kvcalc.tiered.movers import Link, TimedMover
from kvcalc.tiered.orders import FirstInFirstOut, LeastRecentlyUsed
from kvcalc.tiered.pools import Pool
from kvcalc.traces.read import read
from kvcalc.traces.reader import Reading
from kvcalc.traces.trace import Trace

AT_ONCE = Link(float("inf"))
PATHS = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("".join), max_size=40)
SIZE = 100  # tokens of a block


def no_time(new: int, cached: int) -> float:  # noqa: ARG001
    return 0.0


def a_second_a_block(new: int, cached: int) -> float:  # noqa: ARG001
    return new / SIZE


def requests(paths: list[str], every_s: float = 1000.0) -> list[Arrival]:
    """Prompts of one block a letter; the blocks of a prefix are numbered alike."""
    known: dict[str, int] = {}
    found = []
    for number, path in enumerate(paths):
        keys = [known.setdefault(path[: end + 1], len(known)) for end in range(len(path))]
        found.append(Arrival(number, number * every_s, SIZE * len(path), keys, SIZE))
    return found


def service(
    *sizes: int, prefill: Callable[[int, int], float] = no_time, link: Link = AT_ONCE, write: Link | None = None
) -> Service:
    """Tiers of these sizes, HBM first; blocks of a byte. Without `write` the link is the same both ways."""
    named = enumerate(sizes[1:], 1)
    tiers = tuple(Tier(f"tier {number}", "dram", size, link, write or link) for number, size in named)
    return Service(prefill, 1.0, sizes[0], sizes[0], tiers)


def poisson(count: int, load: float, sizes: list[int]) -> Iterator[Arrival]:
    """Prompts that share nothing, of one of these lengths in seconds of prefill, as much as the load says."""
    random = np.random.default_rng(7)
    times = np.cumsum(random.exponential(np.mean(sizes) / load, count)).tolist()
    for number, tokens in enumerate(random.choice(sizes, count).tolist()):
        yield Arrival(number, times[number], tokens, [], SIZE)


def waits(outcome: Outcome, seconds: np.ndarray) -> np.ndarray:
    return outcome.ttft_s - seconds


def pollaczek_khinchine(load: float, sizes: list[int]) -> float:
    """The mean wait of an M/G/1 queue, load E[S^2] / (2 (1 - load) E[S]); of one size it is that of M/D/1."""
    return load * np.mean(np.square(sizes)) / (2 * (1 - load) * np.mean(sizes))


def queue(count: int, load: float, sizes: list[int]) -> tuple[Outcome, np.ndarray]:
    lengths = np.array([each.tokens for each in poisson(count, load, sizes)], float)
    return replay(poisson(count, load, sizes), Fleet(service(0, prefill=lambda new, _: float(new)))), lengths


@pytest.mark.parametrize(("load", "sizes"), [(0.5, [1]), (0.8, [1]), (0.5, [1, 9]), (0.7, [1, 2, 3, 4])])
def test_waits_of_a_hundred_thousand_arrivals_are_those_of_theory(load, sizes):
    outcome, lengths = queue(100_000, load, sizes)
    assert outcome.utilisation == pytest.approx(load, rel=0.01)
    assert waits(outcome, lengths).mean() == pytest.approx(pollaczek_khinchine(load, sizes), rel=0.05)


@pytest.mark.slow
def test_waits_of_a_million_arrivals_at_a_load_of_nine_tenths_are_those_of_an_m_d_1_queue():
    """4.5 services: 0.9 / (2 x 0.1)."""
    outcome, lengths = queue(1_000_000, 0.9, [1])
    assert outcome.utilisation == pytest.approx(0.9, rel=0.01)
    assert waits(outcome, lengths).mean() == pytest.approx(4.5, rel=0.05)


def test_each_wait_follows_from_the_one_before():
    """Lindley's recursion: a request waits as long as the one before did and was served, less the time between them."""
    outcome, lengths = queue(10_000, 0.9, [1, 5])
    times = np.array([each.at_s for each in poisson(10_000, 0.9, [1, 5])])
    expected = [0.0]
    for gap, length in zip(np.diff(times), lengths[:-1], strict=True):
        expected.append(max(0.0, expected[-1] + length - gap))
    assert waits(outcome, lengths) == pytest.approx(np.array(expected), abs=1e-6)


def test_beyond_saturation_the_gpu_never_rests_and_the_queue_grows():
    outcome, lengths = queue(10_000, 1.5, [1])
    assert outcome.utilisation == pytest.approx(1, rel=0.01)
    assert outcome.duration_s == pytest.approx(10_000, rel=0.01)
    assert waits(outcome, lengths)[-1] == pytest.approx(10_000 / 3, rel=0.05)  # a third of the work is left at the end


def test_two_replicas_in_turn_are_two_queues():
    """Every other arrival of a Poisson stream: the wait is below that of M/D/1, which is 0.5 at this load."""
    fleet = Fleet(service(0, prefill=lambda new, _: float(new)), replicas=2)
    outcome = replay(poisson(20_000, 1.0, [1]), fleet)
    assert outcome.utilisation == pytest.approx(0.5, rel=0.02)
    assert waits(outcome, np.ones(20_000)).mean() < 0.5


@given(PATHS.filter(bool), st.integers(4, 8), st.integers(4, 8), st.integers(4, 8), st.booleans())
def test_hits_of_exclusive_tiers_without_time_are_those_of_the_curve(paths, hbm, dram, nvme, prefetch):
    trace = trace_of(paths)
    expected = curve(trace).at(hbm + dram + nvme).hits
    outcome = replay(arrivals(trace, Pace()), Fleet(service(hbm, dram, nvme), Rules(prefetch=prefetch)))
    assert (sum(outcome.hits), outcome.hit_tokens) == (expected.blocks, expected.tokens)


@given(PATHS.filter(bool), st.integers(4, 6), st.integers(0, 8), st.booleans())
def test_hits_of_inclusive_tiers_without_time_are_those_of_the_lower_size(paths, hbm, more, prefetch):
    trace = trace_of(paths)
    fleet = Fleet(service(hbm, hbm + more), Rules(inclusive=True, prefetch=prefetch))
    outcome = replay(arrivals(trace, Pace()), fleet)
    assert sum(outcome.hits) == curve(trace).at(hbm + more).hits.blocks


def trace_of(paths: list[str]) -> Trace:
    """The same prompts as a file says it, in blocks of four tokens of which the last one is not full."""
    rows = [
        {"timestamp": each.number, "input_length": 4 * len(each.keys) - 1, "hash_ids": each.keys}
        for each in requests(paths)
    ]
    with TemporaryDirectory() as folder:
        (Path(folder) / "made.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return read(Path(folder) / "made.jsonl", Reading(block_size=4, time_unit="s"))


@pytest.mark.parametrize("sizes", [(1000,), (1000, 3000), (500, 2500, 2859)])
@pytest.mark.parametrize("prefetch", [True, False])
def test_hits_of_the_conversation_trace_without_time_are_those_of_the_curve(mooncake, sizes, prefetch):
    trace = mooncake("fixture_conversation_first500")
    expected = curve(trace).at(sum(sizes)).hits
    outcome = replay(arrivals(trace, Pace()), Fleet(service(*sizes), Rules(prefetch=prefetch)))
    assert (sum(outcome.hits), outcome.hit_tokens) == (expected.blocks, expected.tokens)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5859,), (5859, 24_141), (5859, 24_141, 70_000)])
def test_hits_of_the_whole_conversation_trace_without_time_are_those_of_the_curve(mooncake, sizes):
    trace = mooncake("mooncake_conversation")
    expected = curve(trace).at(sum(sizes)).hits
    outcome = replay(arrivals(trace, Pace()), Fleet(service(*sizes)))
    assert (sum(outcome.hits), outcome.hit_tokens) == (expected.blocks, expected.tokens)


@pytest.mark.parametrize("name", ROUTERS)
@given(PATHS.filter(bool), st.floats(0.1, 8), st.booleans(), st.sampled_from([0.0, 1.0]), st.booleans(), st.booleans())
def test_whatever_arrives_leaves_and_whatever_is_counted_is_moved(
    name, paths, every_s, prefetch, margin, shared, inclusive
):
    made = service(5, 4, 4, prefill=a_second_a_block, link=Link(3.0, 0.1))
    store = Shared(20, Link(2.0, 0.2), Link(2.0)) if shared else None
    fleet = Fleet(made, Rules(prefetch=prefetch, least_margin=margin, inclusive=inclusive), 3, store)
    outcome = replay(requests(paths, every_s), fleet, ROUTERS[name](3, Routing()))
    assert outcome.requests == len(paths)
    assert outcome.blocks == sum(map(len, paths))
    assert all(each >= 0 for each in outcome.hits)
    assert outcome.hit_tokens == SIZE * sum(outcome.hits)
    assert outcome.prefill_s <= outcome.uncached_prefill_s
    assert (outcome.ttft_s > 0).all()
    from_store = [link.blocks for link in outcome.links if link.source == "store"]
    assert outcome.hits[-1] <= sum(from_store)  # what is given back for want of room has come in vain
    assert all(link.bytes == link.blocks for link in outcome.links)  # blocks of a byte
    assert all(0 <= link.utilisation <= 1 + 1e-9 for link in outcome.links)


def test_a_link_is_busy_until_its_last_copy_ends():
    """HBM of 2 blocks; two prompts of 2, and the first one's blocks go down at 10 s each: 20 s, though all is over."""
    made = service(2, 2, prefill=lambda new, _: new / 1000, link=AT_ONCE, write=Link(0.1, buffer_s=100.0))
    outcome = replay(iter(requests(["ab", "cd"], 1.0)), Fleet(made))
    down = next(link for link in outcome.links if link.target == "tier 1")
    assert outcome.duration_s == pytest.approx(1.2)
    assert (down.blocks, down.over_s) == (2, 21)  # from 1 s on
    assert down.utilisation == pytest.approx(20 / 21)


def test_a_prompt_that_is_cached_whole_computes_its_last_token():
    outcome = replay(requests(["ab", "ab"]), Fleet(service(4, prefill=lambda new, _: float(new))))
    assert outcome.ttft_s.tolist() == [200.0, 1.0]
    assert outcome.hits[0] == 2


def test_time_to_first_token_is_fetch_and_prefill():
    """A copy takes 1 s and 0.5 s of latency. cd is computed while a and b leave: their slots are free at 1.5 and 2.5 s.

    When ab is asked for again, c and d leave by then too; one block comes up from 1.5 to 3 s, the other from 2.5 to
    4 s, and the last token is computed in 0.01 s.
    """
    fleet = Fleet(service(2, 4, prefill=a_second_a_block, link=Link(1.0, 0.5)), Rules(prefetch=False))
    outcome = replay(requests(["ab", "cd", "ab"]), fleet)
    assert outcome.ttft_s == pytest.approx([2.0, 2.5, 4.01])
    assert outcome.hits == (0, 2, 0)


def test_fetching_only_where_it_wins_computes_what_comes_too_slowly():
    """A block is computed in 1 s and comes in 2."""
    slow = service(2, 4, prefill=a_second_a_block, link=Link(0.5))
    always, chosen = (
        replay(requests(["ab", "cd", "ab"]), Fleet(slow, Rules(least_margin=least))) for least in (0.0, 1.0)
    )
    assert (always.hits, chosen.hits) == ((0, 2, 0), (0, 0, 0))
    assert (always.fetched_requests, always.lost_requests) == (1, 1)
    assert chosen.fetched_requests == 0
    assert chosen.ttft_s[2] < always.ttft_s[2]


def cycle(prompts: int, rounds: int) -> list[str]:
    """Prompts of four blocks that share nothing, in turn."""
    return [f"{chr(0x4E00 + prompt)}xyz" for prompt in range(prompts)] * rounds


# What the chapter claims, with the conditions under which it is so.


def test_offload_adds_nothing_when_the_working_set_fits_hbm():
    """12 blocks in all, 12 in HBM."""
    paths, made = cycle(3, 4), service(12, 100, prefill=a_second_a_block, link=Link(1.0))
    tiered = replay(requests(paths), Fleet(made))
    alone = replay(requests(paths), Fleet(service(12, prefill=a_second_a_block)))
    assert tiered.ttft_s.tolist() == alone.ttft_s.tolist()
    assert sum(link.blocks for link in tiered.links) == 0
    assert alone.evicted == (0,)


@pytest.mark.parametrize(("capacity", "head_first", "leaf_first"), [(40, 80, 80), (39, 0, 54), (36, 0, 0)])
def test_cyclic_reuse_one_request_beyond_capacity_hits_nothing(tmp_path, capacity, head_first, leaf_first):
    """Ten prompts of four blocks in turn, thrice. Evicted head first, a prompt that lost one block lost its prefix, so
    one block too few is the whole cycle; leaf first, so small a lack costs little, and a whole prompt's costs all."""
    prompts = [list(range(4 * turn, 4 * turn + 4)) for turn in range(10)] * 3
    rows = [f'{{"timestamp": {at}, "input_length": 2048, "hash_ids": {ids}}}' for at, ids in enumerate(prompts)]
    (tmp_path / "cyclic.jsonl").write_text("\n".join(rows))
    trace = read(tmp_path / "cyclic.jsonl")
    assert curve(trace, tail_first=False).at(capacity).hits.blocks == head_first
    assert curve(trace).at(capacity).hits.blocks == pytest.approx(leaf_first, abs=leaf_first * 0.25)
    outcome = replay(arrivals(trace, Pace()), Fleet(Service(no_time, 1.0, capacity)))
    assert sum(outcome.hits) == curve(trace).at(capacity).hits.blocks


@given(PATHS, st.integers(4, 8))
def test_an_inclusive_tier_no_larger_than_the_one_above_adds_nothing_when_hits_above_refresh_it(paths, size):
    tiered = replay(requests(paths), Fleet(service(size, size), Rules(inclusive=True)))
    alone = replay(requests(paths), Fleet(service(size)))
    assert tiered.hits[1] == 0
    assert tiered.hits[0] == alone.hits[0]


def slow_tier(every_s: float) -> tuple[Outcome, Outcome]:
    """Prompts of four blocks, every other one new and every other one of a cycle that only the lower tier holds.

    Computing takes 4 s and fetching 5.2, writing no time; with the tier and without.
    """
    old, new = cycle(10, 40), [f"{chr(0x7000 + prompt)}xyz" for prompt in range(400)]
    paths = [path for pair in zip(old, new, strict=True) for path in pair]
    tiered = service(40, 10_000, prefill=a_second_a_block, link=Link(4 / 5.2), write=AT_ONCE)
    alone = service(40, prefill=a_second_a_block)
    steady, alone_too = requests(paths, every_s), requests(paths, every_s)
    return replay(steady, Fleet(tiered)), replay(alone_too, Fleet(alone))


def test_a_tier_slower_than_recomputing_raises_time_to_first_token_at_low_load():
    tiered, alone = slow_tier(every_s=100.0)
    assert tiered.hits[1] > 1000
    assert alone.ttft_s.mean() == pytest.approx(4.0)
    assert tiered.ttft_s.mean() > 4.2


def test_a_tier_slower_than_recomputing_lowers_time_to_first_token_near_saturation():
    """It frees the GPU: alone, 4 s of work come every 3.9 s, and the queue grows."""
    tiered, alone = slow_tier(every_s=3.9)
    assert tiered.utilisation < 0.6 < 0.99 < alone.utilisation
    assert tiered.ttft_s.mean() < alone.ttft_s.mean() / 2


def test_an_inclusive_tier_no_larger_may_add_something_when_hits_above_do_not_refresh_it():
    """HBM is an LRU of two blocks, the tier below a FIFO of two. a is used again: for c HBM drops b, and the FIFO a."""
    mover = TimedMover(1.0, {(0, 1): AT_ONCE, (1, 0): AT_ONCE}, lambda: 0.0)
    found = []
    for below in (LeastRecentlyUsed(), FirstInFirstOut()):
        manager = BlockManager([Pool(2, LeastRecentlyUsed()), Pool(2, below, staging=2)], mover, inclusive=True)
        for key in "abacb":
            lease = manager.acquire([key])
            assert lease is not None
            manager.publish(lease)
            manager.release(lease)
        found.append(lease.found)
    assert found == [(0, 0), (0, 1)]
