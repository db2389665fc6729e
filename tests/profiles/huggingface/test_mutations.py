"""Whatever happens to a real configuration, a profile that loads comes out, or one line that says what is wrong."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.physics import kv
from kvcalc.profiles.huggingface import reading
from kvcalc.profiles.model import Model

DATA = Path(__file__).resolve().parents[2] / "data"
TRUTH: dict[str, dict[str, Any]] = yaml.safe_load((DATA / "kv_truth.yaml").read_text())["models"]
CONFIGS = {path.stem: reading.file(path)[0] for path in sorted((DATA / "hf_configs").glob("*.json"))}
GONE = object()
ODD = st.one_of(
    st.sampled_from([GONE, None, 0, -1, True, False, "", "x", "32", [], [1], {}, {"a": 1}, 2.5]),
    st.sampled_from([float("inf"), float("nan")]),
    st.integers(-(10**30), 10**30),
    st.text(max_size=5),
    st.lists(st.sampled_from(["full_attention", "sliding_attention", "mamba", 1, None, 0]), max_size=70),
)  # fmt: skip

ModelOf = Callable[..., Model]


def places(document: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in document.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from places(value, (*above, key))


def changed(document: dict[str, Any], place: tuple[str, ...], value: object) -> dict[str, Any]:
    found = copy.deepcopy(document)
    inside = found
    for key in place[:-1]:
        inside = inside[key]
    if value is GONE:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return found


@settings(max_examples=300)
@given(data=st.data())
def test_a_changed_entry_gives_a_profile_that_loads_or_one_line(data: st.DataObject, model: ModelOf):
    name = data.draw(st.sampled_from(sorted(CONFIGS)))
    place = data.draw(st.sampled_from(sorted(places(CONFIGS[name]))))
    try:
        found = model(changed(CONFIGS[name], place, data.draw(ODD)))
    except UserError as error:
        said = str(error)
    else:
        said = ""
        assert kv.logical(found, 4096, "bf16") > 0
    assert "\n" not in said


# Entries without which a file is no configuration, and those that decide which kind of state a layer keeps.
NEEDED = ("num_hidden_layers", "num_attention_heads", "hidden_size", "kv_lora_rank", "qk_rope_head_dim", "index_topk")
NEEDED += ("index_head_dim", "linear_attn_config", "compress_ratios", "attn_type_list", "block_configs", "model_type")
NEEDED += ("hybrid_override_pattern", "layers_block_type", "attn_layer_period", "mamba_num_heads", "ssm_state_size")


@pytest.mark.parametrize("entry", NEEDED)
@pytest.mark.parametrize("value", [GONE, None, 0, -1, "x", 10**30, 2.5], ids=str)
def test_what_is_needed_is_not_guessed(entry: str, value: object, model: ModelOf):
    """A right answer, such as a layer count that the list of layers has, or a refusal; never other bytes in silence."""
    known = {each["huggingface"].replace("/", "__"): each["bytes_at"] for each in TRUTH.values()}
    for name in sorted(known):
        for place in places(CONFIGS[name]):
            if place[-1] != entry or "vision_config" in place:
                continue
            try:
                found = model(changed(CONFIGS[name], place, value))
            except UserError:
                continue
            assert kv.logical(found, 131_072, "bf16") == known[name][131_072], (name, place)


@pytest.mark.parametrize(
    ("name", "entry", "value", "said"),
    [
        ("Qwen__Qwen3-8B", "num_hidden_layers", -36, "num_hidden_layers: -36 is not between 1 and"),
        ("Qwen__Qwen3-8B", "num_hidden_layers", "36", "num_hidden_layers: '36' is not a whole number"),
        ("Qwen__Qwen3-8B", "num_hidden_layers", 36.0, "num_hidden_layers: 36.0 is not a whole number"),
        ("Qwen__Qwen3-8B", "num_hidden_layers", True, "num_hidden_layers: True is not a whole number"),
        ("Qwen__Qwen3-8B", "num_hidden_layers", 20_000, "20,000 layers are more than any model has"),
        ("Qwen__Qwen3-8B", "hidden_size", float("nan"), "hidden_size: nan is not a whole number"),
        ("Qwen__Qwen3-8B", "num_key_value_heads", 5, "5 KV heads don't divide 32 query heads"),
        ("Qwen__Qwen3-8B", "use_sliding_window", "no", "use_sliding_window: 'no' is not true or false"),
        ("Qwen__Qwen3-8B", "vocab_size", -1, "vocab_size: -1 is not between 1 and"),
        ("openai__gpt-oss-120b", "sliding_window", None, "has sliding layers and no sliding_window"),
        ("openai__gpt-oss-120b", "layer_types", "full_attention", "layer_types: 'full_attention' is not a list"),
        ("moonshotai__Kimi-K3", "linear_attn_config", [], r"linear_attn_config: \[\] is not an object"),
        ("google__gemma-3n-E4B", "num_kv_shared_layers", 35, "num_kv_shared_layers: 35: is not below the 35 layers"),
        ("zai-org__GLM-5.2", "indexer_types", ["shared"] * 78, "the first layer has no earlier choice to share"),
    ],
)
def test_the_line_says_which_entry_is_wrong(name: str, entry: str, value: object, said: str, model: ModelOf):
    document = CONFIGS[name]
    place = next(each for each in places(document) if each[-1] == entry and "vision_config" not in each)
    with pytest.raises(UserError, match=said):
        model(changed(document, place, value))
