"""Prometheus text."""

import builtins

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.errors import UserError
from kvcalc.observe import metrics, samples


def test_a_login_page_is_not_metrics():
    for text in ("<!DOCTYPE html><html>Sign in</html>", "\n <html>", '<?xml version="1.0"?>'):
        with pytest.raises(UserError, match="is a web page, not metrics"):
            samples.parse(text)


def test_a_line_that_is_no_metric_is_named():
    with pytest.raises(UserError, match="line 2, 'this is not a metric'"):
        samples.parse("vllm:a 1\nthis is not a metric\n")


def test_nothing_is_no_metrics():
    with pytest.raises(UserError, match="holds no metrics"):
        samples.parse("# HELP only comments\n")


def test_exemplars_are_left_out():
    seen = samples.parse('a_bucket{le="1"} 3 # {trace_id="x"} 0.5\n')
    assert list(seen.samples["a_bucket"].values()) == [3]


def test_totals_have_one_name_whatever_their_type():
    """Some engines declare a counter, some a gauge, some nothing."""
    for head in ("# TYPE vllm:x_total counter\n", "# TYPE vllm:x counter\n", "# TYPE vllm:x_total gauge\n", ""):
        assert list(samples.parse(f"{head}vllm:x_total 3\n").samples) == ["vllm:x"]


def test_without_the_library_one_line_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("prometheus_client"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError, match=r"pip install 'kvcalc\[checklist\]'"):
        samples.parse("a 1\n")


def read_or_refused(text: str) -> str:
    """The engine whose metrics a text holds, or why it holds none."""
    try:
        return metrics.observe(samples.parse(text)).engine
    except UserError as refusal:
        return str(refusal)


@given(st.text(max_size=300))
def test_whatever_the_text_it_is_read_or_refused(text):
    said = read_or_refused(text)
    assert said
    assert "\n" not in said
