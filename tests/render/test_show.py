"""Where an answer goes decides how it looks: text on a terminal, markdown in a pipe and in a file."""

import csv
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import kvcalc
from kvcalc.cli.main import main

CHAPTER = ("margin", "--model", "llama3-70b")
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def terminal(tmp_path):
    """Run the program in a terminal of so many columns; what it shows."""

    def run(columns, *argv, **variables):
        env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        env |= {
            "PYTHONPATH": str(Path(kvcalc.__file__).parents[1]),
            "TERM": "xterm-256color",
            "PYTHONIOENCODING": "utf-8",
        }
        env |= {"KVCALC_CACHE": str(tmp_path / "cache")} | variables
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        program = [sys.executable, "-m", "kvcalc", *argv]
        process = subprocess.Popen(program, env=env, cwd=tmp_path, stdin=follower, stdout=follower, stderr=follower)
        os.close(follower)
        shown = b""
        while True:
            try:
                more = os.read(leader, 65536)
            except OSError:  # how Linux says that the other side is closed
                break
            if not more:
                break
            shown += more
        os.close(leader)
        assert process.wait() == 0, shown
        return shown.decode().replace("\r\n", "\n")

    return run


def words(capsys, *argv):
    """Every word of every cell, by the CSV-like cells of the markdown tables."""
    assert main(argv) == 0
    out = capsys.readouterr().out
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in out.splitlines() if line.startswith("|")]
    cells = [cell.strip().replace("\\", "") for row in rows for cell in row if not re.fullmatch(r" -+:? ", cell)]
    assert len(cells) > 100
    return {word for cell in cells for word in cell.split()}


@pytest.mark.parametrize("columns", [80, 160])
def test_terminal_shows_the_tables_as_wide_as_it_is_without_broken_words(terminal, capsys, columns):
    shown = CODES.sub("", terminal(columns, *CHAPTER))
    lines = shown.split("\n")
    assert max(map(len, lines)) <= columns
    assert max(map(len, lines)) > columns - 20
    for word in words(capsys, *CHAPTER):
        assert word in shown
    assert "…" not in shown
    assert not shown.startswith("#")
    assert "| " not in shown  # text, not markdown


def test_wide_terminal_needs_fewer_lines(terminal):
    narrow, wide = (terminal(columns, *CHAPTER).count("\n") for columns in (80, 160))
    assert wide < narrow


def test_no_color_gives_no_escape_codes(terminal):
    coloured, plain = terminal(100, *CHAPTER), terminal(100, *CHAPTER, NO_COLOR="1")
    assert "\x1b[" in coloured
    assert "\x1b" not in plain
    assert [line.rstrip() for line in CODES.sub("", coloured).split("\n")] == plain.split("\n")


def test_format_asked_for_is_shown_on_a_terminal_too(terminal):
    assert terminal(100, *CHAPTER, "--format", "markdown").startswith("## Llama 3 70B")
    assert terminal(100, *CHAPTER, "--format", "json").startswith('{\n  "schema_version": 1')


def test_error_on_a_terminal_is_one_line(tmp_path):
    env = os.environ | {"PYTHONPATH": str(Path(kvcalc.__file__).parents[1]), "FORCE_COLOR": "1", "GITHUB_ACTIONS": "1"}
    program = [sys.executable, "-m", "kvcalc", *CHAPTER, "--tp", "3", "--bogus"]
    done = subprocess.run(program, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_pipe_gets_markdown(tmp_path, capsys):
    env = os.environ | {"PYTHONPATH": str(Path(kvcalc.__file__).parents[1]), "FORCE_COLOR": "1", "COLUMNS": "40"}
    program = [sys.executable, "-m", "kvcalc", *CHAPTER]
    done = subprocess.run(program, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert main(CHAPTER) == 0
    assert (done.returncode, done.stdout, done.stderr) == (0, capsys.readouterr().out, "")
    assert done.stdout.startswith("## Llama 3 70B")


def test_file_gets_markdown_also_from_a_terminal(terminal, tmp_path):
    assert terminal(80, *CHAPTER, "--output", "answer.md") == "kvcalc: wrote answer.md\n"
    assert (tmp_path / "answer.md").read_text().startswith("## Llama 3 70B")


def test_text_in_a_pipe_is_as_wide_as_columns_says_and_without_codes(tmp_path):
    for columns in (80, 132):
        env = os.environ | {"PYTHONPATH": str(Path(kvcalc.__file__).parents[1]), "COLUMNS": str(columns)}
        program = [sys.executable, "-m", "kvcalc", *CHAPTER, "--format", "text"]
        out = subprocess.run(program, env=env, cwd=tmp_path, capture_output=True, text=True).stdout
        assert "\x1b" not in out
        assert columns - 20 < max(map(len, out.split("\n"))) <= columns


def test_csv_is_one_table_and_json_one_document(capsys):
    assert main([*CHAPTER, "--format", "csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 8  # five tiers, two of them with a link for each GPU, and the keys
    assert {len(row) for row in rows} == {len(rows[0])}
