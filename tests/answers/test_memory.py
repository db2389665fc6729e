"""Cheaper things first: how many prefixes fit where."""

import pytest


def test_room_by_hand(ask):
    """8 x 85.03 GB less 70.55 GB of weights; a prefix of 3.277 GB: 186 fit, as 610 do in 2 TB."""
    room = ask().room
    assert room.hbm_prefixes == 186
    assert room.fp8_ratio == 2
    assert {tier.tier: tier.prefixes for tier in room.tiers} == {"dram-pcie5": 610, "nvme-gen4": 9375}


def test_fp8_doubles_what_hbm_holds(ask):
    """The chapter, section 8: "2x for a flag"."""
    wide, narrow = ask(kv_dtype="bf16").room, ask(kv_dtype="fp8").room
    assert narrow.hbm_prefixes == pytest.approx(2 * wide.hbm_prefixes, abs=1)


def test_more_replicas_are_on_a_node_of_smaller_ones(ask):
    assert ask(tp=2).room.replicas == 4


def test_format_that_repeats_on_every_rank_takes_more_of_hbm(ask):
    """DeepSeek-V3's latent cache lies on each of 8 ranks: an eighth of what one copy would leave room for."""
    room = ask(model="deepseek-v3", hardware="h200-pcie5").room
    copy = ask(model="deepseek-v3", hardware="h200-pcie5").kv_bytes
    assert room.hbm_prefixes == int(room.hbm_kv_bytes // (8 * copy))
