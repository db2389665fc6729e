"""JSON: a frozen result as it is, and nothing that JSON does not know."""

import json as reader
from datetime import date
from math import inf, nan

import pytest

from kvcalc.frozen import frozen
from kvcalc.profiles.sources import Figure, Source
from kvcalc.render import json


@frozen
class Inner:
    rate: float
    names: tuple[str, ...]


@frozen
class Outer:
    title: str
    inner: Inner
    nothing: None = None


def test_result_is_an_object_with_its_fields_in_order():
    out = json.render([Outer('é | "x"', Inner(0.1, ("a", "b")))])
    assert reader.loads(out) == {"title": 'é | "x"', "inner": {"rate": 0.1, "names": ["a", "b"]}, "nothing": None}
    assert list(reader.loads(out)) == ["title", "inner", "nothing"]
    assert out.endswith("}\n")


def test_several_results_are_an_array_and_none_is_an_empty_one():
    one = Inner(1.0, ())
    assert reader.loads(json.render([one, one])) == [{"rate": 1.0, "names": []}] * 2
    assert reader.loads(json.render([])) == []


def test_numbers_are_read_back_exactly():
    for value in (0.1 + 0.2, 1e-300, 3276800000.0, 1 / 3):
        assert reader.loads(json.render([Inner(value, ())]))["rate"] == value


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_number_that_json_does_not_know_is_a_bug_and_not_written(value):
    with pytest.raises(ValueError, match="JSON"):
        json.render([Inner(value, ())])


def test_sources_carry_their_date():
    figure = Figure(55e9, Source("nvbandwidth", "host a", "measured", date(2026, 11, 29)))
    assert reader.loads(json.render([figure]))["source"]["checked"] == "2026-11-29"


def test_what_is_no_result_is_a_bug():
    with pytest.raises(TypeError, match="set"):
        json.render([{1, 2}])


class Many:
    """Rows that are made one after the other."""

    def __iter__(self):
        return iter([{"tokens": 1, "margin": 0.5}, {"tokens": 2, "margin": None}])


@frozen
class Long:
    title: str
    rows: Many
    inner: Inner


def test_many_rows_stand_on_a_line_each_in_the_same_document():
    out = json.render([Long("x", Many(), Inner(0.1, ("a",)))])
    assert reader.loads(out) == {
        "title": "x",
        "rows": [{"tokens": 1, "margin": 0.5}, {"tokens": 2, "margin": None}],
        "inner": {"rate": 0.1, "names": ["a"]},
    }
    assert '    {"tokens": 1, "margin": 0.5},\n' in out
