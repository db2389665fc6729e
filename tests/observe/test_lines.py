"""Logs as they come: coloured, wrapped, packed, long, or no logs at all."""

import gzip
import io
import json
import sys

import pytest

from kvcalc.errors import UserError
from kvcalc.observe import lines, logs

POOL = "INFO 09-20 10:33:02 [kv_cache_utils.py:864] GPU KV cache size: 443,344 tokens"


def tokens(text: str) -> int | None:
    return logs.parse(text).kv_tokens


@pytest.mark.parametrize(
    "text",
    [
        f"first\r\n{POOL}\r\nlast\r\n",  # Windows
        "\x1b[1;36m(EngineCore_0 pid=1)\x1b[0;0m " + POOL.replace("443,344", "\x1b[1m443,344\x1b[0m"),  # colours
        "Capturing CUDA graphs: 100%|#####| 4/4 [00:18<00:00]\r" + POOL,  # a progress bar before it
        f"vllm-1  | {POOL}",  # docker compose
        f"2026-03-11T13:53:21.123456789Z stderr F {POOL}",  # Kubernetes
        json.dumps({"log": POOL + "\n", "stream": "stderr", "time": "2026-03-11T13:53:21Z"}),  # Docker's own file
        json.dumps({"severity": "INFO", "jsonPayload": {"message": POOL}}),  # a cloud's
        json.dumps({"msg": "\x1b[32m" + POOL}),
        f"Mar 11 13:53:21 host python3[28148]: {POOL}",  # the journal
        f"^[[36m{POOL}^[[0m",  # cat -v
        POOL.replace("KV cache size", "KV \x1b[32mcache\x1b[0m size"),  # a code inside the words that are searched
        json.dumps({"log": POOL.replace("KV cache size", "KV \x1b[32mcache\x1b[0m size")}),
        json.dumps({"log": json.dumps({"message": POOL})}),  # one shipper behind another
        json.dumps([{"message": POOL}], indent=1),
        f'time=2026-03-11T13:53:21Z level=info msg="{POOL}"',
        "\udcff".encode("utf-8", "surrogatepass").decode("utf-8", "replace") + POOL,
    ],
)
def test_the_line_is_found_whatever_is_around_it(text):
    assert tokens(text) == 443344


def test_a_log_of_powershell_is_read(tmp_path):
    """Its > writes UTF-16."""
    path = tmp_path / "vllm.log"
    path.write_text(f"start\n{POOL}\n", encoding="utf-16")
    assert logs.read(str(path)).kv_tokens == 443344


def test_bytes_of_no_encoding_do_no_harm(tmp_path):
    path = tmp_path / "vllm.log"
    path.write_bytes(b"caf\xe9 \xff\xfe\n" + POOL.encode())
    (found,) = logs.read(str(path)).findings
    assert (found.line, found.value) == (2, 443344)


def test_lines_of_two_workers_may_be_mixed():
    text = "\n".join(
        (
            "(Worker_TP1 pid=2) INFO [gpu_worker.py:298] Available KV cache memory: 53.9 GiB",
            "(EngineCore_0 pid=1) " + POOL,
            "(Worker_TP0 pid=1) INFO [gpu_worker.py:298] Available KV cache memory: 54.12 GiB",
        )
    )
    assert logs.parse(text).available_kv_bytes == pytest.approx(53.9 * 2**30)


def test_stdin_is_read(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(POOL.encode())))
    assert logs.read("-").kv_tokens == 443344


def test_a_long_log_is_streamed_and_its_lines_are_counted(tmp_path):
    """Longer than several blocks; the line stands at the end of them."""
    path = tmp_path / "vllm.log"
    noise = b"INFO 09-20 10:33:02 [loggers.py:1] nothing to see here\n" * 1000
    blocks = 3 * lines.BLOCK // len(noise)
    with path.open("wb") as stream:
        for _ in range(blocks):
            stream.write(noise)
        stream.write(POOL.encode())
    (found,) = logs.read(str(path)).findings
    assert found.line == blocks * 1000 + 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\x7fELF\x00\x00\x01", "is not text"),
        (gzip.compress(b"GPU KV cache size"), "packed (gzip)"),
        (b"PK\x03\x04 something", "packed (zip)"),
        (b"just\nsome\ntext\n", "no line of"),
        (b"<html><body>login</body></html>", "no line of"),
    ],
)
def test_what_is_no_log_is_refused_in_one_line(tmp_path, content, says):
    path = tmp_path / "thing.log"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        logs.read(str(path))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none.log"):
        with pytest.raises(UserError, match="cannot be read"):
            logs.read(str(path))


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 1024)
    monkeypatch.setattr(lines, "LONGEST", 4096)
    path = tmp_path / "thing.log"
    path.write_bytes(b"x" * 20_000)
    with pytest.raises(UserError, match="has a line of more than"):
        logs.read(str(path))


def test_of_lines_that_say_the_same_again_only_the_latest_are_read():
    """A serving engine prints its rates every ten seconds; a real log holds hundreds of thousands of them."""
    many = "rate 1\n" * 100 + "other\n" + "rate 2\n" * 100
    found = list(lines.of_text(many, frozenset({"other"}), frozenset({"rate"})))
    assert len(found) == lines.LATEST + 1
    assert found[0] == (101, "other")
    assert found[-1] == (201, "rate 2")
