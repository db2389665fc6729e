"""Running the program as `main(argv)`: exit code, stdout and stderr together."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kvcalc.cli.main import main


class Ran(NamedTuple):
    """What a run of the program left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout as strict JSON, after checking that it did well."""
        assert (self.code, self.err) == (0, "")
        return json.loads(self.out, parse_constant=pytest.fail)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`run("margin", "--model", ...)`."""

    def program(*argv: str) -> Ran:
        code = main([str(each) for each in argv])
        return Ran(code, *capsys.readouterr())

    return program


@pytest.fixture
def margin(run: Callable[..., Ran]) -> Callable[..., Any]:
    """The JSON of `kvcalc margin` for the chapter's question and whatever options are added."""

    def answer(*options: str, model: str = "llama3-70b") -> Any:
        return run("margin", "--model", model, *options, "--format", "json").json

    return answer


@pytest.fixture
def refused(run: Callable[..., Ran]) -> Callable[..., str]:
    """The one line on stderr with which the program refuses wrong input: exit code 2, nothing on stdout."""

    def line(*argv: str) -> str:
        ran = run(*argv)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("kvcalc: ")
        assert ran.err.endswith("\n")
        assert ran.err.count("\n") == 1
        return ran.err.removeprefix("kvcalc: ").rstrip("\n")

    return line
