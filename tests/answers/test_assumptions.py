"""Assumptions: what measurement says against the chapter stands on the page, and every figure names its source."""

from kvcalc.profiles import catalog


def said(result, *words):
    return [each for each in result.assumptions if all(word in each.text for word in words)]


def test_every_source_of_an_assumption_has_a_title_an_address_and_a_basis(ask):
    result = ask(bandwidth={"nvme": 5e9})
    sources = [source for each in result.assumptions for source in each.sources]
    assert len(sources) > 10
    for source in sources:
        assert source.title
        assert source.address
        assert source.basis in ("datasheet", "config", "measured", "paper", "textbook", "fit", "estimate", "given")


def test_figures_of_each_tier_and_their_sources_reach_the_page(ask):
    result = ask()
    node = catalog.machine("h100-pcie5")
    assert len(node.tiers) == 5
    for tier in node.tiers:
        (found,) = [
            each for each in result.assumptions if each.text.startswith(f"{tier.name}: ") and "a link" in each.text
        ]
        assert {figure.source for figure in tier.read.bandwidth.figures} <= set(found.sources)
        assert {figure.source for figure in tier.read.latency.figures} <= set(found.sources)


def test_option_is_its_own_source(ask):
    (nvme,) = said(ask(bandwidth={"nvme": 5e9}), "nvme-gen4: ", "a link")
    assert "5 GB/s" in nvme.text
    assert "7 GB/s" not in nvme.text
    assert "given" in [source.basis for source in nvme.sources]


def test_what_an_engine_would_make_of_the_restore_is_said_where_none_is_named(ask):
    # vLLM on 8 GPUs over one link: 10 us and 10.2 ms, 20,000 x 0.44 us, 10,000 pages copied at 0.5 us each, and
    # 3.2768 GB over 55 GB/s make 83.6 ms
    (found,) = said(ask(), "--engine vllm")
    assert "83.6 ms over 1 link" in found.text
    assert not said(ask(engine="vllm"), "--engine vllm")


def test_engine_says_what_it_adds(ask):
    assert said(ask(engine="vllm"), "10.2 ms")
    assert said(ask(engine="sglang"), "lower bound")  # nobody published its fixed costs


def test_pinning_and_both_kinds_of_links_are_said(ask):
    assert said(ask(), "pinned", "27.5 GB/s")
    assert said(ask(), "One link", "own link")
    assert not said(ask(tp=1), "own link")


def test_stored_format_is_said_where_engines_store_another(ask):
    assert said(ask("deepseek-v3.2", "h200-pcie5"), "fp8", "fp8_ds_mla")


def test_gpu_without_fp8_arithmetic_is_said_to_compute_in_bf16(ask):
    assert said(ask(hardware="a100-pcie4"), "A100", "BF16")
    assert not said(ask(), "compute in BF16")
