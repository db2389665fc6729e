"""Our frozen dataclasses behave as the standard library's."""

import copy
import dataclasses
import pickle
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.frozen import frozen


@frozen
class Ours:
    """A point with a name."""

    x: int
    y: float = 2.0
    names: tuple[str, ...] = field(default_factory=tuple)

    @property
    def double(self) -> int:
        return 2 * self.x

    @cached_property
    def slow(self) -> int:
        return 3 * self.x


@dataclass(frozen=True)
class Theirs:
    """The same from the standard library."""

    x: int
    y: float = 2.0
    names: tuple[str, ...] = field(default_factory=tuple)

    @property
    def double(self) -> int:
        return 2 * self.x

    @cached_property
    def slow(self) -> int:
        return 3 * self.x


@frozen
class Wider(Ours):
    """With a field more."""

    z: int = 0


KINDS = pytest.mark.parametrize("kind", [Ours, Theirs])


@KINDS
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((1,), {}),
        ((1, 3.0), {}),
        ((1, 3.0, ("a",)), {}),
        ((), {"x": 1}),
        ((), {"names": ("a",), "x": 1, "y": 3.0}),
        ((1,), {"names": ("a",)}),
    ],
)
def test_values_are_given_in_order_or_by_name_and_defaults_fill_the_rest(kind: Any, given: tuple, named: dict):
    made = kind(*given, **named)
    expected = {"x": 1, "y": 2.0, "names": ()} | dict(zip(("x", "y", "names"), given, strict=False)) | named
    assert {name: getattr(made, name) for name in ("x", "y", "names")} == expected
    assert made.double == 2


@KINDS
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), {}),  # x is missing
        ((), {"y": 1.0}),
        ((1, 2.0, (), 4), {}),  # too many
        ((1,), {"x": 1}),  # twice
        ((1,), {"z": 1}),  # unknown
        ((1, 2.0, ()), {"z": 1}),
        ((1, 2.0, ()), {"x": 1}),
    ],
)
def test_missing_unknown_and_repeated_values_are_refused(kind: Any, given: tuple, named: dict):
    with pytest.raises(TypeError):
        kind(*given, **named)


@KINDS
def test_fields_cannot_be_set_or_deleted(kind: Any):
    made = kind(1)
    with pytest.raises(AttributeError):
        made.x = 5
    with pytest.raises(AttributeError):
        made.new = 5
    with pytest.raises(AttributeError):
        del made.x
    assert made == kind(1)


@given(left=st.tuples(st.integers(0, 2), st.floats(0, 2)), right=st.tuples(st.integers(0, 2), st.floats(0, 2)))
def test_equality_and_hash_are_those_of_the_values(left: tuple[int, float], right: tuple[int, float]):
    assert (Ours(*left) == Ours(*right)) == (left == right) == (Theirs(*left) == Theirs(*right))
    assert (Ours(*left) != Ours(*right)) == (left != right)
    if left == right:
        assert hash(Ours(*left)) == hash(Ours(*right))


def test_equal_values_of_another_class_are_not_equal():
    assert Ours(1) != Theirs(1)
    assert Ours(1) != Wider(1)
    assert Ours(1) != (1, 2.0, ())


def test_values_made_by_name_and_in_order_are_one_key():
    assert len({Ours(1, 2.0, ("a",)), Ours(names=("a",), y=2.0, x=1)}) == 1
    assert {Ours(1): "found"}[Ours(x=1)] == "found"


@KINDS
def test_a_value_that_holds_what_has_no_hash_has_none(kind: Any):
    with pytest.raises(TypeError):
        hash(kind(1, 2.0, []))


def test_the_text_of_a_value_is_that_of_a_dataclass():
    assert repr(Ours(1, 3.0, ("a",))) == "Ours(x=1, y=3.0, names=('a',))"
    assert repr(Ours(1)) == repr(Theirs(1)).replace("Theirs", "Ours")


def test_a_default_factory_makes_a_new_value_each_time():
    @frozen
    class Holder:
        held: list[int] = field(default_factory=list)

    Holder().held.append(1)
    assert Holder().held == []


@KINDS
def test_the_tools_of_dataclasses_work(kind: Any):
    made = kind(1, 3.0, ("a",))
    assert dataclasses.is_dataclass(kind)
    assert [each.name for each in dataclasses.fields(kind)] == ["x", "y", "names"]
    assert dataclasses.asdict(made) == {"x": 1, "y": 3.0, "names": ("a",)}
    assert dataclasses.astuple(made) == (1, 3.0, ("a",))
    assert dataclasses.replace(made, y=4.0) == kind(1, 4.0, ("a",))
    assert made == kind(1, 3.0, ("a",))  # replace made another one
    with pytest.raises(TypeError):
        dataclasses.replace(made, z=1)


@KINDS
def test_a_value_survives_pickling_and_copying(kind: Any):
    made = kind(1, 3.0, ("a",))
    for found in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert found == made
        assert type(found) is kind


@KINDS
def test_a_value_can_be_matched_by_place(kind: Any):
    match kind(1, 3.0, ("a",)):
        case Ours(x, y, names) | Theirs(x, y, names):
            assert (x, y, names) == (1, 3.0, ("a",))
        case _:
            pytest.fail("no match")


def test_a_subclass_adds_its_fields_after_the_inherited_ones():
    made = Wider(1, 3.0, ("a",), 7)
    assert [each.name for each in dataclasses.fields(Wider)] == ["x", "y", "names", "z"]
    assert made.z == 7
    assert Wider(1).z == 0
    assert Wider(1) == Wider(1, z=0)
    assert made.double == 2


@KINDS
def test_what_is_worked_out_once_changes_neither_equality_nor_hash_nor_text(kind: Any):
    used, new = kind(1), kind(1)
    before = hash(used), repr(used)
    assert used.slow == 3
    assert used == new
    assert (hash(used), repr(used)) == before
    assert dataclasses.replace(used, x=2).slow == 6
