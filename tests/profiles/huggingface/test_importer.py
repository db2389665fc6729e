"""Configuration files become profiles whose bytes are those that are known."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from kvcalc.errors import UserError
from kvcalc.physics import kv
from kvcalc.profiles import places
from kvcalc.profiles.huggingface import reading
from kvcalc.profiles.huggingface.importer import Imported
from kvcalc.profiles.model import Model

DATA = Path(__file__).resolve().parents[2] / "data"
TRUTH: dict[str, dict[str, Any]] = yaml.safe_load((DATA / "kv_truth.yaml").read_text())["models"]
FILES = sorted((DATA / "hf_configs").glob("*.json"))
INDEX = [line.split("\t") for line in (DATA / "hf_configs" / "INDEX.tsv").read_text().splitlines()[1:]]

ModelOf = Callable[..., Model]


@pytest.mark.parametrize("name", TRUTH)
def test_the_bytes_of_every_file_are_exact(name: str, model: ModelOf, config: Callable[..., Any]):
    """The file as it is, without what scripts/models.yaml knows beside it."""
    found = model(config(TRUTH[name]["huggingface"]))
    assert {tokens: kv.logical(found, tokens, "bf16") for tokens in (4096, 32768, 131072)} == TRUTH[name]["bytes_at"]


def test_every_file_is_of_a_known_model_and_says_where_it_was_found():
    files = {path.name for path in FILES}
    assert {row[0] for row in INDEX} == files
    assert all(len(row) == 4 and all(row) for row in INDEX)
    known = {each["huggingface"] for each in TRUTH.values()} | {"openai/whisper-large-v3"}
    assert {row[1] for row in INDEX} == known
    assert len(files) == 83


def test_the_shipped_models_are_what_the_script_makes_of_the_files(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """`python scripts/import_models.py` writes them again; none is typed by hand."""
    writer = script("import_models")
    monkeypatch.setattr(writer, "FOLDER", tmp_path)
    writer.main()
    shipped = places.shipped() / places.MODELS
    assert {path.name: path.read_text() for path in tmp_path.glob("*.yaml")} == {
        path.name: path.read_text() for path in shipped.glob("*.yaml")
    }


def test_a_profile_says_which_file_it_was_made_from_and_when(imported: Callable[..., Imported], config: Any):
    source = imported(config("Qwen/Qwen3-8B")).document["sources"]["config"]
    assert (source["basis"], source["address"], str(source["checked"])) == ("config", "tests", "2026-11-29")


def test_what_comes_from_a_class_is_said(imported: Callable[..., Imported], config: Callable[..., Any]):
    said = imported(config("meta-llama/Llama-4-Scout-17B-16E-Instruct")).assumed
    assert "no_rope_layer_interval is not in the file: 4, the default of Llama4TextConfig" in said
    assert "the kinds of layers are not listed in the file: by the rule of Llama4TextConfig" in said
    assert imported(config("Qwen/Qwen3-32B")).assumed == ()  # everything is in the file


def test_given_parameters_are_kept(model: ModelOf, config: Callable[..., Any]):
    found = model(config("facebook/opt-66b"), parameters=65_700_000_000)
    assert (found.total_parameters, found.active_parameters) == (65_700_000_000, 65_700_000_000)
    found = model(config("stepfun-ai/step3"), parameters=321_000_000_000, active=38_000_000_000)
    assert (found.total_parameters, found.active_parameters) == (321_000_000_000, 38_000_000_000)


def test_more_active_parameters_than_there_are_is_refused(imported: Callable[..., Imported], config: Any):
    with pytest.raises(UserError, match="--active-params 2 is more than --params 1"):
        imported(config("Qwen/Qwen3-8B"), parameters=1, active=2)


@pytest.mark.parametrize(("architectures", "kind"), [(["BertForMaskedLM"], "bert"), (["BertModel"], "bert"),
    (["ViTForImageClassification"], "vit"), (["CLIPModel"], "clip"), (["MistralModel"], "mistral"),
    (["Qwen3ForSequenceClassification"], "qwen3"), (["XLMRobertaModel"], "xlm-roberta")])  # fmt: skip
def test_a_model_that_generates_nothing_is_refused(
    architectures: list[str], kind: str, imported: Callable[..., Imported], config: Callable[..., Any]
):
    file = config("Qwen/Qwen3-8B") | {"architectures": architectures, "model_type": kind}
    with pytest.raises(UserError, match=r"generates no text \(an embedding, a classifier or vision model\)"):
        imported(file)


def test_an_encoder_without_architectures_is_refused_by_its_type(imported: Callable[..., Imported]):
    with pytest.raises(UserError, match="'roberta' is an encoder or a vision model: it has no KV cache"):
        imported({"model_type": "roberta", "hidden_size": 768, "num_hidden_layers": 12})


def test_an_unknown_model_type_is_refused_with_the_fields_that_were_seen(imported: Callable[..., Imported]):
    """Never guessed as grouped-query attention."""
    file = {"architectures": ["NovelForCausalLM"], "model_type": "novel", "hidden_size": 64, "num_hidden_layers": 2}
    file |= {"num_attention_heads": 4, "num_key_value_heads": 2, "attention_span": 9}
    with pytest.raises(UserError) as caught:
        imported(file)
    message = str(caught.value)
    assert "model type 'novel' (NovelForCausalLM) is not known here" in message
    assert "it has hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, attention_span" in message


@pytest.mark.parametrize("kind", ["longcat_flash", "minicpm3", "mllama", "zamba", "recurrent_gemma", "rwkv"])
def test_a_type_that_nobody_has_verified_is_refused_by_name(kind: str, imported: Callable[..., Imported]):
    with pytest.raises(UserError, match=f"model type '{kind}': .*write a profile"):
        imported({"model_type": kind, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2})


def test_a_type_and_an_architecture_that_disagree_are_refused(imported: Callable[..., Imported], config: Any):
    file = config("Qwen/Qwen3-8B") | {"architectures": ["DeepseekV3ForCausalLM"]}
    with pytest.raises(UserError, match="model_type 'qwen3' and architecture 'DeepseekV3ForCausalLM' disagree"):
        imported(file)


def test_an_architecture_stands_for_a_type_that_is_not_known(imported: Callable[..., Imported], config: Any):
    """sgl-project's FP8 copies of DeepSeek-V4 have model_type "deepseek_ref"; others have names of their own."""
    found = imported(config("deepseek-ai/DeepSeek-V3") | {"model_type": "our_own"})
    assert "model_type 'our_own' is not known; DeepseekV3ForCausalLM is" in found.assumed


@pytest.mark.parametrize("name", ["LlamaForCausalLMEagle3", "DeepSeekMTPModel", "Qwen3DFlashForCausalLM"])
def test_a_draft_model_is_refused(name: str, imported: Callable[..., Imported], config: Callable[..., Any]):
    with pytest.raises(UserError, match=r"draft model|generates no text"):
        imported(config("Qwen/Qwen3-8B") | {"architectures": [name], "model_type": "llama"})


@pytest.mark.parametrize(("entry", "value"), [("kv_lora_rank", 512), ("sliding_window", 4096), ("layer_types", ["x"]),
    ("compress_ratios", [4]), ("index_topk", 2048), ("num_kv_shared_layers", 3), ("ssm_state_size", 128),
    ("cross_attention_layers", [3]), ("param_sink_number", 128)])  # fmt: skip
def test_an_entry_that_changes_what_is_kept_and_has_no_meaning_here_is_refused(
    entry: str, value: object, imported: Callable[..., Imported], config: Callable[..., Any]
):
    """A Llama with a latent rank is no Llama; guessing would be silent."""
    file = config("meta-llama/Meta-Llama-3.1-8B", **{entry: value})
    with pytest.raises(UserError, match=f"{entry}: .* changes what is kept, and 'llama' isn't known to have it"):
        imported(file)


def test_nested_configurations_take_sizes_from_their_class_and_say_so(model: ModelOf, imported: Any):
    """google/gemma-3-4b-it as it is on the hub: transformers left out what equals the class."""
    text = {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34}
    file = {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3"}
    file |= {"text_config": text | {"sliding_window": 1024}, "vision_config": {"model_type": "siglip_vision_model"}}
    found = model(file)
    assert kv.logical(found, 131_072, "bf16") == TRUTH["gemma3-4b"]["bytes_at"][131_072]
    said = imported(file).assumed
    assert "num_key_value_heads is not in the file: 4, the default of Gemma3TextConfig" in said


def test_the_same_sizes_missing_at_the_top_of_a_file_are_refused(imported: Any, config: Callable[..., Any], out: Any):
    for entry in ("hidden_size", "num_hidden_layers", "num_attention_heads"):
        with pytest.raises(UserError, match=f"{entry} is missing; is this the whole config"):
            imported(config("mistralai/Mistral-Small-Instruct-2409", **{entry: out}))


def test_a_file_of_facts_has_no_class_behind_it(model: ModelOf, config: Callable[..., Any]):
    """MistralConfig's window of 4,096 holds for a hub file without the entry, not for facts under other names."""
    facts = config("mistralai/Mistral-Large-Instruct-2411")
    assert [group.kind for group in model(facts).groups] == ["full"]
    del facts["_facts_from"]
    assert [group.kind for group in model(facts).groups] == ["sliding"]


def test_whisper_keeps_the_encoders_output(model: ModelOf, config: Callable[..., Any]):
    """32 layers x 20 heads x 64 x 2 x 2 B = 163,840 B a token, for S tokens and for 1,500 frames."""
    found = model(config("openai/whisper-large-v3"))
    assert kv.logical(found, 448, "bf16") == 163_840 * (448 + 1500)


def test_t5_has_heads_of_d_kv_and_an_encoder_as_long_as_n_positions(model: ModelOf, imported: Any):
    """flan-t5-base: 12 layers x 12 heads x 64 x 2 x 2 B = 36,864 B a token; the encoder sees up to 512."""
    file = {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "d_model": 768, "d_kv": 64}
    file |= {"d_ff": 2048, "num_heads": 12, "num_layers": 12, "n_positions": 512, "vocab_size": 32128}
    file |= {"is_encoder_decoder": True}
    assert kv.logical(model(file), 100, "bf16") == 36_864 * (100 + 512)
    del file["n_positions"]
    with pytest.raises(UserError, match="n_positions is missing: how many tokens the encoder sees"):
        imported(file)


def test_every_file_is_read_by_the_reader_of_files():
    for path in FILES:
        document, quant = reading.file(path)
        assert quant is None
        assert document == json.loads(path.read_text())
