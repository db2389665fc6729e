"""README.md: its commands are run, and what they print is what stands below them.

In a ```console block a line that begins with `$ ` is a command, a line that ends with a backslash goes on in the next
one, and the lines up to the next command are what it prints on stdout and stderr, exactly; `...` on a line of its own
stands for any lines. All blocks of a page are run in one empty folder, in their order. Commands of ```sh blocks that
begin with `kvcalc` are run too, and have to end well; ```python blocks likewise.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kvcalc
from kvcalc.profiles import places

README = Path(__file__).parents[1] / "README.md"
END = "--- end of the example ---"


class Example(NamedTuple):
    """A command of a page and what stands below it."""

    line: int
    command: str
    printed: str


def blocks(text: str, language: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of a language with the numbers of their first lines."""
    for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text[: found.start()].count("\n") + 2, found[1]


def examples(text: str) -> Iterator[Example]:
    """The commands of the console blocks with what they print."""
    for first, block in blocks(text, "console"):
        lines = block.splitlines()
        starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
        assert starts[:1] == [0], f"line {first}: a console block begins with a command"
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            last = start
            while lines[last].endswith("\\"):
                last += 1
            command = "\n".join([lines[start].removeprefix("$ "), *lines[start + 1 : last + 1]])
            yield Example(first + start, command, "".join(f"{line}\n" for line in lines[last + 1 : end]))


def shell(folder: Path, script: str) -> str:
    """What a script prints, with this package as `kvcalc`."""
    programs = folder / ".bin"
    programs.mkdir(exist_ok=True)
    for name, module in (("kvcalc", " -m kvcalc"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n')
        (programs / name).chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    env |= {"PATH": f"{programs}{os.pathsep}{env['PATH']}", "PYTHONPATH": str(Path(kvcalc.__file__).parents[1])}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", timeout=120,
    )  # fmt: skip
    return done.stdout


def ran(commands: list[str], folder: Path) -> list[str]:
    """What each of some commands prints, run one after the other in one shell, so that `$?` and variables live on."""
    marked = (f"{command}\nended=$?; echo '{END}'; (exit $ended)\n" for command in commands)
    return shell(folder, "".join(marked)).split(f"{END}\n")[: len(commands)]


def agrees(printed: str, actual: str) -> bool:
    """Is this what stands on the page, where `...` stands for any lines?"""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, actual) is not None


def differences(page: Path, folder: Path) -> list[str]:
    """Each example of a page that prints something else, with what it prints."""
    found = list(examples(page.read_text(encoding="utf-8")))
    actual = ran([each.command for each in found], folder)
    assert len(actual) == len(found)
    return [
        f"{page.name}:{example.line}: {example.command}\n"
        + "\n".join(
            difflib.unified_diff(example.printed.splitlines(), out.splitlines(), "page", "program", lineterm="")
        )
        for example, out in zip(found, actual, strict=True)
        if not agrees(example.printed, out)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the node file that the README tells its reader to write, a model's configuration and tests/."""
    shutil.copy(places.shipped() / "hardware_profiles" / "nodes" / "h200-pcie5.yaml", tmp_path / "my-node.yaml")
    (tmp_path / "tests").symlink_to(README.parent / "tests")
    shutil.copy(Path(__file__).parent / "data" / "hf_configs" / "Qwen__Qwen3-32B.json", tmp_path / "config.json")
    return tmp_path


def test_readme_has_examples():
    assert len(list(examples(README.read_text(encoding="utf-8")))) >= 1


def test_examples_print_what_stands_below_them(folder):
    assert "\n\n".join(differences(README, folder)) == ""


def test_other_commands_of_the_readme_end_well(folder):
    text = README.read_text(encoding="utf-8")
    lines = [line for _, block in blocks(text, "sh") for line in block.splitlines()]
    commands = [line.partition("#")[0].strip() for line in lines if line.startswith("kvcalc ")]
    assert commands
    ended = ran([f"({command}) >out 2>err; echo $?; cat err" for command in commands], folder)
    assert {command: end for command, end in zip(commands, ended, strict=True) if not end.startswith("0\n")} == {}


def test_programs_of_the_readme_run(folder):
    programs = [block for _, block in blocks(README.read_text(encoding="utf-8"), "python")]
    assert programs
    for number, program in enumerate(programs):
        (folder / f"program{number}.py").write_text(program)
        out = shell(folder, f"python program{number}.py || echo failed")
        assert "restore" in out
        assert "failed" not in out


def test_first_command_of_the_readme_is_the_one_that_is_promised():
    text = README.read_text(encoding="utf-8")
    assert "pip install . && kvcalc margin --model llama3-70b --seq 20000" in text
    assert 'pip install -e ".[test]" && pytest' in text


@pytest.mark.parametrize(("printed", "actual", "same"), [
    ("a\nb\n", "a\nb\n", True),
    ("a\nb\n", "a\nb", False),
    ("a\n", "a\nb\n", False),
    ("a\nb\n", "a\n", False),
    ("a b\n", "a  b\n", False),
    ("...\nb\n", "a\nb\n", True),
    ("a\n...\n", "a\n", True),
    ("a\n...\nd\n", "a\nb\nc\nd\n", True),
    ("a\n...\nd\n", "a\nb\nc\n", False),
    ("a...\n", "abc\n", False),
    ("", "", True),
    ("", "a\n", False),
])  # fmt: skip
def test_only_dots_on_a_line_of_their_own_stand_for_anything(printed, actual, same):
    assert agrees(printed, actual) == same


def test_examples_are_told_apart_and_run_in_one_shell(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```console\n$ echo one\none\n$ x=two; false\n$ echo $? \\\n  $x\n1 two\n```\n"
        "\n```sh\n$ echo no\n```\n"
        "\n```console\n$ echo out; echo err >&2; printf three\nout\nerr\nthree\n$ echo wrong\nright\n```\n"
    )
    found = list(examples(page.read_text()))
    assert [(each.line, each.command) for each in found] == [
        (4, "echo one"), (6, "x=two; false"), (7, "echo $? \\\n  $x"),
        (17, "echo out; echo err >&2; printf three"), (21, "echo wrong"),
    ]  # fmt: skip
    (unfinished, wrong) = differences(page, tmp_path)
    assert unfinished.startswith("page.md:17: ")  # its last line has no end
    assert wrong.startswith("page.md:21: echo wrong\n")
    assert "-right" in wrong
    assert "+wrong" in wrong
