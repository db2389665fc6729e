"""A file that is no configuration is refused in a line that says what it is."""

import json
from pathlib import Path

import pytest

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface import hub, reading


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; give a config.json"),
        (" \n\t", "is empty"),
        ('{"model_type": "llama", "hidden', "line 1: is not JSON: .*; is the file cut off?"),
        ('{"a": 1,}', "line 1: is not JSON"),
        ("model_type: llama", "is not JSON"),
        ('[{"model_type": "llama"}]', "holds a list and no object"),
        ('"llama"', "holds a single value and no object"),
        ("5", "holds a single value"),
        ('{"a": 1,\n"a": 2}', "key 'a' is given twice"),
        ('{"a": {"b": 1, "b": 1}}', "key 'b' is given twice"),
        ('{\n<<<<<<< HEAD\n"a": 1\n=======\n"a": 2\n>>>>>>> other\n}', "line 2: has an unresolved git conflict"),
        ("[" * 100_000, "is nested too deep|is not JSON"),
        ('{"a": ' + "9" * 10_000 + "}", "exceeds|digits"),
    ],
)
def test_a_text_that_is_no_object_is_refused(text: str, said: str):
    with pytest.raises(UserError, match=said):
        reading.parsed(text, "config.json")


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + b'{\r\n"model_type": "llama"\r\n}\r\n')
    assert reading.file(path) == ({"model_type": "llama"}, None)


def test_utf_16_is_read(tmp_path: Path):
    """Windows PowerShell's > writes it, with its mark."""
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama"}', encoding="utf-16")
    assert reading.file(path) == ({"model_type": "llama"}, None)


def test_a_long_tokenizer_is_named_as_one(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    path.write_text('{"added_tokens": [], "model": "' + "x" * reading.LARGEST_FILE + '"}')
    with pytest.raises(UserError, match=r"tokenizer.json: is a tokenizer's file, not a config.json; give that"):
        reading.file(path)


def test_what_is_no_text_or_too_long_is_refused(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(UserError, match=r"is not a text file in UTF-8; give a config.json"):
        reading.file(path)
    path.write_bytes(b"{" + b" " * 50_000_000)
    with pytest.raises(UserError, match=r"is longer than 4,000,000 bytes, too long for a config.json"):
        reading.file(path)


def test_a_folder_is_read_with_what_lies_beside_and_without_a_configuration_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"has no config.json; give the file itself or a model's folder"):
        reading.file(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert reading.file(tmp_path) == ({}, None)
    (tmp_path / "hf_quant_config.json").write_text("{}")
    assert reading.file(tmp_path) == ({}, tmp_path / "hf_quant_config.json")


def test_what_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"no such file or directory; give a config.json"):
        reading.file(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"version": "1.0", "added_tokens": [], "pre_tokenizer": {}, "model": {}}, "is a tokenizer's file"),
        ({"tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": {}}, "is a tokenizer's configuration"),
        ({"metadata": {}, "weight_map": {}}, "is an index of the weights"),
        ({"peft_type": "LORA", "r": 8}, "is the configuration of a LoRA adapter"),
        ({"producer": {}, "quantization": {}}, "--hf-quant"),
        ({"image_processor_type": "CLIPImageProcessor"}, "is the configuration of a preprocessor"),
        ({"dim": 4096, "n_layers": 32, "n_kv_heads": 8}, "is Mistral's own params.json"),
    ],
)
def test_another_file_of_a_model_is_named(document: dict[str, object], said: str):
    with pytest.raises(UserError, match=said):
        reading.refuse_others(document, "file.json")
    reading.refuse_others(document | {"model_type": "llama"}, "file.json")


@pytest.mark.parametrize("name", ["llama", "a/b/c", "../x", "a b/c", ""])
def test_a_name_that_is_none_of_the_hub_is_refused(name: str):
    with pytest.raises(UserError, match="is not ORGANISATION/NAME"):
        hub.fetch(name)


def test_without_the_extra_the_hub_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UserError, match=r"--from-hub needs huggingface_hub; run: pip install 'kvcalc\[hub\]'"):
        hub.fetch("Qwen/Qwen3-8B")


def test_infinity_is_read_and_nothing_else_that_json_lacks():
    assert reading.parsed('{"a": Infinity}', "x") == {"a": float("inf")}
    assert json.dumps(reading.parsed('{"a": 1}', "x")) == '{"a": 1}'
