"""docs/: examples are run and compared as those of the README are; pages that list things list all of them."""

import importlib.util
import json
import re
from datetime import date
from pathlib import Path

import pytest

import kvcalc
from kvcalc import Options
from kvcalc.answers import flips, log_reasons
from kvcalc.answers.capacity_log import compare
from kvcalc.answers.checklist import checklist
from kvcalc.answers.checklist_options import ChecklistOptions, Read
from kvcalc.answers.curve import curve
from kvcalc.answers.placement import Placing
from kvcalc.answers.playing import Playing
from kvcalc.answers.route import route
from kvcalc.answers.simulate import simulate
from kvcalc.cli.main import main
from kvcalc.observe import logs, metrics, scrape
from kvcalc.profiles.huggingface import families
from kvcalc.render import json as renderer

LOAD = {"rate": 2.0, "hit_rate": 0.6, "concurrency": 8, "new": 500}
USES = tuple({"use": use} for use in ("preempt", "active", "shared"))
PRICE = kvcalc.Price(1.0, "USD", date(2026, 11, 29))
PRICES = kvcalc.Prices(PRICE, {"dram": PRICE}, {"nvme": kvcalc.Rating(1.0, 1e8)})
DOCS = Path(__file__).parents[1] / "docs"
ANSWERS = Path(kvcalc.__file__).parent / "answers"
METRICS = Path(__file__).parent / "data" / "metrics"
PAGES = sorted(DOCS.glob("*.md"))


def _runner():
    """tests/test_readme.py, which runs the examples of a page."""
    spec = importlib.util.spec_from_file_location("readme_examples", Path(__file__).with_name("test_readme.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


runner = _runner()
WITH_EXAMPLES = [page for page in PAGES if list(runner.examples(page.read_text(encoding="utf-8")))]


def keys(value):
    """Every key of a JSON document, however deep."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_print_what_stands_below_them(page, tmp_path):
    (tmp_path / "tests").symlink_to(Path(__file__).parent)
    assert "\n\n".join(runner.differences(page, tmp_path)) == ""


def test_chapter_is_answered_by_commands():
    page = DOCS / "textbook.md"
    found = [example.command for example in runner.examples(page.read_text(encoding="utf-8"))]
    assert len([command for command in found if command.startswith("kvcalc margin")]) >= 5


def test_output_page_names_every_key_of_the_json():
    text = (DOCS / "output.md").read_text(encoding="utf-8")
    asked = {"prefill": "model"}, {"engine": "vllm", "bandwidth": {"dram": 1e9}}, {}, LOAD, *USES
    results = [kvcalc.margin("llama3-70b", "h100-pcie5", 20_000, Options(**options)) for options in asked]
    results.append(kvcalc.cost("llama3-70b", "h100-pcie5", 20_000, Options(**LOAD), PRICES))
    found = keys(json.loads(renderer.render(results)))
    assert {"fetch_s", "kv_bytes", "schema_version", "arithmetic", "knob", "checked"} <= found
    assert {"stations", "bound_by", "out_s", "slowdown", "pooled_s", "break_even_s", "life_s", "net"} <= found
    assert {key for key in found if f"`{key}`" not in text} == set()


def test_output_page_names_every_key_of_a_curve(data):
    text = (DOCS / "output.md").read_text(encoding="utf-8")
    placing = Placing(kvcalc.load_model("llama3-70b"), kvcalc.load_hardware("h100-pcie5"), Options())
    found = keys(json.loads(renderer.render([curve(data / "mooncake_arxiv_first20.jsonl", placing)])))
    assert {"token_rate", "reach_tokens", "notes"} <= found
    assert {key for key in found if f"`{key}`" not in text} == set()


def test_output_page_names_every_key_of_a_replay(data):
    text = (DOCS / "output.md").read_text(encoding="utf-8")
    placing = Placing(
        kvcalc.load_model("llama3-70b"), kvcalc.load_hardware("h100-pcie5"), Options(), kv_dtypes=("fp8",)
    )
    trace = data / "mooncake_arxiv_first20.jsonl"
    answers = simulate(trace, placing), route(trace, placing, Playing(replicas=2))
    found = set().union(*(keys(json.loads(renderer.render([answer]))) for answer in answers))
    assert {"ttft_p99_s", "drive_writes_per_day", "fetch_if", "failure_modes"} <= found
    assert {key for key in found if f"`{key}`" not in text} == set()


def test_output_page_names_every_knob_and_csv_key(capsys):
    text = (DOCS / "output.md").read_text(encoding="utf-8")
    assert all(f"`{knob}`" in text for knob in flips.Knob.__args__)
    assert (
        main(
            [
                "margin",
                "--model",
                "llama3-70b",
                "--hardware",
                "h100-pcie5",
                "--hardware",
                "h200-pcie5",
                "--format",
                "csv",
            ]
        )
        == 0
    )
    header = capsys.readouterr().out.splitlines()[0]
    assert all(f"`{key}`" in text for key in header.split(","))


def test_models_page_names_every_model_type_that_is_known_or_refused():
    text = (DOCS / "models.md").read_text(encoding="utf-8")
    assert {name for name in (*families.KNOWN, *families.REFUSED) if f"`{name}`" not in text} == set()


@pytest.mark.parametrize("command", ["crossover", "sweep"])
def test_output_page_names_every_key_of_crossovers_and_sweeps(command, capsys):
    text = (DOCS / "output.md").read_text(encoding="utf-8")
    found = set()
    for form in ("json", "csv"):
        assert main([command, "--model", "llama3-70b", "--tp", "8", "--format", form]) == 0
        out = capsys.readouterr().out
        found |= keys(json.loads(out)) if form == "json" else set(out.splitlines()[0].split(","))
    assert {"margin", "link_bytes_per_s", "kv_bytes"} <= found
    assert {key for key in found if f"`{key}`" not in text} == set()


def test_chapter_tables_come_out_of_one_sweep_each():
    """Sections 2, 4 and 7."""
    found = [example.command for example in runner.examples((DOCS / "textbook.md").read_text(encoding="utf-8"))]
    assert len([command for command in found if command.startswith("kvcalc sweep")]) >= 3


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_output_page_names_every_key_of_capacity_and_of_its_logs():
    text = (DOCS / "output.md").read_text(encoding="utf-8")
    planned = kvcalc.capacity("llama3.1-8b", "h100-pcie5")
    line = "KV Cache is allocated. #tokens: 1000, K size: 0.06 GB, V size: 0.06 GB"
    seen = compare(logs.parse(f"[2026-03-11 13:53:23 TP0] {line}\n"), "llama3.1-8b")
    found = keys(json.loads(renderer.render([planned, seen])))
    assert {"hbm", "adds_prefixes_low", "comparisons", "findings", "whole_takes_bytes"} <= found
    assert {key for key in found if f"`{key}`" not in text} == set()


def test_capacity_page_names_every_reason():
    text = (DOCS / "capacity.md").read_text(encoding="utf-8")
    assert [each.code for each in log_reasons.RULES if f"`{each.code}`" not in text] == []


def test_capacity_page_holds_the_tables_of_its_script(script):
    """`python scripts/capacity_report.py` writes them again."""
    for name in ("log_rows", "fit_budget", "log_report"):
        script(name)
    report = script("capacity_report")
    text = report.PAGE.read_text(encoding="utf-8")
    assert report.page(text) == text


def test_output_page_names_every_key_of_a_checklist():
    text = (DOCS / "output.md").read_text(encoding="utf-8")
    dump = metrics.observe(scrape.take(str(METRICS / "vllm_v1_tiered_qwen3-32b_t1.prom")))
    options = ChecklistOptions(tp=1, read=(Read("dump", "metrics", dump),))
    found = keys(json.loads(renderer.render([checklist("qwen3-32b", "h100-pcie5", options)])))
    assert {"boxes", "effect", "lookups", "thread_seconds", "evicted_per_hour"} <= found
    assert {key for key in found if f"`{key}`" not in text} == set()


def test_checklist_page_names_every_code():
    text = (DOCS / "checklist.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in ANSWERS.glob("checklist_*.py")]
    codes = {code for source in sources for code in re.findall(r"""said\(\s*[^,]*,\s*"([a-z0-9-]+)",""", source)}
    assert len(codes) > 40
    assert {code for code in codes if f"`{code}`" not in text} == set()
