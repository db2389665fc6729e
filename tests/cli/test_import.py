"""`kvcalc models import`: the profile on stdout or in a file, what was assumed on stderr, one line of refusal."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kvcalc.profiles import places

CONFIGS = Path(__file__).resolve().parents[1] / "data" / "hf_configs"
SCOUT = CONFIGS / "meta-llama__Llama-4-Scout-17B-16E-Instruct.json"
QWEN = CONFIGS / "Qwen__Qwen3-32B.json"


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_the_profile_goes_to_stdout_and_what_was_assumed_to_stderr(run):
    ran = run("models", "import", SCOUT)
    assert ran.code == 0
    found = yaml.safe_load(ran.out)
    assert (found["name"], found["groups"][1]["kind"]) == ("llama-4-scout-17b-16e-instruct", "chunked")
    assert "kvcalc: no_rope_layer_interval is not in the file: 4, the default of Llama4TextConfig\n" in ran.err
    assert "kvcalc: parameters: 107.77e9 counted from the file, 15.10e9 a token" in ran.err


def test_the_file_that_is_written_is_checked_and_used(run, tmp_path):
    made = tmp_path / "mine.yaml"
    ran = run("models", "import", QWEN, "--output", made)
    assert (ran.code, ran.out) == (0, "")
    checked = run("models", "check", made)
    assert (checked.code, checked.out) == (0, f"{made}: model 'mine' is well formed, with sources config\n")
    answer = run("margin", "--model", made, "--format", "json").json
    assert answer["kv_bytes"] == 20_000 * 64 * 8 * 256  # fp8: a byte an element


def test_the_written_profile_says_where_and_when_it_was_read(run):
    source = yaml.safe_load(run("models", "import", QWEN).out)["sources"]["config"]
    assert (source["basis"], source["address"]) == ("config", str(QWEN))
    assert source["checked"].isoformat() >= "2026-01-01"


def test_a_configuration_may_come_on_stdin(run, monkeypatch):
    stdin(monkeypatch, QWEN.read_bytes())
    ran = run("models", "import", "-", "--name", "by-pipe")
    assert (ran.code, yaml.safe_load(ran.out)["name"]) == (0, "by-pipe")


def test_a_folder_gives_its_name_and_its_quantisation(run, tmp_path):
    folder = tmp_path / "My Model.FP8"
    folder.mkdir()
    (folder / "config.json").write_text(QWEN.read_text())
    (folder / "hf_quant_config.json").write_text(
        '{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}'
    )
    for given in (folder, folder / "config.json"):
        ran = run("models", "import", given)
        found = yaml.safe_load(ran.out)
        assert (found["name"], found["checkpoint"], found["kv_cache"]) == ("my-model.fp8", "fp8", "fp8")
        assert f"kvcalc: read {folder / 'hf_quant_config.json'} too\n" in ran.err


def test_the_kv_format_of_the_checkpoint_is_what_auto_means(run, tmp_path):
    quant = tmp_path / "hf_quant_config.json"
    quant.write_text('{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}')
    made = {each: tmp_path / f"{each}.yaml" for each in ("plain", "quantised")}
    run("models", "import", QWEN, "--output", made["plain"])
    run("models", "import", QWEN, "--hf-quant", quant, "--output", made["quantised"])
    plain, quantised = (
        run("margin", "--model", each, "--kv-dtype", "auto", "--format", "json").json for each in made.values()
    )
    assert (plain["kv_stored"], quantised["kv_stored"]) == ("bf16", "fp8")
    assert plain["kv_bytes"] == 2 * quantised["kv_bytes"]


def test_given_parameters_are_kept_where_they_cant_be_counted(run):
    path = CONFIGS / "stepfun-ai__step3.json"
    ran = run("models", "import", path)
    assert "the file's fields don't suffice to count them; give --params and --active-params" in ran.err
    ran = run("models", "import", path, "--params", "321B", "--active-params", "38e9")
    found = yaml.safe_load(ran.out)
    assert (found["total_parameters"], found["active_parameters"]) == (321_000_000_000, 38_000_000_000)
    assert "parameters: 321.00e9 as given" in ran.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "stdin: is empty; give a config.json"),
        (b'{"model_type": "llama", "hid', "stdin: line 1: is not JSON: .*; is the file cut off"),
        (b"[1, 2]", "stdin: holds a list and no object; give a config.json"),
        (b"\x00\xff\xfe", "stdin: is not a text file in UTF-8"),
        (b'{"a": 1, "a": 2}', "stdin: key 'a' is given twice"),
        (b'{\n<<<<<<< HEAD\n}', "stdin: line 2: has an unresolved git conflict; resolve it first"),
        (b"{" + b" " * 50_000_000 + b"}", "stdin: is longer than 4,000,000 bytes"),
        (b"{}", "stdin: a file without model_type is not known here; it has no fields; write a profile"),
        (b'{"architectures": ["ViTForImageClassification"], "model_type": "vit"}', "stdin: .* generates no text"),
        (b'{"architectures": ["BertModel"], "model_type": "bert"}', "stdin: BertModel generates no text"),
        (b'{"tokenizer_class": "X"}', "stdin: is a tokenizer's configuration, not its config.json; give that"),
        (b'{"model_type": "llama", "num_hidden_layers": "32"}', "stdin: num_hidden_layers: '32' is not a whole number"),
        (b'{"model_type": "llama", "num_hidden_layers": -1}', "stdin: num_hidden_layers: -1 is not between 1"),
        (b'{"model_type": "llama", "num_hidden_layers": NaN}', "stdin: num_hidden_layers: nan is not a whole number"),
        (b'{"model_type": ["llama"]}', r"stdin: model_type: \['llama'\] is not a text"),
        (b'{"model_type": "rwkv"}', "stdin: model type 'rwkv': .* write a profile"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_that_says_what_to_do(content, said, refused, monkeypatch):
    stdin(monkeypatch, content)
    line = refused("models", "import", "-")
    assert re.search(said, line), line


def test_options_that_are_wrong_are_one_line_too(refused, tmp_path):
    assert refused("models", "import") == ("give one of FILE and --from-hub: kvcalc models import path/to/config.json")
    assert "give one of FILE and --from-hub" in refused("models", "import", QWEN, "--from-hub", "Qwen/Qwen3-8B")
    assert refused("models", "import", tmp_path).endswith(
        "has no config.json; give the file itself or a model's folder"
    )
    assert "no such file or directory" in refused("models", "import", tmp_path / "none.json")
    assert "'8Q' is not a count of parameters" in refused("models", "import", QWEN, "--params", "8Q")
    assert "--active-params 2,000 is more than --params 1,000" in refused(
        "models", "import", QWEN, "--params", "1000", "--active-params", "2000"
    )
    assert "--name: 'A B' is no name of a profile" in refused("models", "import", QWEN, "--name", "A B")
    assert "cannot be written" in refused("models", "import", QWEN, "--output", tmp_path / "no" / "x.yaml")
    assert "has no 'quantization'" in refused("models", "import", QWEN, "--hf-quant", QWEN)


def test_nothing_is_written_when_a_file_is_refused(run, tmp_path):
    bad, made = tmp_path / "config.json", tmp_path / "made.yaml"
    bad.write_text('{"model_type": "novel"}')
    assert run("models", "import", bad, "--output", made).code == 2
    assert list(tmp_path.iterdir()) == [bad]


def test_margin_does_not_import_the_importer():
    """It would cost the main command its quick start."""
    program = "import sys; from kvcalc.cli.main import main; main(['margin', '--model', 'llama3-70b']); "
    program += "print([name for name in sys.modules if 'huggingface' in name], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_every_file_goes_through_the_command(run):
    for path in sorted(CONFIGS.glob("*.json")):
        ran = run("models", "import", path)
        assert ran.code == 0, ran.err
        assert json.dumps(yaml.safe_load(ran.out)["groups"])


def test_a_shipped_profile_has_the_layers_of_its_file(run):
    found = yaml.safe_load(run("models", "import", CONFIGS / "zai-org__GLM-5.2.json").out)
    shipped = yaml.safe_load((places.shipped() / places.MODELS / "glm-5.2.yaml").read_text())
    assert (found["groups"], found["mtp"], found["feed_forward"]) == (
        shipped["groups"], shipped["mtp"], shipped["feed_forward"],
    )  # fmt: skip
