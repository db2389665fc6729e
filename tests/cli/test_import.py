"""`kvcalc models import`: the profile on stdout or in a file, what was assumed on stderr, one line of refusal."""

import io
import json
import os
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
    day = source["checked"].isoformat()
    assert (source["basis"], source["address"]) == ("config", f"Qwen__Qwen3-32B.json, local file, read {day}")
    assert day >= "2026-01-01"


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
    assert "--params: '70' is fewer parameters than any model here has, 1,000,000" in refused(
        "models", "import", QWEN, "--params", "70"
    )
    assert "--name: 'A B' is no name of a profile; small letters, digits and . + - only; 'a-b' would do" in refused(
        "models", "import", QWEN, "--name", "A B"
    )
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


def test_counts_that_the_file_contradicts_are_refused(run, refused):
    """Qwen3-32B: 32.76e9 by its fields. Biases and norms, which aren't counted, are well below 2 %."""
    assert "--params 70.00e9 is not within 2% of the 32.76e9" in refused("models", "import", QWEN, "--params", "70B")
    assert "--active-params 40.00e9 is more than all parameters, 32.76e9" in refused(
        "models", "import", QWEN, "--active-params", "40B"
    )
    assert yaml.safe_load(run("models", "import", QWEN, "--params", "33B").out)["total_parameters"] == 33 * 10**9


def test_tying_that_is_not_in_the_file_is_said_beside_the_count(run):
    """Facts of Qwen2.5-0.5B without the entry; Qwen2Config's default is false."""
    said = run("models", "import", CONFIGS / "Qwen__Qwen2.5-0.5B.json").err
    assert "tie_word_embeddings is not in the file: false, the default of Qwen2Config" in said
    assert "two matrices for embedding and LM head, as assumed above" in said


def test_the_file_that_is_read_is_not_written_over(refused, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(QWEN.read_text())
    for given in (config, tmp_path):
        assert "config.json is the file that is read" in refused("models", "import", given, "--output", config)
    assert json.loads(config.read_text()) == json.loads(QWEN.read_text())


def test_another_file_is_written_over_only_with_force(run, refused, tmp_path):
    made, other = tmp_path / "mine.yaml", CONFIGS / "Qwen__Qwen3-8B.json"
    assert run("models", "import", QWEN, "--output", made).err.endswith(f"kvcalc: wrote {made}\n")
    assert run("models", "import", QWEN, "--output", made).code == 0
    assert "is the profile of 'Qwen3-32B'; add --force" in refused("models", "import", other, "--output", made)
    assert run("models", "import", other, "--output", made, "--force").code == 0
    made.write_text("# notes of my own\n")
    assert "is there and is no profile; add --force" in refused("models", "import", QWEN, "--output", made)


def test_a_name_from_the_output_file_is_made_plain_and_said(run, tmp_path):
    made = tmp_path / "Qwen__Qwen3.5-27B.yaml"
    ran = run("models", "import", QWEN, "--output", made)
    assert yaml.safe_load(made.read_text())["name"] == "qwen3.5-27b"
    assert "kvcalc: the profile is called qwen3.5-27b\n" in ran.err


def test_a_folder_of_the_hubs_cache_gives_the_models_name(run, refused, tmp_path):
    snapshot = tmp_path / "models--Qwen--Qwen3-32B" / "snapshots" / ("0a" * 20)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(QWEN.read_text())
    assert yaml.safe_load(run("models", "import", snapshot).out)["name"] == "qwen3-32b"
    bare = snapshot.rename(tmp_path / snapshot.name)
    assert "nothing says what the model is called; add --name" in refused("models", "import", bare)
    file = json.loads(QWEN.read_text()) | {"_name_or_path": "/models/Our-Qwen"}
    (bare / "config.json").write_text(json.dumps(file))
    assert yaml.safe_load(run("models", "import", bare).out)["name"] == "our-qwen"


def test_from_a_pipe_a_name_is_asked_for(refused, monkeypatch):
    stdin(monkeypatch, QWEN.read_bytes())
    assert refused("models", "import", "-") == "stdin: nothing says what the model is called; add --name"


def test_control_characters_of_a_file_do_not_reach_the_terminal(run, tmp_path):
    for hidden in ("\x1b[31m", "\n", "\x85", "\u202e"):
        path = tmp_path / f"odd{hidden}name.json"
        file = {"architectures": [f"Foo{hidden}"], "model_type": f"a{hidden}", f"num_layers{hidden}": 2}
        for content in (file, file | {"model_type": "llama"}, {"model_type": "llama", "text_config": {hidden: 1}}):
            path.write_text(json.dumps(content))
            ran = run("models", "import", path)
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
            assert hidden not in ran.err.rstrip("\n")


def test_a_pipe_or_a_device_is_no_plain_file(refused, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null", "/dev/zero"):
        assert refused("models", "import", path) == f"{path}: is not a plain file; give a config.json, or - for stdin"
    assert refused("models", "import", QWEN, "--hf-quant", "/dev/null") == (
        "--hf-quant /dev/null: is not a plain file; give a hf_quant_config.json"
    )


def test_the_file_of_hf_quant_is_named_in_its_errors(refused, tmp_path):
    quant = tmp_path / "q.json"
    wrong = {
        "{": "line 1: is not JSON",
        "[]": "holds a list and no object; give a hf_quant_config.json",
        '{"quantization": {"kv_cache_quant_algo": "FP3"}}': "kv_cache_quant_algo: 'FP3' is not",
    }
    for content, said in wrong.items():
        quant.write_text(content)
        assert refused("models", "import", QWEN, "--hf-quant", quant).startswith(f"--hf-quant {quant}: {said}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line_after_the_notes():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kvcalc", "models", "import", str(QWEN)],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "kvcalc: stdout: no space left on device")
