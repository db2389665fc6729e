"""Figures in text, and the bounds of what can be one."""

import pytest

from kvcalc.observe.fields import FIELDS, figure
from kvcalc.observe.observation import Observation

GIB = 2**30


@pytest.mark.parametrize(
    "text", ["443344", "443,344", "443.344", "443 344", "443\u202f344", "443\u00a0344", "443'344", "4,43,344"]
)
def test_thousands_are_parted_as_any_locale_parts_them(text):
    assert figure("kv_tokens", text, "GiB") == 443344


@pytest.mark.parametrize(
    "text",
    ["443,3", "4433,44", "443,344.5", "1,2", "443,344 344", "-443,344", "9" * 30, "9" * 310, "\u0664\u0664", "nan", ""],
)
def test_what_is_no_count_is_none(text):
    assert figure("kv_tokens", text, "GiB") is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("54.12 GiB", 54.12 * GIB),
        ("54,12 GiB", 54.12 * GIB),
        ("55418.88 MiB", 55418.88 * 2**20),
        ("1,024.5 MiB", 1024.5 * 2**20),
    ],
)
def test_a_size_is_read_with_its_unit(text, size):
    assert figure("available_kv_bytes", text, "GiB") == pytest.approx(size)


def test_the_form_says_whether_a_gb_is_a_gib():
    assert figure("kv_bytes", "1 GB", "GiB") == GIB
    assert figure("host_bytes", "1 GB", "GB") == 1e9


@pytest.mark.parametrize("text", ["5.4.1.2 GiB", "nan GiB", f"{'9' * 310} GiB", f"{'9' * 15} TiB", "\u0665\u0664 GiB"])
def test_what_is_no_size_is_none(text):
    assert figure("available_kv_bytes", text, "GiB") is None


def test_only_what_engines_print_below_zero_may_be():
    assert figure("available_kv_bytes", "-1.25 GiB", "GiB") == -1.25 * GIB
    assert figure("weights_bytes", "-1.25 GiB", "GiB") is None


@pytest.mark.parametrize(
    ("field", "text"), [("tp", "0"), ("memory_utilization", "90"), ("max_model_len", "0"), ("max_model_len", "9" * 10)]
)
def test_bounds_of_a_field_hold(field, text):
    assert figure(field, text, "GiB") is None


def test_every_field_that_is_published_has_words_without_underscores():
    for name, field in FIELDS.items():
        assert "_" not in field.words, name
    assert {
        "kv_tokens",
        "available_kv_bytes",
        "max_concurrency",
    } <= FIELDS.keys() & Observation.__dataclass_fields__.keys()
