"""The package as a library: what it exports, what it imports, what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kvcalc
from kvcalc import Margin, Model, Options, UserError, load_hardware, load_model


def modules(code, tmp_path):
    """What a fresh interpreter has imported after running `code`."""
    env = os.environ | {"PYTHONPATH": str(Path(kvcalc.__file__).parents[1]), "KVCALC_CACHE": str(tmp_path / "cache")}
    program = f"{code}\nimport json, sys\nsys.stderr.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr))


def test_answer_is_a_frozen_result():
    result = kvcalc.margin("llama3-70b", "h100-pcie5", 20_000)
    assert isinstance(result, Margin)
    assert result.paths[0].margin == pytest.approx(6.7, rel=0.01)  # 400 ms / 59.6 ms
    with pytest.raises(AttributeError):
        result.tokens = 1


def test_profiles_and_their_names_give_the_same_answer():
    model, node = load_model("llama3-70b"), load_hardware("h100-pcie5")
    assert isinstance(model, Model)
    assert (model.name, node.name) == ("llama3-70b", "h100-pcie5")
    assert kvcalc.margin(model, node, 5_000) == kvcalc.margin("llama3-70b", "h100-pcie5", 5_000, Options())


def test_model_is_found_by_its_hugging_face_name_in_any_case():
    assert load_model("meta-llama/Meta-Llama-3-70B") == load_model("llama3-70b") == load_model("Llama3-70B")


def test_everything_exported_is_there_and_documented():
    for name in kvcalc.__all__:
        assert getattr(kvcalc, name).__doc__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        kvcalc.nothing  # noqa: B018


def test_user_error_is_a_value_error_with_the_way_out():
    assert issubclass(UserError, ValueError)
    for call in (lambda: load_model("llama3-7b"), lambda: kvcalc.margin("llama3-7b", "h100-pcie5", 1)):
        with pytest.raises(UserError, match="no model 'llama3-7b'; did you mean 'llama3-70b'"):
            call()
    with pytest.raises(UserError, match="no node 'h100-pcie'; did you mean 'h100-pcie5'"):
        load_hardware("h100-pcie")


def test_importing_the_package_waits_for_nothing_heavy(tmp_path):
    found = modules("import kvcalc", tmp_path)
    assert "kvcalc" in found
    assert not found & {"pydantic", "yaml", "typer", "rich", "numpy", "quantiphy"}


def test_answering_imports_nothing_heavy(tmp_path):
    ask = "from kvcalc.cli.main import main; main(['margin', '--model', 'llama3-70b', '--format', 'json'])"
    first, second = (modules(ask, tmp_path) for _ in range(2))
    heavy = {"torch", "numpy", "scipy", "matplotlib", "pandas", "numba"}
    assert not first & heavy
    assert not second & heavy
    assert "pydantic" in first  # profiles are validated once
    assert not second & {"pydantic", "yaml"}  # and remembered
