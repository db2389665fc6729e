"""`--explain`: whoever works the printed lines out with a pocket calculator gets the printed results."""

import re

import pytest

import kvcalc
from kvcalc import Options
from kvcalc.tables import explain

ASKED = {
    "the chapter": ("llama3-70b", "h100-pcie5", 20_000, {}),
    "model, all-reduce": ("qwen2.5-72b", "h200-pcie5", 5_000, {"prefill": "model"}),
    "model, experts": ("deepseek-v3", "h200-pcie5", 3_000, {}),
    "model, sparse and index": ("deepseek-v3.2", "b200-pcie5", 50_000, {"prefill": "model"}),
    "model, weights not read yet": ("llama3.1-8b", "h100-pcie5", 30, {"tp": 1, "prefill": "model"}),
    "curve": ("llama3.1-8b", "h100-pcie5", 30_000, {"tp": 1, "weights": "bf16", "kv_dtype": "bf16"}),
    "window": ("gpt-oss-120b", "b200-pcie5", 9_000, {"tp": 1, "prefill": "model"}),
    "states": ("nemotron3-nano-30b-a3b", "h100-pcie5", 3_000, {"tp": 2, "prefill": "model"}),
    "compressed": ("deepseek-v4-pro", "b200-pcie5", 300_000, {"prefill": 1e4}),
    "pages": ("llama3-70b", "h100-pcie5", 20_000, {"engine": "vllm"}),
    "each rank its own copy": ("deepseek-v3", "h200-pcie5", 8_000, {"engine": "vllm"}),
    "tokens to follow": ("llama3.1-70b", "h100-pcie5", 10_000, {"new": 2_000, "prefill": "model"}),
}
every_answer = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
SCALE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "u": 1e-6, "": 1.0}
NUMBER = r"[\d.,]*\d(?:e[+-]?\d+)?"
QUANTITY = re.compile(rf"({NUMBER}) ([kMGTmu]?)(?:B/s|tok/s|B|s)\b")


def lines(asked):
    model, node, tokens, options = asked
    return explain.lines(kvcalc.margin(model, node, tokens, Options(**options)))


def recompute_line(found):
    (line,) = [line for line in found if line.startswith("recompute = ") and " tok/s = " in line]
    return line


def quantity(text):
    """The SI value of the first quantity in a text like "59.6 ms"."""
    number, prefix = QUANTITY.search(text).groups()
    return float(number.replace(",", "")) * SCALE[prefix]


def worked_out(text):
    """The value of the arithmetic in a text like "1.2e-06 s x 20000 / (20000 + 209.3) + 3 s x 4 pairs of tokens"."""
    kept = re.sub(r"(?<![\d.])[A-Za-z]+(?![\d.])|(?<=\d) (?:s|B)\b", lambda word: "*" if word[0] == "x" else " ", text)
    assert re.fullmatch(r"[\d.,e+\-*/() ]+", kept), text
    return eval(kept.replace(",", ""))


@every_answer
def test_bytes_of_the_groups_multiply_and_add_up(asked):
    total = 0
    for line in lines(asked):
        if line.startswith("KV of the prefix"):
            assert int(re.search(r"= ([\d,]+) B", line)[1].replace(",", "")) == total
            return
        parts, result = line.split(": ", 1)[1].rsplit(" = ", 1)
        group = 0
        for part in parts.split(" + "):
            numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", part)]
            group += numbers[0] * (numbers[1] if " x " in part else 1)
        assert group == int(result.removesuffix(" B").replace(",", ""))
        total += group
    pytest.fail("no line gives the KV of the prefix")


@every_answer
def test_recompute_is_tokens_over_rate(asked):
    line = recompute_line(lines(asked))
    tokens, rate, rest = re.fullmatch(r"recompute = ([\d,]+) tokens / ([\d,]+) tok/s = (.*)", line).groups()
    by_hand = int(tokens.replace(",", "")) / int(rate.replace(",", ""))
    assert quantity(rest) == pytest.approx(by_hand, rel=0.006)  # three digits are printed


@every_answer
def test_terms_of_the_model_work_out_to_what_is_printed(asked):
    for line in lines(asked):
        found = re.fullmatch(r"recompute, (.*?): (\S+ [mu]?s) \((.*)\)", line)
        if found is None or " s" not in found[3]:
            continue
        arithmetic = re.sub(r"measured / modelled|pairs of tokens|to read the weights", "", found[3])
        if " or " in arithmetic:
            factor = arithmetic.partition(", ")[2]
            either = arithmetic.partition(", ")[0].split(" or ")
            value = max(map(worked_out, either)) * (worked_out(factor.strip().removeprefix("x")) if factor else 1)
        else:
            first, _, factor = arithmetic.partition(", ")
            value = worked_out(first) * (worked_out(factor.strip().removeprefix("x")) if factor else 1)
        assert quantity(found[2]) == pytest.approx(value, rel=0.01), line


@every_answer
def test_terms_where_there_are_any_add_up_to_the_recompute_time(asked):
    found = lines(asked)
    terms = [quantity(line.split(": ", 1)[1]) for line in found if line.startswith("recompute, ")]
    whole = quantity(recompute_line(found).split(" tok/s = ")[1])
    assert not terms or sum(terms) == pytest.approx(whole, rel=0.01)
    assert terms or asked[3].get("new") or "rate" in recompute_line(found)


def test_time_of_a_prefix_with_tokens_to_follow_is_shown_as_a_difference():
    found = lines(ASKED["tokens to follow"])
    (line,) = [line for line in found if "12,000" in line]
    whole, rest, difference = (quantity(part) for part in re.split(" - | = ", line)[1:])
    assert "2,000" in line
    assert difference == pytest.approx(whole - rest, rel=0.01)
    assert difference == quantity(recompute_line(found).split(" tok/s = ")[1])


@every_answer
def test_break_even_is_bytes_over_recompute(asked):
    (line,) = [line for line in lines(asked) if line.startswith("break-even")]
    size, rest = line.split(" = ", 1)[1].split(" / ", 1)
    seconds, rate = rest.split(" = ")
    assert quantity(rate) == pytest.approx(quantity(size) / quantity(seconds), rel=0.011)


@every_answer
def test_fetch_is_its_fixed_part_and_bytes_over_bandwidth(asked):
    found = [line for line in lines(asked) if ": fetch = " in line]
    assert found
    for line in found:
        fixed, moved, rate, result = re.search(
            r"fetch = (.*?) fixed .*? \+ (\S+ \S+) / (\S+ \S+) = (\S+ \S+)$", line
        ).groups()
        by_hand = quantity(fixed) + quantity(moved) / quantity(rate)
        assert quantity(result) == pytest.approx(by_hand, rel=0.015), line


@every_answer
def test_margin_is_recompute_over_fetch(asked):
    found = [line for line in lines(asked) if "margin = " in line]
    assert found
    for line in found:
        recompute, fetch, times = re.search(r"margin = (\S+ \S+) / (\S+ \S+) = ([\d.,]+)x", line).groups()
        # times are printed with two digits
        assert float(times.replace(",", "")) == pytest.approx(quantity(recompute) / quantity(fetch), rel=0.06)


def test_chapter_is_worked_out_line_by_line():
    found = lines(ASKED["the chapter"])
    assert "full, 80 layers: 163,840 B a token x 20,000 tokens kept = 3,276,800,000 B" in found
    assert "KV of the prefix = 3,276,800,000 B = 3.28 GB (3.05 GiB)" in found
    assert "recompute = 20,000 tokens / 50,000 tok/s = 400 ms (rate in the node profile)" in found
    assert "break-even bandwidth = 3.28 GB / 400 ms = 8.19 GB/s" in found
    (dram,) = [line for line in found if line.startswith("dram-pcie5, 1 link: fetch")]
    assert dram.endswith("+ 3.28 GB / 55 GB/s = 59.6 ms")
