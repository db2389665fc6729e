"""What would change a verdict: each knob turned to the value that is printed changes it, and not before."""

from functools import partial

import pytest

JUST = 1e-6  # by how much a knob is turned past the printed value, and left short of it
ASKED = {
    "the chapter": ("llama3-70b", "h100-pcie5", 20_000, {"links": 1}),
    "the chapter, short": ("llama3-70b", "h100-pcie5", 100, {"links": 1}),
    "all links": ("llama3-70b", "h100-pcie5", 20_000, {"links": "all"}),
    "model": ("qwen2.5-72b", "h200-pcie5", 3_000, {"links": 1}),
    "higher minimum": ("llama3-70b", "h100-pcie5", 20_000, {"links": 1, "min_margin": 7.0}),
    "one GPU, vllm": ("llama3.1-8b", "a100-pcie4", 2_000, {"tp": 1, "engine": "vllm", "weights": "bf16"}),
    "window and mxfp4": ("gpt-oss-120b", "b200-pcie5", 400, {"tp": 1}),
    "latent, host link between": ("deepseek-v3", "h200-pcie5", 1_000, {"links": 1, "engine": "vllm"}),
    "store faster than the host": ("llama3.1-8b", "p4de.24xlarge", 20_000, {"links": 1}),
    "ranks that hold the same heads": ("qwen3-235b-a22b", "h20-pcie5", 1_000, {"links": "all"}),
    "ceiling of the node": ("llama3.1-8b", "b200-pcie5", 20_000, {"links": "all", "engine": "vllm"}),
}
every_answer = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)


def turned(ask, asked, path, knob, value):
    """The same question with one knob turned."""
    model, node, tokens, options = asked
    if knob == "tokens":
        return ask(model, node, int(value), **options)
    if knob == "links":
        return ask(model, node, tokens, **options | {"links": int(value)})
    if knob == "prefill_tokens_per_s":
        return ask(model, node, tokens, **options | {"prefill": value})
    return ask(model, node, tokens, **options | {"bandwidth": {path.tier: value / path.busy_links}})


@every_answer
@pytest.mark.parametrize("knob", ["prefill_tokens_per_s", "bandwidth_bytes_per_s"])
def test_rate_turned_to_its_flip_changes_the_verdict_and_not_before(ask, path_of, asked, knob):
    model, node, tokens, options = asked
    found = 0
    for path in ask(model, node, tokens, **options).paths:
        for flip in [flip for flip in path.flips if flip.knob == knob]:
            answer = partial(turned, ask, asked, path, knob)
            side = 1 if flip.value > flip.now else -1
            beyond = path_of(answer(flip.value * (1 + side * JUST)), path.tier, path.links)
            before = path_of(answer(flip.value * (1 - side * JUST)), path.tier, path.links)
            assert beyond.verdict == flip.verdict != path.verdict, (path.tier, path.links, flip)
            assert before.verdict == path.verdict, (path.tier, path.links, flip)
            found += 1
    assert found


@every_answer
def test_length_or_link_count_of_a_flip_has_the_verdict_that_is_printed(ask, asked):
    model, node, tokens, options = asked
    for path in ask(model, node, tokens, **options).paths:
        for flip in [flip for flip in path.flips if flip.knob in ("tokens", "links")]:
            again = turned(ask, asked, path, flip.knob, flip.value)
            (same,) = [
                each for each in again.paths if each.tier == path.tier and each.links in (path.links, flip.value)
            ]
            assert same.verdict == flip.verdict != path.verdict, (path.tier, path.links, flip)


@every_answer
def test_flips_stand_in_the_order_of_how_far_the_knob_is_turned(ask, asked):
    model, node, tokens, options = asked
    for path in ask(model, node, tokens, **options).paths:
        ratios = [max(flip.value / flip.now, flip.now / flip.value) for flip in path.flips]
        assert ratios == sorted(ratios)
        assert all(flip.verdict != path.verdict for flip in path.flips)


def test_flips_of_the_chapter_are_those_worked_by_hand(ask, path_of):
    # NVMe: 3.2768 GB within 400 ms less 110 us of latency takes 8.194 GB/s; 20,000 tokens in its 468.2 ms are 42,715/s
    nvme = {flip.knob: flip for flip in path_of(ask(links=1), "nvme").flips}
    assert nvme["bandwidth_bytes_per_s"].value == pytest.approx(3.2768e9 / (0.4 - 110e-6), rel=1e-6)
    assert nvme["prefill_tokens_per_s"].value == pytest.approx(20_000 / (3.2768 / 7 + 110e-6), rel=1e-6)
    assert {flip.verdict for flip in nvme.values()} == {"marginal"}
    # DRAM: marginal below 3x, so above 3 x 400 ms; 13.5 us of latency and copy
    dram = {flip.knob: flip for flip in path_of(ask(links=1), "dram").flips}
    assert dram["bandwidth_bytes_per_s"].value == pytest.approx(3.2768e9 / (0.4 / 3 - 13.5e-6), rel=1e-6)
    assert dram["prefill_tokens_per_s"].value == pytest.approx(20_000 / (3 * (3.2768 / 55 + 13.5e-6)), rel=1e-6)


def test_more_links_turn_a_verdict(ask, path_of):
    # 1.3 GB/s a link: one takes 2.5 s, recompute; at N links 400 ms / (3.2768 / 1.3N) = 0.159 N, so marginal from 7
    path = path_of(ask(bandwidth={"dram": 1.3e9}), "dram")
    (links,) = [flip for flip in path.flips if flip.knob == "links"]
    assert (links.now, links.value, links.verdict) == (1, 7, "marginal")


def test_length_turns_a_verdict_where_latency_is_paid_off(ask, path_of):
    # infiniband: 20 us S against 3 x (1 ms + 3.2768 us S): restore from 3 ms / (20 - 9.8304) us = 295 tokens
    path = path_of(ask(links=1), "infiniband")
    (length,) = [flip for flip in path.flips if flip.knob == "tokens"]
    assert length.verdict == "marginal"
    assert 295 - 20_000 / 4_000 <= length.value < 295.0
