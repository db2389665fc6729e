"""A replica from profiles: its links take as long as `margin` says."""

import pytest

from kvcalc.answers import service
from kvcalc.answers.margin import margin
from kvcalc.answers.margin_result import best
from kvcalc.answers.options import Options
from kvcalc.answers.placement import Placing
from kvcalc.answers.service import Blocks
from kvcalc.errors import UserError
from kvcalc.profiles import catalog

BLOCKS = Blocks(tokens=512.0, prompt=12_288, longest=100)  # a mean prompt of 24 blocks
MODELS = ["llama3-70b", "gpt-oss-120b", "deepseek-v3.2", "qwen3-next-80b-a3b"]


def links(model, tier, **options):
    placing = Placing(catalog.model(model), catalog.machine("h100-pcie5"), Options(**options), kv_dtypes=("fp8",))
    found = service.setting(placing, BLOCKS, [tier])
    return service.links(found, tier, BLOCKS), service.block_bytes(found, BLOCKS)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tier", ["dram-pcie5", "nvme-gen4", "infiniband-400g"])
@pytest.mark.parametrize("engine", ["ideal", "vllm"])
def test_the_mean_prompt_is_fetched_in_the_time_of_margin(model, tier, engine):
    found, size = links(model, tier, engine=engine)
    seconds = found.read.latency_s + BLOCKS.prompt / BLOCKS.tokens * size / found.read.bytes_per_s
    answer = margin(model, "h100-pcie5", BLOCKS.prompt, Options(engine=engine))
    (path,) = [each for each in best(answer.paths) if each.tier == tier]
    assert seconds == pytest.approx(path.fetch_s, rel=1e-6)
    assert found.read.latency_s >= 0


def test_a_drive_is_written_at_its_write_bandwidth_and_memory_without_a_buffer():
    """nvme-gen4 writes 4 GB/s (typical), whatever it reads; 100 blocks of 83.9 MB fill the buffer in 2.1 s."""
    drive, size = links("llama3-70b", "nvme-gen4")
    assert drive.write.bytes_per_s == pytest.approx(4.0e9, rel=1e-3)
    assert drive.write.buffer_s == pytest.approx(100 * size / 4.0e9, rel=1e-3)
    memory, _ = links("llama3-70b", "dram-pcie5")
    assert memory.write.buffer_s is None


def test_a_tier_without_a_write_bandwidth_is_written_as_it_is_read():
    found, _ = links("llama3-70b", "remote-store")
    assert found.tier.write is None
    assert found.write.bytes_per_s == found.read.bytes_per_s
    assert "written as fast as read" in " ".join(each.text for each in service.assumptions([found.tier]))


@pytest.mark.parametrize("model", MODELS)
def test_a_block_is_a_part_of_the_mean_prompt(model):
    _, size = links(model, "dram-pcie5")
    whole = margin(model, "h100-pcie5", BLOCKS.prompt, Options()).kv_bytes
    assert 24 * size == pytest.approx(whole)


def test_a_model_whose_state_does_not_grow_is_refused(model_of):
    state = {"kind": "recurrent", "rule": "mamba-2", "layers": 1, "heads": 8, "key_width": 4, "value_width": 4}
    state |= {"state_bytes": 4, "conv_channels": 0, "conv_kernel": 0, "conv_bytes": 1, "input_width": 64}
    placing = Placing(model_of(state), catalog.machine("h100-pcie5"), Options(prefill=1000.0), kv_dtypes=("fp8",))
    with pytest.raises(UserError, match="keeps no more for a longer prompt"):
        service.links(service.setting(placing, BLOCKS, ["dram"]), "dram-pcie5", BLOCKS)
